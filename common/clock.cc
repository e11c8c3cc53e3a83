#include "common/clock.h"

#include <chrono>

#include "absl/time/clock.h"

namespace tessera {
namespace {

class RealClock : public Clock {
 public:
  absl::Time Now() const override { return start_ + absl::FromChrono(std::chrono::steady_clock::now() - steady_start_); }
  void SleepFor(absl::Duration duration) override { absl::SleepFor(duration); }

 private:
  const absl::Time start_ = absl::Now();
  const std::chrono::steady_clock::time_point steady_start_ = std::chrono::steady_clock::now();
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
