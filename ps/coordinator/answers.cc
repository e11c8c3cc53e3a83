// What a call to Done comes to: the report is recorded, the answer taken from the state.
#include <utility>

#include "absl/strings/str_cat.h"
#include "ps/coordinator/coordinator_impl.h"

namespace tessera {

absl::Status Coordinator::Impl::Record(const DoneRequest& request, Member member) {
  const absl::Time now = clock_->Now();
  const uint64_t step = phase_ == Phase::kTraining ? training_->step() : 0;
  absl::Status status;
  switch (request.done_case()) {
    case DoneRequest::kSurvey:
      if (plan_ != nullptr || !(surveyor_ == member)) break;
      plan_ = std::make_shared<const Plan>(request.survey().plan());
      sightings_ = request.survey().sightings();
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
    reply->mutable_fenced()->set_message(absl::StrCat(members_.Describe(info->member), " was given up when its lease ended; join again"));
    return true;
  }
  if (phase_ == Phase::kTraining) return AnswerTraining(request, info, reply);
  if (phase_ == Phase::kEvaluating) return AnswerEvaluating(info, reply);
  if (phase_ != Phase::kSurveying || plan_ != nullptr || !(surveyor_ == info->member)) return false;
  *reply->mutable_survey()->mutable_job() = options_.job;
  for (const Origin& origin : options_.origins) *reply->mutable_survey()->add_origins() = origin;
  reply->mutable_survey()->set_resumed(resumable_);
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

}  // namespace tessera
