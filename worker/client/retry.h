// How long, and how, a peer that is away is waited for.
#pragma once

#include <atomic>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"

namespace tessera {

// Whether an error may pass by itself: UNAVAILABLE or DEADLINE_EXCEEDED.
bool IsAway(const absl::Status& status);

// Repeats calls to peers that are away. Thread-safe: constant after construction.
class Retry {
 public:
  // Waits between attempts: at first, and at most.
  static constexpr absl::Duration kFirstWait = absl::Milliseconds(50);
  static constexpr absl::Duration kLongestWait = absl::Seconds(2);

  // `stopping` may be null; once it is true, no further attempt is made. Both pointers outlive this.
  Retry(Clock* clock, absl::Duration patience, const std::atomic<bool>* stopping)
      : clock_(clock), patience_(patience), stopping_(stopping) {}

  // Calls `attempt` until it returns something else than IsAway or `patience` has passed since the first call; then the last error says
  // how long it was tried. CANCELLED when stopping.
  absl::Status Run(absl::FunctionRef<absl::Status()> attempt) const;

 private:
  Clock* const clock_;
  const absl::Duration patience_;
  const std::atomic<bool>* const stopping_;
};

}  // namespace tessera
