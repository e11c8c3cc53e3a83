#include "tests/integration/load.h"

#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/retry.h"

namespace tessera {
namespace {

// A full server may have room later; after this it never will.
constexpr absl::Duration kFullPatience = absl::Minutes(2);
constexpr absl::Duration kFullPause = absl::Milliseconds(100);
// Waits for acknowledgements end after this even without any.
constexpr absl::Duration kPhaseMax = absl::Minutes(5);

}  // namespace

void Broken(absl::string_view what) {
  std::fprintf(stderr, "push_load: BROKEN: %s\n", std::string(what).c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

absl::Status OkOrDown(absl::string_view what, absl::Status status) {
  if (status.ok() || absl::IsUnavailable(status)) return status;
  if (absl::IsCancelled(status)) return absl::UnavailableError(status.message());  // by a server that stops
  Broken(absl::StrCat(what, ": ", status.ToString()));
}

absl::Status Send(absl::string_view what, const std::function<absl::Status()>& call) {
  for (const absl::Time deadline = Clock::Real()->Now() + kFullPatience;;) {
    const absl::Status status = call();
    if (!IsFull(status) || Clock::Real()->Now() > deadline) return OkOrDown(what, status);
    Clock::Real()->SleepFor(kFullPause);
  }
}

void Phase::Acknowledged() {
  MutexLock lock(&mutex_);
  over_ |= ++acks_ >= acks_max_;
  changed_.SignalAll();
}

void Phase::Down() {
  MutexLock lock(&mutex_);
  down_ = over_ = true;
  changed_.SignalAll();
}

bool Phase::over() const {
  MutexLock lock(&mutex_);
  return over_;
}

bool Phase::down() const {
  MutexLock lock(&mutex_);
  return down_;
}

void Phase::WaitFor(uint64_t acks) {
  MutexLock lock(&mutex_);
  while (!over_ && acks_ < acks) {
    const uint64_t before = acks_;
    if (changed_.WaitWithTimeout(&mutex_, kPhaseMax) && acks_ == before && !over_) Broken("no acknowledgement for minutes");
  }
}

}  // namespace tessera
