// One thread per shard, so that all servers are reached at once.
#pragma once

#include <cstdint>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "common/mutex.h"

namespace tessera {

// Runs the same call for every shard. The caller's thread serves shard 0; with one shard there is no other. Owned by one thread.
class ShardThreads {
 public:
  explicit ShardThreads(uint32_t shards);
  ~ShardThreads();
  ShardThreads(const ShardThreads&) = delete;
  ShardThreads& operator=(const ShardThreads&) = delete;

  // Calls body(shard) for every shard and returns when all have returned: the first error in shard order, else OK. Each body must end by
  // itself (a call with a deadline).
  absl::Status ForEach(absl::FunctionRef<absl::Status(uint32_t)> body);

 private:
  void Serve(uint32_t shard);

  Mutex mutex_;
  CondVar started_;
  CondVar finished_;
  const absl::FunctionRef<absl::Status(uint32_t)>* body_ ABSL_GUARDED_BY(mutex_) = nullptr;
  uint64_t round_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t running_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<absl::Status> results_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;  // of shard 1 and on
};

}  // namespace tessera
