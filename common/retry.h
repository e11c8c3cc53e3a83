// How long, and how, a peer that is away is waited for.
#pragma once

#include <atomic>
#include <functional>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"

namespace tessera {

// Whether an error may pass by itself: UNAVAILABLE or DEADLINE_EXCEEDED.
bool IsAway(const absl::Status& status);
// RESOURCE_EXHAUSTED of a server whose log or disk is full ("full: ..."): it passes once there is room again. A message that is too large
// has the same code, but stays so.
bool IsFull(const absl::Status& status);

// Repeats calls to peers that are away or full. Thread-safe: constant after construction.
class Retry {
 public:
  // Waits between attempts: at first, and at most.
  static constexpr absl::Duration kFirstWait = absl::Milliseconds(50);
  static constexpr absl::Duration kLongestWait = absl::Seconds(1);

  // Once `stopping` says so, no further attempt is made. The clock outlives this.
  Retry(Clock* clock, absl::Duration patience, std::function<bool()> stopping)
      : clock_(clock), patience_(patience), stopping_(std::move(stopping)) {}
  // The flag may be null; it outlives this.
  Retry(Clock* clock, absl::Duration patience, const std::atomic<bool>* stopping)
      : Retry(clock, patience, [stopping] { return stopping != nullptr && stopping->load(std::memory_order_relaxed); }) {}

  // Calls `attempt` until it returns something else than IsAway or IsFull, or `patience` has passed since the first call; then the last error says
  // how long it was tried. CANCELLED when stopping.
  absl::Status Run(absl::FunctionRef<absl::Status()> attempt) const;

 private:
  Clock* const clock_;
  const absl::Duration patience_;
  const std::function<bool()> stopping_;
};

}  // namespace tessera
