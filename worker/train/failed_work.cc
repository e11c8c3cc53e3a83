#include "worker/train/failed_work.h"

#include "absl/strings/match.h"

namespace tessera {

FailedWork::Verdict FailedWork::Judge(const absl::Status& status, uint64_t incarnation, uint64_t step) {
  const bool over = absl::IsAborted(status) && absl::StrContains(status.message(), "step over");
  const bool closed = absl::IsFailedPrecondition(status) && absl::StrContains(status.message(), "wrong peer");
  const bool lost = absl::IsDataLoss(status) && absl::StrContains(status.message(), "state lost");
  if (!(over || closed || lost) || incarnation == 0) return Verdict::kEnd;
  const std::pair<uint64_t, uint64_t> at = {incarnation, step};
  times_ = at == at_ ? times_ + 1 : 1;
  at_ = at;
  if (times_ > kTimesMax) return Verdict::kEnd;
  return lost ? Verdict::kLost : Verdict::kAskAgain;
}

}  // namespace tessera
