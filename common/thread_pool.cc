#include "common/thread_pool.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tessera {
namespace {

// About 20 us: longer than the gap between two loops of a training step, shorter than anything a person pays for.
constexpr int kSpins = 400;

inline void Pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

}  // namespace

struct ThreadPool::Loop {
  const int64_t count;
  absl::FunctionRef<void(int64_t)> body;
  std::atomic<int64_t> next{0};
  std::atomic<int> inside{0};  // pool threads that still may touch this loop
};

ThreadPool::ThreadPool(int threads) : threads_(threads < 1 ? 1 : threads) {
  for (int i = 1; i < threads_; ++i) workers_.emplace_back([this] { Work(); });
}

ThreadPool::~ThreadPool() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    announced_.store(++generation_, std::memory_order_release);
    started_.SignalAll();
  }
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::Drain(Loop* loop) {
  for (int64_t i = loop->next.fetch_add(1, std::memory_order_relaxed); i < loop->count;
       i = loop->next.fetch_add(1, std::memory_order_relaxed)) {
    loop->body(i);
  }
}

void ThreadPool::ParallelFor(int64_t count, absl::FunctionRef<void(int64_t)> body) {
  bool expected = false;
  if (threads_ == 1 || count < 2 || !busy_.compare_exchange_strong(expected, true, std::memory_order_acquire)) {
    for (int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  Loop loop{count, body};
  {
    MutexLock lock(&mutex_);
    loop_ = &loop;
    announced_.store(++generation_, std::memory_order_release);
    started_.SignalAll();
  }
  Drain(&loop);
  {
    MutexLock lock(&mutex_);
    loop_ = nullptr;  // a thread that wakes up late finds nothing
  }
  for (int spin = 0; spin < kSpins && loop.inside.load(std::memory_order_acquire) > 0; ++spin) Pause();
  {
    MutexLock lock(&mutex_);
    while (loop.inside.load(std::memory_order_acquire) > 0) finished_.Wait(&mutex_);
  }
  busy_.store(false, std::memory_order_release);
}

void ThreadPool::Work() {
  uint64_t seen = 0;
  for (;;) {
    for (int spin = 0; spin < kSpins && announced_.load(std::memory_order_acquire) == seen; ++spin) Pause();
    Loop* loop = nullptr;
    {
      MutexLock lock(&mutex_);
      while (generation_ == seen) started_.Wait(&mutex_);
      seen = generation_;
      if (stopping_) return;
      loop = loop_;
      if (loop != nullptr) loop->inside.fetch_add(1, std::memory_order_relaxed);
    }
    if (loop == nullptr) continue;
    Drain(loop);
    MutexLock lock(&mutex_);
    if (loop->inside.fetch_sub(1, std::memory_order_release) == 1) finished_.Signal();
  }
}

}  // namespace tessera
