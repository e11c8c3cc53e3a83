// Keeps a worker's lease alive while its own thread computes or waits.
#pragma once

#include <thread>

#include "absl/base/thread_annotations.h"
#include "common/coordinator_api.h"
#include "common/mutex.h"

namespace tessera {

// Sends a heartbeat every kHeartbeatMs on a thread of its own, from construction to destruction. A heartbeat that fails is not repeated
// before its turn: the worker's own calls find out what is wrong. Owned by one thread.
class Heartbeat {
 public:
  Heartbeat(CoordinatorApi* coordinator, uint32_t worker, uint64_t generation);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  void Beat();

  CoordinatorApi* const coordinator_;
  HeartbeatRequest request_;
  Mutex mutex_;
  CondVar stopped_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace tessera
