#include "tools/run_watch.h"

#include <unistd.h>

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "common/job/job_file.h"
#include "common/status_macros.h"

namespace tessera {

RunWatch::RunWatch(CoordinatorApi* coordinator, const RunFolder* folder, Clock* clock)
    : coordinator_(coordinator),
      folder_(folder),
      clock_(clock),
      terminal_(isatty(STDERR_FILENO) == 1),
      log_(folder->LogPath(), std::ios::app) {}

RunWatch::~RunWatch() { Erase(); }

absl::Status RunWatch::Look() {
  DescribeJobRequest request;
  request.set_plan(!planned());
  Report report;
  TESSERA_RETURN_IF_ERROR(coordinator_->DescribeJob(request, &report));
  report_ = std::move(report);
  if (!planned() && report_.plan().has_job()) {
    plan_ = report_.plan();
    folder_->Write(folder_->JobPath(), FormatJob(plan_.job(), {plan_.origins().begin(), plan_.origins().end()}));
    Tell(PlanText(plan_));
    // Evaluations of earlier runs are known; only their number is told.
    if (report_.resumed()) Tell(absl::StrCat("resumed at step ", report_.total_steps(), " of epoch ", report_.epochs() + 1));
    if (report_.resumed() || report_.was_finished()) evaluations_told_ = report_.evaluations_size();
  }
  report_.clear_plan();
  rate_.Add(clock_->Now(), report_.rows());
  if (report_.refused_batches() > refusals_told_) {
    Tell(absl::StrCat("left out ", report_.refused_batches(), " batches so far, the last: ", report_.refusal()));
    refusals_told_ = report_.refused_batches();
  }
  for (; evaluations_told_ < report_.evaluations_size(); ++evaluations_told_) Tell(EvaluationText(report_.evaluations(evaluations_told_)));
  Draw();
  return absl::OkStatus();
}

void RunWatch::Tell(const std::string& line) {
  Erase();
  std::fprintf(stderr, "%s\n", line.c_str());
  Log(line);
}

void RunWatch::Log(const std::string& line) {
  log_ << absl::FormatTime("%Y-%m-%d %H:%M:%S ", clock_->Now(), absl::LocalTimeZone()) << line << std::endl;
}

void RunWatch::Draw() {
  if (!terminal_) return;
  std::fprintf(stderr, "\r\033[K%s", ProgressText(report_, plan_, rate_.rows_per_second()).c_str());
  std::fflush(stderr);
  drawn_ = true;
}

void RunWatch::Erase() {
  if (!drawn_) return;
  std::fprintf(stderr, "\r\033[K");
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace tessera
