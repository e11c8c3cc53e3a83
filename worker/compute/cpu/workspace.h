// What the CPU operations share: the pool, memory for parts of sums, and the first thing that went wrong.
#pragma once

#include <array>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/mutex.h"
#include "common/thread_pool.h"

namespace tessera {

// Scratch is owned by the thread that calls the operations; Fail may be called by any thread.
class Workspace {
 public:
  explicit Workspace(ThreadPool* pool) : pool_(pool) {}

  ThreadPool* pool() const { return pool_; }
  // Uninitialised room for `count` floats, 64-byte aligned, until the same slot is asked for again; null when there is no memory, which
  // is then reported by TakeStatus.
  static constexpr int kSlots = 3;
  float* Scratch(int slot, int64_t count);
  void Fail(absl::Status status);
  // The first failure since the last call.
  absl::Status TakeStatus();

 private:
  struct FreeDeleter {
    void operator()(float* data) const;
  };
  struct Slot {
    std::unique_ptr<float, FreeDeleter> data;
    int64_t size = 0;
  };
  ThreadPool* const pool_;
  std::array<Slot, kSlots> slots_;
  Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

// 64-byte aligned; null when there is no memory.
void* AllocateAligned(size_t bytes);
void FreeAligned(void* data);

}  // namespace tessera
