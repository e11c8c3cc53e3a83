#include "worker/client/shard_threads.h"

namespace tessera {

ShardThreads::ShardThreads(uint32_t shards) : results_(shards) {
  for (uint32_t shard = 1; shard < shards; ++shard) threads_.emplace_back([this, shard] { Serve(shard); });
}

ShardThreads::~ShardThreads() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    started_.SignalAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

absl::Status ShardThreads::ForEach(absl::FunctionRef<absl::Status(uint32_t)> body) {
  if (threads_.empty()) return body(0);
  {
    MutexLock lock(&mutex_);
    body_ = &body;
    running_ = static_cast<uint32_t>(threads_.size());
    ++round_;
    started_.SignalAll();
  }
  const absl::Status first = body(0);
  MutexLock lock(&mutex_);
  while (running_ > 0) finished_.Wait(&mutex_);
  body_ = nullptr;
  results_[0] = first;
  for (const absl::Status& status : results_) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

void ShardThreads::Serve(uint32_t shard) {
  uint64_t served = 0;
  while (true) {
    const absl::FunctionRef<absl::Status(uint32_t)>* body;
    {
      MutexLock lock(&mutex_);
      while (round_ == served && !stopping_) started_.Wait(&mutex_);
      if (stopping_) return;
      served = round_;
      body = body_;
    }
    const absl::Status status = (*body)(shard);
    MutexLock lock(&mutex_);
    results_[shard] = status;
    if (--running_ == 0) finished_.Signal();
  }
}

}  // namespace tessera
