// Blocks read and parsed ahead of their use.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/mutex.h"
#include "proto/plan.pb.h"
#include "worker/data/input.h"

namespace tessera {

// The rows of one block that are trained on.
struct ParsedBlock {
  uint64_t index = 0;             // into the queue's list of blocks
  Rows rows;
  std::vector<uint32_t> trained;  // rows that are not held out, ascending; never empty
};

// Hands out the blocks of a list in order, parsed by threads of its own. Blocks without a row to train on are left out.
//
// Ahead of the caller are at most `rows_ahead` rows and what the threads were in the middle of (a few blocks where one block is more).
// Pop waits for these threads only: it ends with the block, with an error, or with the list. Destruction ends them after the block they
// are in. Pop belongs to one thread.
class BlockQueue {
 public:
  // Reads blocks[first], blocks[first + 1], ... `plan` is used by IsHeldOut and outlives the queue.
  BlockQueue(const Plan* plan, std::shared_ptr<Input> input, std::vector<uint64_t> blocks, uint64_t first, uint64_t rows_ahead, int threads);
  ~BlockQueue();
  BlockQueue(const BlockQueue&) = delete;
  BlockQueue& operator=(const BlockQueue&) = delete;

  // The next block with rows; null after the last. The error of a block comes in its turn, and again at every further call.
  absl::Status Pop(std::unique_ptr<ParsedBlock>* block);

 private:
  struct Slot {
    std::unique_ptr<ParsedBlock> block;
    absl::Status status;
    bool done = false;
  };

  void Work();
  absl::Status Parse(ParsedBlock* block) const;
  bool MayRead() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool AllRead() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PublishDone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Plan* const plan_;
  const std::shared_ptr<Input> input_;
  const std::vector<uint64_t> blocks_;
  const uint64_t rows_ahead_max_;

  Mutex mutex_;
  CondVar ready_changed_;  // the caller waits here
  CondVar room_changed_;   // the threads wait here
  uint64_t next_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::unique_ptr<Slot>> reading_ ABSL_GUARDED_BY(mutex_);  // in the list's order, as is ready_ before it
  std::deque<std::unique_ptr<ParsedBlock>> ready_ ABSL_GUARDED_BY(mutex_);
  uint64_t rows_ready_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace tessera
