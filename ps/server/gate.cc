#include "ps/server/gate.h"

#include <cassert>

#include "absl/strings/str_cat.h"
#include "common/clock.h"

namespace tessera {

bool Gate::EnterShared() {
  const absl::Time deadline = Clock::Real()->Now() + patience_;
  MutexLock lock(&mutex_);
  while (holder_ != nullptr || waiting_ > 0) {
    const absl::Duration left = deadline - Clock::Real()->Now();
    if (left <= absl::ZeroDuration()) return false;
    changed_.WaitWithTimeout(&mutex_, left);
  }
  ++readers_;
  return true;
}

void Gate::LeaveShared() {
  MutexLock lock(&mutex_);
  assert(readers_ > 0);
  if (--readers_ == 0) changed_.SignalAll();
}

bool Gate::EnterExclusive(const char* what) {
  const absl::Time deadline = Clock::Real()->Now() + patience_;
  MutexLock lock(&mutex_);
  ++waiting_;
  bool in_time = true;
  while (in_time && (holder_ != nullptr || readers_ > 0)) {
    const absl::Duration left = deadline - Clock::Real()->Now();
    in_time = left > absl::ZeroDuration();
    if (in_time) changed_.WaitWithTimeout(&mutex_, left);
  }
  --waiting_;
  if (in_time) {
    holder_ = what;
  } else {
    changed_.SignalAll();  // those who let this change go first
  }
  return in_time;
}

void Gate::LeaveExclusive() {
  MutexLock lock(&mutex_);
  assert(holder_ != nullptr);
  holder_ = nullptr;
  changed_.SignalAll();
}

absl::Status Gate::Busy() const {
  MutexLock lock(&mutex_);
  const std::string reason = holder_ != nullptr ? absl::StrCat(holder_, " is under way") : absl::StrCat(readers_, " calls are under way");
  return absl::UnavailableError(absl::StrCat("server is busy: ", reason, " and did not end within ", absl::FormatDuration(patience_)));
}

}  // namespace tessera
