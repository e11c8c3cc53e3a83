#include "worker/batch/row_stream.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/epoch_order.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "worker/batch/append_rows.h"
#include "worker/batch/batch.h"
#include "worker/batch/block_queue.h"

namespace tessera {
namespace {

// First parts of keys, so that no two uses of the job's seed share random numbers.
constexpr uint64_t kShareKey = 0x7368617265000001ull;
constexpr uint64_t kTaskKey = 0x7461736b00000001ull;

// Two parsers keep ahead of any CPU model. Streamed files are read by one: two would ask for blocks out of order.
constexpr int kParseThreads = 2;

int ParseThreads(const Plan& plan) {
  const std::vector<bool> streamed = StreamedFiles(plan);
  return std::find(streamed.begin(), streamed.end(), true) != streamed.end() ? 1 : kParseThreads;
}

class WindowedStream : public RowStream {
 public:
  WindowedStream(const Plan& plan, std::shared_ptr<Input> input, std::vector<uint64_t> blocks, uint64_t window_rows, uint64_t shuffle_key,
                 const Position& position)
      : plan_(plan),
        epoch_(position.epoch()),
        window_rows_(window_rows),
        shuffle_key_(shuffle_key),
        block_count_(blocks.size()),
        data_blocks_(blocks),
        resume_(position),
        queue_(&plan_, std::move(input), std::move(blocks), position.end() ? block_count_ : position.block(), window_rows_,
               ParseThreads(plan)) {}

  absl::Status Next(uint64_t rows_max, Rows* rows, Position* next) override {
    rows->Clear();
    if (!resumed_) TESSERA_RETURN_IF_ERROR(Resume());
    while (rows->size() < rows_max) {
      if (used_ == window_.size()) TESSERA_RETURN_IF_ERROR(LoadWindow());
      if (window_.empty()) break;
      const uint64_t count = std::min<uint64_t>(rows_max - rows->size(), window_.size() - used_);
      AppendRows(absl::MakeConstSpan(window_).subspan(used_, count), rows);
      used_ += count;
    }
    TESSERA_RETURN_IF_ERROR(CheckOccurrences(rows->size(), rows->ids.size()));
    return SetPosition(next);
  }

 private:
  // Brings the stream to where `resume_` says.
  absl::Status Resume() {
    resumed_ = true;
    if (resume_.end()) return absl::OkStatus();
    TESSERA_RETURN_IF_ERROR(Peek());
    if (resume_.row() > 0) {
      const bool there = !blocks_.empty() && blocks_[0]->index == resume_.block() && resume_.row() <= blocks_[0]->trained.size();
      if (!there) return PositionBeyondData();
      next_row_ = resume_.row();
    }
    TESSERA_RETURN_IF_ERROR(LoadWindow());
    if (resume_.offset() > window_.size()) return PositionBeyondData();
    used_ = resume_.offset();
    return absl::OkStatus();
  }

  absl::Status PositionBeyondData() const {
    return absl::DataLossError(absl::StrCat("the position (block ", resume_.block(), ", row ", resume_.row(), ", offset ", resume_.offset(),
                                            " of epoch ", epoch_, ") lies beyond the training data: ",
                                            "it has changed since the position was saved"));
  }

  // Makes blocks_[next_block_], next_row_ the first row after the window, or next_block_ == blocks_.size() where none is.
  absl::Status Peek() {
    if (next_block_ < blocks_.size() && next_row_ == blocks_[next_block_]->trained.size()) {
      ++next_block_;
      next_row_ = 0;
    }
    if (next_block_ == blocks_.size()) {
      std::unique_ptr<ParsedBlock> block;
      TESSERA_RETURN_IF_ERROR(queue_.Pop(&block));
      if (block != nullptr) blocks_.push_back(std::move(block));
    }
    return absl::OkStatus();
  }

  // Replaces the window by the next one; empty at the end.
  absl::Status LoadWindow() {
    window_.clear();
    used_ = 0;
    TESSERA_RETURN_IF_ERROR(Peek());
    blocks_.erase(blocks_.begin(), blocks_.begin() + next_block_);
    next_block_ = 0;
    if (blocks_.empty()) return absl::OkStatus();
    window_block_ = blocks_[0]->index;
    window_row_ = next_row_;
    while (window_.size() < window_rows_) {
      TESSERA_RETURN_IF_ERROR(Peek());
      if (next_block_ == blocks_.size()) break;
      const ParsedBlock& block = *blocks_[next_block_];
      const uint64_t end = std::min<uint64_t>(block.trained.size(), next_row_ + (window_rows_ - window_.size()));
      for (; next_row_ < end; ++next_row_) window_.push_back({&block.rows, block.trained[next_row_]});
    }
    RandomSequence random(MixKey(shuffle_key_, window_block_, window_row_));
    for (size_t i = window_.size(); i > 1; --i) std::swap(window_[i - 1], window_[random.Below(i)]);
    return absl::OkStatus();
  }

  absl::Status SetPosition(Position* next) {
    next->Clear();
    next->set_epoch(epoch_);
    if (used_ < window_.size()) {
      next->set_block(window_block_);
      next->set_row(window_row_);
      next->set_offset(used_);
      next->set_data_block(data_blocks_[window_block_]);
      return absl::OkStatus();
    }
    TESSERA_RETURN_IF_ERROR(Peek());
    const bool end = next_block_ == blocks_.size();
    next->set_block(end ? block_count_ : blocks_[next_block_]->index);
    next->set_row(end ? 0 : next_row_);
    if (!end) next->set_data_block(data_blocks_[next->block()]);
    next->set_end(end);
    return absl::OkStatus();
  }

  const Plan plan_;
  const uint32_t epoch_;
  const uint64_t window_rows_;
  const uint64_t shuffle_key_;
  const uint64_t block_count_;
  const std::vector<uint64_t> data_blocks_;
  const Position resume_;
  bool resumed_ = false;

  std::deque<std::unique_ptr<ParsedBlock>> blocks_;  // those of the window, and the one after it once it was looked at
  size_t next_block_ = 0;                            // where the next window begins
  uint64_t next_row_ = 0;

  std::vector<RowRef> window_;  // shuffled
  uint64_t used_ = 0;
  uint64_t window_block_ = 0;
  uint64_t window_row_ = 0;

  BlockQueue queue_;  // last: its threads end before what they use
};

uint64_t WindowRows(const Plan& plan, uint64_t shares) {
  const uint64_t shuffle = plan.job().data().train().shuffle();
  return std::max<uint64_t>(1, shuffle / shares + (shuffle % shares != 0));
}

}  // namespace

absl::StatusOr<std::unique_ptr<RowStream>> RowStream::ForShare(const Plan& plan, std::shared_ptr<Input> input, uint32_t share, uint32_t shares,
                                                               const Position& position) {
  if (share >= shares) return absl::InvalidArgumentError(absl::StrCat("share ", share, " of ", shares, " does not exist"));
  const std::vector<uint64_t> order = EpochBlocks(plan, input->block_count(), position.epoch());
  std::vector<uint64_t> blocks;
  for (uint64_t i = share; i < order.size(); i += shares) blocks.push_back(order[i]);
  const uint64_t key = MixKey(kShareKey, plan.job().seed(), position.epoch(), share);
  return std::make_unique<WindowedStream>(plan, std::move(input), std::move(blocks), WindowRows(plan, shares), key, position);
}

absl::StatusOr<std::unique_ptr<RowStream>> RowStream::ForTask(const Plan& plan, std::shared_ptr<Input> input, uint32_t epoch, uint64_t task,
                                                              uint64_t first, uint64_t last) {
  const std::vector<uint64_t> order = EpochBlocks(plan, input->block_count(), epoch);
  if (first > last || last > order.size()) {
    return absl::InvalidArgumentError(absl::StrCat("blocks [", first, ", ", last, ") of ", order.size(), " do not exist"));
  }
  Position start;
  start.set_epoch(epoch);
  const uint64_t key = MixKey(kTaskKey, plan.job().seed(), epoch, task);
  std::vector<uint64_t> blocks(order.begin() + first, order.begin() + last);
  return std::make_unique<WindowedStream>(plan, std::move(input), std::move(blocks), WindowRows(plan, 1), key, start);
}

}  // namespace tessera
