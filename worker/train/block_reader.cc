#include "worker/train/block_reader.h"

#include <utility>

#include "common/status_macros.h"

namespace tessera {

BlockReader::BlockReader(Input* input, std::vector<uint64_t> blocks, int threads, std::function<bool(uint64_t)> wanted)
    : input_(input), blocks_(std::move(blocks)), wanted_(std::move(wanted)), slots_(static_cast<size_t>(threads) + 1) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Read(); });
}

BlockReader::~BlockReader() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.SignalAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

absl::StatusOr<bool> BlockReader::Next(uint64_t* block, Rows* rows) {
  MutexLock lock(&mutex_);
  if (taken_ == blocks_.size()) return false;
  Slot& slot = slots_[taken_ % slots_.size()];
  while (!slot.full) changed_.Wait(&mutex_);
  if (!slot.status.ok()) return slot.status;  // stays there: a further call says it again
  *block = blocks_[taken_++];
  *rows = std::move(slot.rows);
  slot.full = false;
  changed_.SignalAll();
  return true;
}

void BlockReader::Read() {
  while (true) {
    size_t mine;
    {
      MutexLock lock(&mutex_);
      while (!stopping_ && begun_ < blocks_.size() && begun_ >= taken_ + slots_.size()) changed_.Wait(&mutex_);
      if (stopping_ || begun_ == blocks_.size()) return;
      mine = begun_++;
    }
    Rows rows;
    const absl::Status status = ReadOne(blocks_[mine], &rows);
    MutexLock lock(&mutex_);
    Slot& slot = slots_[mine % slots_.size()];
    slot = {true, std::move(rows), status};
    changed_.SignalAll();
    if (!status.ok()) return;
  }
}

absl::Status BlockReader::ReadOne(uint64_t block, Rows* rows) const {
  if (wanted_ == nullptr) return input_->ReadBlock(block, rows);
  Rows all;
  TESSERA_RETURN_IF_ERROR(input_->ReadBlock(block, &all));
  for (size_t i = 0; i < all.size(); ++i) {
    if (wanted_(all.keys[i])) rows->AppendRow(all, i);
  }
  return absl::OkStatus();
}

}  // namespace tessera
