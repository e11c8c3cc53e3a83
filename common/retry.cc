#include "common/retry.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tessera {

bool IsAway(const absl::Status& status) { return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status); }

bool IsFull(const absl::Status& status) {
  // A client puts the server's address in front.
  return absl::IsResourceExhausted(status) &&
         (absl::StartsWith(status.message(), "full: ") || absl::StrContains(status.message(), ": full: "));
}

absl::Status Retry::Run(absl::FunctionRef<absl::Status()> attempt) const {
  const absl::Time deadline = clock_->Now() + patience_;
  absl::Duration wait = kFirstWait;
  while (true) {
    const absl::Status status = attempt();
    if (!IsAway(status) && !IsFull(status)) return status;
    if (stopping_()) return absl::CancelledError(absl::StrCat("stopped; ", status.message()));
    const absl::Duration left = deadline - clock_->Now();
    if (left <= absl::ZeroDuration()) {
      return absl::Status(status.code(), absl::StrCat(status.message(), " (tried for ", absl::FormatDuration(patience_), ")"));
    }
    clock_->SleepFor(std::min(wait, left));
    wait = std::min(wait * 2, kLongestWait);
  }
}

}  // namespace tessera
