#include "tools/run_end.h"

#include "absl/strings/str_cat.h"
#include "tools/summary.h"

namespace tessera {
namespace {

absl::Status WithAdvice(const absl::Status& status, const RunWatch& watch, const std::string& again) {
  switch (status.code()) {
    case absl::StatusCode::kFailedPrecondition:
      return absl::FailedPreconditionError(absl::StrCat(status.message(), "\nStart over with:\n  ", again, " --fresh"));
    case absl::StatusCode::kCancelled:
      return absl::CancelledError(absl::StrCat(status.message(), "\nGo on with:\n  ", again));
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
      // Nothing was trained: the job file and the data it names do not fit.
      return watch.planned() ? status : UsageError(status);
    default:
      return status;
  }
}

}  // namespace

absl::Status ReportEnd(const absl::Status& status, const RunFolder& folder, const std::string& again, RunWatch* watch, Output* output) {
  watch->Erase();
  const absl::Status advised = WithAdvice(status, *watch, again);
  watch->Log(advised.ok() ? "finished" : absl::StrCat("failed: ", status.message()));
  Report report = watch->report();
  if (!status.ok() && report.code() == 0) report.set_state(absl::IsCancelled(status) ? "interrupted" : "failed");
  const std::string json = SummaryJson(report, advised, folder);
  folder.Write(folder.SummaryPath(), json);
  output->SetJson(json);
  if (advised.ok()) output->Text(SummaryText(report, watch->plan(), folder, again));
  return advised;
}

}  // namespace tessera
