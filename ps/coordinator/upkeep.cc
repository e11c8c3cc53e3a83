// The end of a job, and the report.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ps/coordinator/coordinator_state.h"

namespace tessera {
namespace {

// Until the plan says otherwise.
constexpr absl::Duration kPatienceDefault = absl::Minutes(5);

std::string PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kWaiting: return "waiting";
    case Phase::kSurveying: return "surveying";
    case Phase::kOpening: return "opening";
    case Phase::kTraining: return "training";
    case Phase::kEvaluating: return "evaluating";
    case Phase::kFinished: return "finished";
    case Phase::kFailed: return "failed";
    case Phase::kInterrupted: return "interrupted";
  }
  return "";
}

}  // namespace

void CoordinatorState::EndJob(Phase phase, absl::StatusCode code, const std::string& message, absl::Time now) {
  if (over()) return;
  SetPhase(phase, now);
  stop_.emplace();
  stop_->set_code(static_cast<int32_t>(code));
  stop_->set_message(message);
  ++news_;
}

void CoordinatorState::EndInterrupted(absl::Time now) {
  const uint64_t step = training_.has_value() ? training_->step() : 0;
  const std::string where = step == 0 ? "before the first step" : absl::StrCat("at step ", step);
  EndJob(Phase::kInterrupted, absl::StatusCode::kCancelled, absl::StrCat(*interrupt_, " ", where, "; the same command resumes"), now);
}

void CoordinatorState::SetPhase(Phase phase, absl::Time now) {
  if (phase_ == Phase::kTraining) trained_ += now - phase_begin_;
  phase_ = phase;
  phase_begin_ = now;
}

absl::Duration CoordinatorState::Patience() const {
  const Training& training = plan_ != nullptr ? plan_->job().training() : start_.job.training();
  return training.has_patience() ? absl::Milliseconds(training.patience().ms()) : kPatienceDefault;
}

std::string CoordinatorState::WorkerCommand() const {
  return absl::StrCat("tessera-worker --coordinator ", start_.addresses.empty() ? "ADDRESS" : start_.addresses[0]);
}

std::string CoordinatorState::DescribeAll(const std::vector<Member>& members) const {
  std::vector<std::string> names;
  for (const Member& member : members) names.push_back(members_.Describe(member));
  return absl::StrJoin(names, ", ");
}

tessera::Report CoordinatorState::MakeReport(absl::Time now) const {
  tessera::Report report = saved_report_;
  if (training_.has_value()) training_->Describe(&report);
  report.set_job(start_.job.name());
  report.set_state(PhaseName(phase_));
  if (over() && stop_->code() != 0) {
    report.set_code(stop_->code());
    report.set_message(stop_->message());
  }
  const absl::Duration running = phase_ == Phase::kTraining ? now - phase_begin_ : absl::ZeroDuration();
  report.set_seconds(absl::ToDoubleSeconds(trained_ + running));
  if (final_score_.has_value()) *report.mutable_evaluation() = *final_score_;
  report.set_checkpoint(checkpoint_);
  report.set_content_digest(content_digest_);
  report.set_workers_lost(happened_.workers_lost());
  report.set_workers_left(happened_.workers_left());
  *report.mutable_events() = happened_.events();
  report.set_workers(static_cast<uint32_t>(members_.joined()));
  report.set_resumed(resumed_);
  report.set_was_finished(was_finished_);
  return report;
}

}  // namespace tessera
