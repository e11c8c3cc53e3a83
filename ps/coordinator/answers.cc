// What a worker is told to do next, as it follows from the state.
#include <utility>

#include "absl/strings/str_cat.h"
#include "ps/coordinator/coordinator_state.h"

namespace tessera {

void CoordinatorState::Poll(const DoneRequest& request, absl::Time now) {
  Members::Info* info = members_.Find(request.worker(), request.generation());
  if (info == nullptr) return;
  if (over() && !info->told_stop) info->told_stop = info->changed = true;
  if (over() || info->fenced) return;
  if (stage_ == Stage::kPlan && !surveyor_.has_value()) surveyor_ = info->member;
  if (evaluation_.has_value()) evaluation_->Give(info->member, members_.Live());
  if (phase_ == Phase::kTraining) training_->Give(info->member, members_.Live(), request.clock());
  Advance(now);
}

bool CoordinatorState::Answer(const DoneRequest& request, Instruction* reply) const {
  const Members::Info* info = members_.Find(request.worker(), request.generation());
  if (info == nullptr) {
    reply->mutable_fenced()->set_message(absl::StrCat("worker ", request.worker(), ", generation ", request.generation(),
                                                      ", is unknown here; join again"));
    return true;
  }
  if (over()) {
    *reply->mutable_stop() = *stop_;
    return true;
  }
  if (info->fenced) {
    reply->mutable_fenced()->set_message(absl::StrCat(members_.Describe(info->member), " was given up when its lease ended; join again"));
    return true;
  }
  if (phase_ == Phase::kTraining) return AnswerTraining(request, *info, reply);
  if (phase_ == Phase::kEvaluating) return AnswerEvaluating(*info, reply);
  if (phase_ != Phase::kSurveying || plan_ != nullptr || !(surveyor_ == info->member)) return false;
  *reply->mutable_survey()->mutable_job() = start_.job;
  for (const Origin& origin : start_.origins) *reply->mutable_survey()->add_origins() = origin;
  reply->mutable_survey()->set_resumed(saved_.has_value());
  return true;
}

bool CoordinatorState::Advance(const AdvanceRequest& request, absl::Time now, AdvanceReply* reply) {
  if (returning()) return false;
  Members::Info* info = members_.Find(request.worker(), request.generation());
  const bool over_for_it = info == nullptr || info->fenced || over() || phase_ != Phase::kTraining || training_->sync();
  TrainingRun::Pace pace;
  if (!over_for_it) {
    members_.Renew(info, now);
    pace = training_->Advance(info->member, request.clock(), members_.Live(), now);
    if (pace.news) ++news_;
  }
  reply->set_over(!pace.has_task);
  reply->set_granted(pace.granted);
  reply->set_slowest(pace.slowest);
  return pace.granted || !pace.has_task;
}

bool CoordinatorState::AnswerTraining(const DoneRequest& request, const Members::Info& info, Instruction* reply) const {
  if (request.has_share() && training_->HasMore(request.share(), info.member)) {
    reply->mutable_again();
    return true;
  }
  if (!training_->Fill(info.member, reply)) return false;
  AttachPlan(info, reply);
  return true;
}

bool CoordinatorState::AnswerEvaluating(const Members::Info& info, Instruction* reply) const {
  const std::optional<uint32_t> part = evaluation_.has_value() ? evaluation_->OpenPart(info.member) : std::nullopt;
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
void CoordinatorState::AttachPlan(const Members::Info& info, Instruction* reply) const {
  if (info.plan_incarnation == incarnation_) return;
  if (reply->has_step()) *reply->mutable_step()->mutable_plan() = *plan_;
  if (reply->has_task()) *reply->mutable_task()->mutable_plan() = *plan_;
  if (reply->has_evaluation()) *reply->mutable_evaluation()->mutable_plan() = *plan_;
}

}  // namespace tessera
