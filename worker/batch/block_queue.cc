#include "worker/batch/block_queue.h"

#include <algorithm>
#include <utility>

#include "worker/batch/row_stream.h"

namespace tessera {
namespace {

// However few rows are wanted ahead, this many blocks are: else a thread would wait where one block is more than a window.
constexpr size_t kReadyBlocksMin = 2;
// A slow block holds back those after it; this bounds them.
constexpr size_t kReadingBlocksMax = 4;

}  // namespace

BlockQueue::BlockQueue(const Plan* plan, std::shared_ptr<Input> input, std::vector<uint64_t> blocks, uint64_t first, uint64_t rows_ahead,
                       int threads)
    : plan_(plan),
      input_(std::move(input)),
      blocks_(std::move(blocks)),
      rows_ahead_max_(rows_ahead),
      next_(std::min<uint64_t>(first, blocks_.size())) {
  const uint64_t left = blocks_.size() - std::min<uint64_t>(first, blocks_.size());
  for (uint64_t i = 0; i < std::min<uint64_t>(threads, left); ++i) threads_.emplace_back([this] { Work(); });
}

BlockQueue::~BlockQueue() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    room_changed_.SignalAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

absl::Status BlockQueue::Pop(std::unique_ptr<ParsedBlock>* block) {
  MutexLock lock(&mutex_);
  while (ready_.empty() && failure_.ok() && !AllRead()) ready_changed_.Wait(&mutex_);
  block->reset();
  if (ready_.empty()) return failure_;
  *block = std::move(ready_.front());
  ready_.pop_front();
  rows_ready_ -= (*block)->trained.size();
  room_changed_.SignalAll();
  return absl::OkStatus();
}

bool BlockQueue::AllRead() const { return next_ == blocks_.size() && reading_.empty(); }

bool BlockQueue::MayRead() const {
  return reading_.size() < kReadingBlocksMax && (rows_ready_ < rows_ahead_max_ || ready_.size() < kReadyBlocksMin);
}

void BlockQueue::Work() {
  for (;;) {
    Slot* slot = nullptr;
    {
      MutexLock lock(&mutex_);
      while (!stopping_ && failure_.ok() && next_ < blocks_.size() && !MayRead()) room_changed_.Wait(&mutex_);
      if (stopping_ || !failure_.ok() || next_ == blocks_.size()) return;
      reading_.push_back(std::make_unique<Slot>());
      slot = reading_.back().get();
      slot->block = std::make_unique<ParsedBlock>();
      slot->block->index = next_++;
    }
    absl::Status status = Parse(slot->block.get());
    MutexLock lock(&mutex_);
    slot->status = std::move(status);
    slot->done = true;
    PublishDone();
  }
}

absl::Status BlockQueue::Parse(ParsedBlock* block) const {
  absl::Status status = input_->ReadBlock(blocks_[block->index], &block->rows);
  for (uint32_t i = 0; i < block->rows.size(); ++i) {
    if (!IsHeldOut(*plan_, block->rows.keys[i])) block->trained.push_back(i);
  }
  return status;
}

void BlockQueue::PublishDone() {
  while (failure_.ok() && !reading_.empty() && reading_.front()->done) {
    Slot& slot = *reading_.front();
    if (!slot.status.ok()) {
      failure_ = std::move(slot.status);
    } else if (!slot.block->trained.empty()) {
      rows_ready_ += slot.block->trained.size();
      ready_.push_back(std::move(slot.block));
    }
    reading_.pop_front();
  }
  ready_changed_.Signal();
  room_changed_.SignalAll();
}

}  // namespace tessera
