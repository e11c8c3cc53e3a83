#include "tools/run_end.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tools/job_folders.h"
#include "tools/summary.h"

namespace tessera {
namespace {

absl::Status WithAdvice(const absl::Status& status, const RunWatch& watch, const std::string& again) {
  switch (status.code()) {
    case absl::StatusCode::kFailedPrecondition:
      return absl::FailedPreconditionError(absl::StrCat(status.message(), "\nStart over with:\n  ", again, " --fresh"));
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return absl::Status(status.code(), absl::StrCat(status.message(), "\nGo on with:\n  ", again));
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
      // Nothing was trained: the job file and the data it names do not fit.
      return watch.planned() ? status : UsageError(status);
    default:
      return status;
  }
}

}  // namespace

absl::Status ReportEnd(const absl::Status& status, const RunStart& start, RunWatch* watch, Output* output) {
  watch->Erase();
  if (!status.ok() && !watch->planned() && !start.moved.empty()) {
    TESSERA_RETURN_IF_ERROR(PutBack(start.moved));
    watch->Tell("nothing was trained: the earlier state is back in its place");
  }
  const absl::Status advised = WithAdvice(status, *watch, start.again);
  watch->Log(advised.ok() ? "finished" : absl::StrCat("failed: ", status.message()));
  Report report = watch->report();
  if (!status.ok() && report.code() == 0) {
    report.set_state(absl::IsCancelled(status) ? "interrupted" : "failed");
    report.set_code(static_cast<int>(status.code()));
    report.set_message(std::string(status.message()));
  }
  const std::string json = SummaryJson(report, advised, start.folder);
  start.folder.Write(start.folder.SummaryPath(), json);
  output->SetJson(json);
  if (advised.ok()) output->Text(SummaryText(report, watch->plan(), start.folder, start.again));
  return advised;
}

}  // namespace tessera
