#include "ps/server/gate.h"

#include <cassert>

#include "absl/strings/str_cat.h"

namespace tessera {

bool Gate::EnterShared() {
  absl::MutexLock lock(&mutex_);
  const auto open = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return holder_ == nullptr && waiting_ == 0; };
  if (!mutex_.AwaitWithTimeout(absl::Condition(&open), patience_)) return false;
  ++readers_;
  return true;
}

void Gate::LeaveShared() {
  absl::MutexLock lock(&mutex_);
  assert(readers_ > 0);
  --readers_;
}

bool Gate::EnterExclusive(const char* what) {
  absl::MutexLock lock(&mutex_);
  const auto empty = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return holder_ == nullptr && readers_ == 0; };
  ++waiting_;
  const bool entered = mutex_.AwaitWithTimeout(absl::Condition(&empty), patience_);
  --waiting_;
  if (entered) holder_ = what;
  return entered;
}

void Gate::LeaveExclusive() {
  absl::MutexLock lock(&mutex_);
  assert(holder_ != nullptr);
  holder_ = nullptr;
}

absl::Status Gate::Busy() const {
  absl::MutexLock lock(&mutex_);
  const std::string reason = holder_ != nullptr ? absl::StrCat(holder_, " is under way") : absl::StrCat(readers_, " calls are under way");
  return absl::UnavailableError(absl::StrCat("server is busy: ", reason, " and did not end within ", absl::FormatDuration(patience_)));
}

}  // namespace tessera
