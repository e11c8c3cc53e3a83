// What calls and the owner thread both do to the state: leases, progress, the end of the job, the report.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/limits.h"
#include "ps/coordinator/coordinator_impl.h"

namespace tessera {
namespace {

// A task of async mode is bounded in size (kTaskBytesMax), but not in time: this only keeps a job from waiting for ever.
constexpr absl::Duration kTaskMax = absl::Hours(24);

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

void Coordinator::Impl::Tick() {
  if (over()) return;
  const absl::Time now = clock_->Now();
  for (const Members::Info* info : members_.Tick(now)) {
    EndJob(Phase::kFailed, absl::StatusCode::kUnavailable,
           absl::StrCat(members_.Describe(info->member), " sent no heartbeat for ", absl::FormatDuration(absl::Milliseconds(kLeaseMs)),
                        ": it died, hangs or cannot reach the coordinator; see its log, then start the job again to resume"));
  }
  if (!over() && phase_ == Phase::kTraining) CheckProgress(now);
}

void Coordinator::Impl::CheckProgress(absl::Time now) {
  training_->Postpone(members_.late());
  // Workers themselves retry a server for `patience`, with a last call after that; theirs is the better message.
  constexpr absl::Duration kLastCalls = absl::Milliseconds(2 * kCallMs);
  const absl::Duration limit = training_->sync() ? Patience() + kLastCalls : kTaskMax;
  if (now - training_->last_progress() <= limit) return;
  const std::vector<Member> awaited = training_->Awaited();
  if (awaited.empty()) return;
  const std::string why = training_->sync() ? absl::StrCat(" (training.patience and ", absl::FormatDuration(kLastCalls), ")") : "";
  EndJob(Phase::kFailed, absl::StatusCode::kDeadlineExceeded,
         absl::StrCat("step ", training_->step() + 1, ": no progress for ", absl::FormatDuration(limit), why, " from ",
                      DescribeAll(awaited)));
}

void Coordinator::Impl::EndJob(Phase phase, absl::StatusCode code, const std::string& message) {
  if (over()) return;
  SetPhase(phase);
  stop_.emplace();
  stop_->set_code(static_cast<int32_t>(code));
  stop_->set_message(message);
  over_since_ = Clock::Real()->Now();
  owner_changed_.SignalAll();
  workers_changed_.SignalAll();
  over_changed_.SignalAll();
}

absl::Status Coordinator::Impl::CheckNotOver() const { return over() ? absl::CancelledError("the job is over") : absl::OkStatus(); }

void Coordinator::Impl::SetPhase(Phase phase) {
  if (over()) return;
  const absl::Time now = clock_->Now();
  if (phase_ == Phase::kTraining) trained_ += now - phase_begin_;
  phase_ = phase;
  phase_begin_ = now;
}

std::string Coordinator::Impl::WorkerCommand() const {
  return absl::StrCat("tessera-worker --coordinator ", options_.addresses.empty() ? "ADDRESS" : options_.addresses[0]);
}

std::string Coordinator::Impl::DescribeAll(const std::vector<Member>& members) const {
  std::vector<std::string> names;
  for (const Member& member : members) names.push_back(members_.Describe(member));
  return absl::StrJoin(names, ", ");
}

Report Coordinator::Impl::MakeReport() const {
  Report report = saved_report_;
  if (training_.has_value()) training_->Describe(&report);
  report.set_job(options_.job.name());
  report.set_state(PhaseName(phase_));
  if (over() && stop_->code() != 0) {
    report.set_code(stop_->code());
    report.set_message(stop_->message());
  }
  const absl::Duration running = phase_ == Phase::kTraining ? clock_->Now() - phase_begin_ : absl::ZeroDuration();
  report.set_seconds(absl::ToDoubleSeconds(trained_ + running));
  if (final_score_.has_value()) *report.mutable_evaluation() = *final_score_;
  report.set_checkpoint(checkpoint_);
  report.set_content_digest(content_digest_);
  report.set_workers(static_cast<uint32_t>(members_.joined()));
  report.set_resumed(resumed_);
  report.set_was_finished(was_finished_);
  return report;
}

}  // namespace tessera
