// Reads blocks on several threads and hands them out in order.
#pragma once

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/mutex.h"
#include "worker/data/input.h"

namespace tessera {

// Owned by one thread. At most `threads` + 1 blocks are held that nobody has taken yet.
class BlockReader {
 public:
  // `wanted` says by its key whether a row is kept; null: all are. It is called from several threads. `input` outlives the reader.
  BlockReader(Input* input, std::vector<uint64_t> blocks, int threads, std::function<bool(uint64_t)> wanted);
  ~BlockReader();
  BlockReader(const BlockReader&) = delete;
  BlockReader& operator=(const BlockReader&) = delete;

  // The rows of the next block of the list. False after the last one. An error is the first in list order, and final. The wait ends when
  // the block is read; reading is local, so it has no deadline of its own.
  absl::StatusOr<bool> Next(uint64_t* block, Rows* rows);

 private:
  struct Slot {
    bool full = false;
    Rows rows;
    absl::Status status;
  };
  void Read();
  absl::Status ReadOne(uint64_t block, Rows* rows) const;

  Input* const input_;
  const std::vector<uint64_t> blocks_;
  const std::function<bool(uint64_t)> wanted_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<Slot> slots_ ABSL_GUARDED_BY(mutex_);  // block i of the list uses slot i mod size
  size_t begun_ ABSL_GUARDED_BY(mutex_) = 0;         // blocks that a thread has begun to read
  size_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace tessera
