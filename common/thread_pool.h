// The one pool of compute threads of a process: two runtimes fighting for the cores cost a factor of two.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "common/mutex.h"

namespace tessera {

// Runs loops on a fixed set of threads. The work is cut by the caller into `count` pieces that do not depend on the number of threads,
// so results never do. Thread-safe: of two overlapping loops the later one runs in its caller alone.
class ThreadPool {
 public:
  // `threads` >= 1 counts the caller of ParallelFor; 1 means no further thread.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  // Calls body(i) once for each i in [0, count), in no particular order, and returns when all have returned.
  // A body may call ParallelFor; the inner loop then runs in its caller alone.
  void ParallelFor(int64_t count, absl::FunctionRef<void(int64_t)> body);

 private:
  struct Loop;
  void Work();
  static void Drain(Loop* loop);

  const int threads_;
  Mutex mutex_;
  CondVar started_;
  CondVar finished_;
  Loop* loop_ ABSL_GUARDED_BY(mutex_) = nullptr;
  uint64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // A copy of generation_ that idle threads watch for a moment before they sleep: waking a thread costs more than a small loop.
  std::atomic<uint64_t> announced_{0};
  std::atomic<bool> busy_{false};
  std::vector<std::thread> workers_;
};

}  // namespace tessera
