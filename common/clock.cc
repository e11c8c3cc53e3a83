#include "common/clock.h"

#include "absl/time/clock.h"

namespace tessera {
namespace {

class RealClock : public Clock {
 public:
  absl::Time Now() const override { return absl::Now(); }
  void SleepFor(absl::Duration duration) override { absl::SleepFor(duration); }
};

}  // namespace

Clock* Clock::Real() {
  static RealClock* const clock = new RealClock;
  return clock;
}

absl::Time FakeClock::Now() const {
  MutexLock lock(&mutex_);
  return now_;
}

void FakeClock::Advance(absl::Duration duration) {
  MutexLock lock(&mutex_);
  now_ += duration;
}

}  // namespace tessera
