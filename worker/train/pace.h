// bounded: a worker waits before it reads values that nobody else's gradients are in yet.
#pragma once

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/coordinator_api.h"

namespace tessera {

// Owned by one thread; what it is given outlives it.
class Pace {
 public:
  Pace(CoordinatorApi* coordinator, Clock* clock) : coordinator_(coordinator), time_(clock) {}

  // As whom the coordinator knows this worker. `stopping` may be null.
  void Join(const JoinReply& joined, const std::atomic<bool>* stopping);
  // A task begins; `clock` as Task has it.
  void Begin(uint64_t clock) { clock_ = clock; }
  // Waits until the next batch's values may be read, however long the slowest worker takes: the coordinator gives up who hangs. ABORTED "step
  // over": the task is not this worker's any more. CANCELLED once it is to stop.
  absl::Status Await();
  // The batch is done.
  void Count() { ++clock_; }
  uint64_t clock() const { return clock_; }

 private:
  CoordinatorApi* const coordinator_;
  Clock* const time_;
  AdvanceRequest request_;
  absl::Duration patience_;   // with a coordinator that is away
  const std::atomic<bool>* stopping_ = nullptr;
  uint64_t clock_ = 0;
};

}  // namespace tessera
