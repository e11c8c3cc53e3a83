// The only place that reads the time or sleeps. Everything that decides by time takes a Clock, so tests decide what time it is.
#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/mutex.h"

namespace tessera {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Never goes back. The real one is the wall clock at its first use plus what has passed since: setting the machine's clock neither ends a
  // lease nor lengthens a wait.
  virtual absl::Time Now() const = 0;
  // For retries with back-off. A fake clock advances instead of sleeping.
  virtual void SleepFor(absl::Duration duration) = 0;
  static Clock* Real();  // never deleted
};

// A clock that stands still until it is told otherwise. Thread-safe.
class FakeClock : public Clock {
 public:
  explicit FakeClock(absl::Time start = absl::FromUnixSeconds(1700000000)) : now_(start) {}
  absl::Time Now() const override;
  void SleepFor(absl::Duration duration) override { Advance(duration); }
  void Advance(absl::Duration duration);

 private:
  mutable Mutex mutex_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tessera
