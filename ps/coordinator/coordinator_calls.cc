#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/limits.h"
#include "ps/coordinator/coordinator_impl.h"

namespace tessera {
namespace {

constexpr absl::Duration kLease = absl::Milliseconds(kLeaseMs);
// A task of async mode is bounded in size (kTaskBlocksMax), but not in time: this only keeps a job from waiting for ever.
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

void SetFenced(const std::string& who, Fenced* fenced) {
  fenced->set_message(absl::StrCat(who, " is unknown here or was given up; join again"));
}

}  // namespace

Coordinator::Impl::Impl(CoordinatorOptions options, Clock* clock)
    : options_(std::move(options)),
      clock_(clock),
      store_(options_.checkpoint_directory),
      servers_(options_.job.name(), options_.servers, options_.addresses, clock),
      members_(kLease),
      phase_begin_(clock->Now()) {}

absl::Status Coordinator::Impl::Join(const JoinRequest& request, JoinReply* reply) {
  MutexLock lock(&mutex_);
  Tick();
  const Members::Info* info = members_.Join(request.nonce(), request.name(), clock_->Now());
  if (!surveyor_.has_value()) surveyor_ = info->member;
  reply->set_worker(info->member.worker);
  reply->set_generation(info->member.generation);
  reply->set_job(options_.job.name());
  reply->set_incarnation(incarnation_);
  reply->set_map_version(kMapVersion);
  for (const std::string& address : options_.addresses) reply->add_servers(address);
  reply->set_lease_ms(kLeaseMs);
  reply->set_patience_ms(absl::ToInt64Milliseconds(Patience()));
  owner_changed_.Signal();
  return absl::OkStatus();
}

absl::Status Coordinator::Impl::Heartbeat(const HeartbeatRequest& request, HeartbeatReply* reply) {
  MutexLock lock(&mutex_);
  Tick();
  Members::Info* info = members_.Find(request.worker(), request.generation());
  reply->set_fenced(info == nullptr || info->fenced);
  if (!reply->fenced()) members_.Renew(info, clock_->Now());
  return absl::OkStatus();
}

absl::Status Coordinator::Impl::Done(const DoneRequest& request, Instruction* reply) {
  MutexLock lock(&mutex_);
  Tick();
  Members::Info* info = members_.Find(request.worker(), request.generation());
  if (info == nullptr) {
    SetFenced(absl::StrCat("worker ", request.worker(), ", generation ", request.generation(), ","), reply->mutable_fenced());
    return absl::OkStatus();
  }
  if (!info->fenced && !over()) {
    members_.Renew(info, clock_->Now());
    NotePlanKnown(request, info);
    if (absl::Status status = Record(request, info->member); !status.ok()) {
      EndJob(Phase::kFailed, status.code(), std::string(status.message()));
    }
  }
  if (Answer(request, info, reply)) return absl::OkStatus();
  const absl::Time deadline = Clock::Real()->Now() + absl::Milliseconds(kPollMs);
  while (!Answer(request, info, reply)) {
    const absl::Duration left = deadline - Clock::Real()->Now();
    if (left <= absl::ZeroDuration() || closing_) {
      reply->mutable_again();
      return absl::OkStatus();
    }
    workers_changed_.WaitWithTimeout(&mutex_, left);
  }
  return absl::OkStatus();
}

absl::Status Coordinator::Impl::DescribeJob(const DescribeJobRequest& request, Report* reply) {
  MutexLock lock(&mutex_);
  Tick();
  *reply = MakeReport();
  if (request.plan() && plan_ != nullptr) *reply->mutable_plan() = *plan_;
  return absl::OkStatus();
}

absl::Status Coordinator::Impl::Interrupt(const std::string& reason) {
  MutexLock lock(&mutex_);
  if (over() || interrupt_.has_value()) return absl::OkStatus();
  interrupt_ = reason;
  if (phase_ == Phase::kTraining || phase_ == Phase::kEvaluating) training_->Interrupt();
  owner_changed_.Signal();
  return absl::OkStatus();
}

bool Coordinator::Impl::WaitUntilOver(absl::Duration timeout) {
  const absl::Time deadline = Clock::Real()->Now() + timeout;
  MutexLock lock(&mutex_);
  while (true) {
    const absl::Time now = Clock::Real()->Now();
    // Who is lost will never ask; everybody else is told before this process may end.
    if (over() && (members_.AllToldToStop() || now >= over_since_ + kLease)) return true;
    if (now >= deadline) return false;
    over_changed_.WaitWithTimeout(&mutex_, std::min(deadline - now, absl::Milliseconds(100)));
  }
}

absl::Status Coordinator::Impl::Record(const DoneRequest& request, Member member) {
  const absl::Time now = clock_->Now();
  const uint64_t step = phase_ == Phase::kTraining ? training_->step() : 0;
  absl::Status status;
  switch (request.done_case()) {
    case DoneRequest::kSurvey:
      if (plan_ == nullptr && surveyor_ == member) plan_ = std::make_shared<const Plan>(request.survey().plan());
      break;
    case DoneRequest::kShare:
      if (phase_ != Phase::kTraining) break;
      status = training_->Add(request.share(), member, members_.Live(), now);
      break;
    case DoneRequest::kTask:
      if (phase_ != Phase::kTraining) break;
      status = training_->Add(request.task(), now);
      break;
    case DoneRequest::kEvaluation:
      if (evaluation_.has_value()) status = evaluation_->Add(request.evaluation(), member).status();
      break;
    case DoneRequest::kFailure: {
      const Failure& failure = request.failure();
      const std::string who = members_.joined() > 1 ? absl::StrCat(" [", members_.Describe(member), "]") : "";
      const auto code = failure.code() == 0 ? absl::StatusCode::kUnknown : static_cast<absl::StatusCode>(failure.code());
      return absl::Status(code, absl::StrCat(failure.message(), who));
    }
    case DoneRequest::kNothing:
    case DoneRequest::DONE_NOT_SET:
      return absl::OkStatus();
  }
  if (!status.ok()) return absl::Status(status.code(), absl::StrCat(status.message(), " [", members_.Describe(member), "]"));
  // A step is short: nobody is woken who would find nothing to do.
  if (phase_ != Phase::kTraining || training_->AtBoundary()) owner_changed_.Signal();
  if (phase_ != Phase::kTraining || training_->step() != step || !training_->sync()) workers_changed_.SignalAll();
  return absl::OkStatus();
}

// Who reports on work of the present incarnation has the plan that came with the work.
void Coordinator::Impl::NotePlanKnown(const DoneRequest& request, Members::Info* info) {
  const bool known = (request.has_share() && phase_ == Phase::kTraining) || (request.has_task() && phase_ == Phase::kTraining) ||
                     (request.has_evaluation() && evaluation_.has_value() && request.evaluation().evaluation() == evaluation_->number());
  if (known) info->plan_incarnation = incarnation_;
}

bool Coordinator::Impl::Answer(const DoneRequest& request, Members::Info* info, Instruction* reply) {
  if (over()) {
    *reply->mutable_stop() = *stop_;
    info->told_stop = true;
    over_changed_.SignalAll();
    return true;
  }
  if (info->fenced) {
    SetFenced(members_.Describe(info->member), reply->mutable_fenced());
    return true;
  }
  if (phase_ == Phase::kTraining) return AnswerTraining(request, info, reply);
  if (phase_ == Phase::kEvaluating) return AnswerEvaluating(info, reply);
  if (phase_ != Phase::kSurveying || plan_ != nullptr || !(surveyor_ == info->member)) return false;
  *reply->mutable_survey()->mutable_job() = options_.job;
  for (const Origin& origin : options_.origins) *reply->mutable_survey()->add_origins() = origin;
  return true;
}

bool Coordinator::Impl::AnswerTraining(const DoneRequest& request, Members::Info* info, Instruction* reply) {
  if (request.has_share() && training_->HasMore(request.share(), info->member)) {
    reply->mutable_again();
    return true;
  }
  if (!training_->HandOut(info->member, members_.Live(), reply)) return false;
  AttachPlan(info, reply);
  return true;
}

bool Coordinator::Impl::AnswerEvaluating(Members::Info* info, Instruction* reply) {
  const std::optional<uint32_t> part = evaluation_.has_value() ? evaluation_->OpenPart(info->member) : std::nullopt;
  if (!part.has_value()) return false;
  EvaluationTask* task = reply->mutable_evaluation();
  task->set_evaluation(evaluation_->number());
  task->set_incarnation(incarnation_);
  if (training_->sync()) *task->mutable_decision() = evaluation_decision_;
  task->set_holdout(evaluation_->holdout());
  task->set_part(*part);
  task->set_parts(evaluation_->parts());
  AttachPlan(info, reply);
  return true;
}

// Until the worker has shown that it got the plan: an answer may be lost on its way.
void Coordinator::Impl::AttachPlan(Members::Info* info, Instruction* reply) {
  if (info->plan_incarnation == incarnation_) return;
  if (reply->has_step()) *reply->mutable_step()->mutable_plan() = *plan_;
  if (reply->has_task()) *reply->mutable_task()->mutable_plan() = *plan_;
  if (reply->has_evaluation()) *reply->mutable_evaluation()->mutable_plan() = *plan_;
}

void Coordinator::Impl::Tick() {
  if (over()) return;
  const absl::Time now = clock_->Now();
  for (const Members::Info* info : members_.Tick(now)) {
    EndJob(Phase::kFailed, absl::StatusCode::kUnavailable,
           absl::StrCat(members_.Describe(info->member), " sent no heartbeat for ", absl::FormatDuration(kLease),
                        ": it died, hangs or cannot reach the coordinator; see its log, then start the job again to resume"));
  }
  if (!over() && phase_ == Phase::kTraining) CheckProgress(now);
}

void Coordinator::Impl::CheckProgress(absl::Time now) {
  training_->Postpone(members_.late());
  // Workers themselves retry a server for `patience`, with a last call after that; theirs is the better message.
  const absl::Duration limit = training_->sync() ? Patience() + absl::Milliseconds(2 * kCallMs) : kTaskMax;
  if (now - training_->last_progress() <= limit) return;
  const std::vector<Member> awaited = training_->Awaited();
  if (awaited.empty()) return;
  EndJob(Phase::kFailed, absl::StatusCode::kDeadlineExceeded,
         absl::StrCat("step ", training_->step() + 1, ": no progress for ", absl::FormatDuration(limit), " (training.patience) from ",
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

void Coordinator::Impl::SetPhase(Phase phase) {
  const absl::Time now = clock_->Now();
  if (phase_ == Phase::kTraining) trained_ += now - phase_begin_;
  phase_ = phase;
  phase_begin_ = now;
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
