// How a job gets from nothing to training, stage by stage.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/job/job_file.h"
#include "common/status_macros.h"
#include "ps/coordinator/coordinator_state.h"

namespace tessera {
namespace {

// Reading all data once may take long; the bound is there so that nothing waits for ever. An evaluation, too, reads all its data once.
constexpr absl::Duration kReadAllMax = absl::Hours(24);

// What was trained holds for the numbers it was trained with (edges of buckets, means, initial values), so those stay the checkpoint's
// whatever a newer version of the program learns from the same data. The new survey says what may differ, and where the files are.
Plan ResumedPlan(const Plan& now, const Plan& was) {
  Plan plan = was;
  *plan.mutable_job() = now.job();
  *plan.mutable_origins() = now.origins();
  *plan.mutable_train() = now.train();
  *plan.mutable_evaluate() = now.evaluate();
  return plan;
}

}  // namespace

void CoordinatorState::Enter(Stage stage, absl::Time deadline) {
  stage_ = stage;
  deadline_ = deadline;
  ++news_;
}

void CoordinatorState::GiveOrder(Stage stage, Order order) {
  Enter(stage);
  order.patience = Patience();
  order.number = ++orders_;
  order_ = std::move(order);
  ordered_ = true;
}

void CoordinatorState::Advance(absl::Time now) {
  while (!over() && !ordered_) {
    if (Interruptible()) return EndInterrupted(now);
    if (Step(now)) continue;
    if (!over() && now > deadline_) EndJob(Phase::kFailed, absl::StatusCode::kDeadlineExceeded, LateMessage(), now);
    return;
  }
}

bool CoordinatorState::Step(absl::Time now) {
  switch (stage_) {
    case Stage::kFirstWorker:
      if (!surveyor_.has_value()) return false;
      SetPhase(Phase::kSurveying, now);
      Enter(Stage::kPlan, now + kReadAllMax);
      return true;
    case Stage::kPlan:
      if (plan_ == nullptr) return false;
      if (const absl::Status status = CompareWithSaved(now); !status.ok()) {
        EndJob(Phase::kFailed, status.code(), std::string(status.message()), now);
      }
      return true;
    case Stage::kWorkers:
      if (members_.Live().size() < WorkersWanted()) return false;
      StartTraining(now);
      return true;
    case Stage::kTrain:
      if (const TaskQueue::Entry* lost = training_->LostTask(members_.Live()); lost != nullptr) {
        OrderFence(*lost);
        return true;
      }
      if (!training_->AtBoundary()) return false;
      EnterBoundary(now);
      return true;
    case Stage::kScore:
      if (!evaluation_->Complete()) return false;
      OrderPublish(now);
      return true;
    case Stage::kScoreFinal:
      if (!evaluation_->Complete()) return false;
      OrderMarkFinal(evaluation_->Finish(), now);
      return true;
    default:
      return false;  // ends with an order
  }
}

void CoordinatorState::FinishOrder(const OrderResult& result, absl::Time now) {
  switch (stage_) {
    case Stage::kOpen:
      incarnation_ = next_incarnation_++;
      journaled_ = whole_due_ = start_.journaled;
      SetPhase(Phase::kWaiting, now);
      return Enter(Stage::kWorkers, now + Patience());
    case Stage::kReturn:
      return FinishReturn(now);
    case Stage::kTrain:
      return looking_ ? GiveUpAwaited(now) : FinishFence(result, now);
    case Stage::kCommit:
      return OrderSave();
    case Stage::kSave:
      if (const absl::Status status = training_->CheckPushed(result.saves); !status.ok()) return GoBack(status, now);
      cut_folder_ = result.folder;
      cut_manifest_ = result.manifest;
      if (!cut_evaluates_) return OrderPublish(now);
      if (StartEvaluation(Stage::kScore, training_->holds_out(), training_->sync() ? training_->decision() : Decision(), now)) return;
      return OrderPublish(now);
    case Stage::kPublish:
      return LeaveBoundary(result, now);
    case Stage::kReadFinal:
      final_.manifest = result.manifest;
      return ScoreFinal(now);
    case Stage::kOpenFinal:
      incarnation_ = next_incarnation_++;
      journaled_ = false;  // a restart begins again at the checkpoint
      return ScoreFinal(now);
    case Stage::kMarkFinal:
      return EndJob(Phase::kFinished, absl::StatusCode::kOk, "job finished", now);
    default:
      return;
  }
}

absl::Status CoordinatorState::CompareWithSaved(absl::Time now) {
  SetPhase(Phase::kOpening, now);
  std::optional<uint64_t> step = 0;
  if (saved_.has_value()) {
    const Checkpoint& manifest = saved_->manifest;
    const std::vector<std::string> differences = PlanDifferences(*plan_, manifest.plan());
    if (!differences.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the job or its data changed since ", saved_->folder, " was saved:\n  ", absl::StrJoin(differences, "\n  "),
          "\nundo the change, or start over with --fresh (the old state is moved aside)"));
    }
    plan_ = std::make_shared<const Plan>(ResumedPlan(*plan_, manifest.plan()));
    checkpoint_ = saved_->folder;
    content_digest_ = manifest.content_digest();
    if (manifest.state().finished()) {
      was_finished_ = true;
      saved_report_ = manifest.state().report();
      saved_report_.set_rows(0);
      saved_report_.set_steps(0);
      EndJob(Phase::kFinished, absl::StatusCode::kOk, "job finished", now);
      return absl::OkStatus();
    }
    step = manifest.state().has_decision() ? std::optional<uint64_t>(manifest.state().decision().step()) : std::nullopt;
  }
  TESSERA_ASSIGN_OR_RETURN(training_, TrainingRun::Create(plan_));
  if (saved_.has_value()) {
    training_->Restore(saved_->manifest.state());
    resumed_ = true;
  }
  OrderOpen(Stage::kOpen, checkpoint_, step);
  return absl::OkStatus();
}

void CoordinatorState::OrderOpen(Stage stage, const std::string& restore_from, std::optional<uint64_t> step) {
  Order order;
  order.kind = Order::Kind::kOpen;
  order.incarnation = next_incarnation_;
  order.folder = restore_from;
  order.server_step = step;
  order.plan = plan_;
  order.sightings.swap(sightings_);
  GiveOrder(stage, std::move(order));
}

void CoordinatorState::StartTraining(absl::Time now) {
  training_->Start(incarnation_, members_.Live(), now);
  if (!training_->Over()) {
    SetPhase(Phase::kTraining, now);
    return Enter(Stage::kTrain);
  }
  SetPhase(Phase::kEvaluating, now);
  OrderReadFinal();
}

// Nobody has what a lost worker left of its task before it is known that no push of it is still on its way.
void CoordinatorState::OrderFence(const TaskQueue::Entry& lost) {
  Order order;
  order.kind = Order::Kind::kFence;
  order.worker = lost.member.worker;
  order.generation = lost.member.generation;
  fenced_ = lost;
  GiveOrder(Stage::kTrain, std::move(order));
}

void CoordinatorState::OrderLook() {
  Order order;
  order.kind = Order::Kind::kReturn;
  order.incarnation = incarnation_;
  if (training_->sync()) {
    order.decision = training_->decision();
    order.decision.clear_cut();
    order.decision.clear_evaluate();
    order.decision.clear_stop();
  }
  looking_ = true;
  GiveOrder(Stage::kTrain, std::move(order));
  order_->patience = absl::ZeroDuration();  // it has passed
}

void CoordinatorState::FinishFence(const OrderResult& result, absl::Time now) {
  if (const absl::Status held = training_->CheckFenced(fenced_.member, result.fences); !held.ok()) return GoBack(held, now);
  // A server that has nothing of the task is where the worker began.
  TaskDone nothing;
  nothing.set_task(fenced_.task);
  nothing.set_end_row(fenced_.first_row);
  std::optional<TaskDone> least;
  uint64_t begun_row = fenced_.first_row;
  for (const FenceReply& held : result.fences) {
    const TaskDone& done = held.done().task() == fenced_.task ? held.done() : nothing;
    if (!least.has_value() || done.end_row() < least->end_row()) least = done;
    if (held.begun_task() == fenced_.task) begun_row = std::max(begun_row, held.begun_row());
  }
  const TaskDone& done = least.has_value() ? *least : nothing;
  Note(absl::StrCat("task ", fenced_.task, " goes on at its row ", done.end_row(), ", ", std::max(begun_row, done.end_row()) - done.end_row(),
                    " rows are trained twice"));
  absl::Status status = training_->Return(done, begun_row, now);
  if (status.ok()) status = training_->CheckRefusals();
  if (!status.ok()) EndJob(Phase::kFailed, status.code(), std::string(status.message()), now);
}

// Who was there before may not come back.
size_t CoordinatorState::WorkersWanted() const {
  return went_back_to_.has_value() ? 1 : std::max<uint32_t>(1, plan_->job().training().workers());
}

void CoordinatorState::GoBack(const absl::Status& lost, absl::Time now) {
  // Again without a step between, or again and again without coming further: going back does not help.
  constexpr int kGoBacksMax = 5;
  if (training_->step() > furthest_) went_back_ = 0;
  furthest_ = std::max(furthest_, training_->step());
  if (went_back_to_ == training_->step() || ++went_back_ > kGoBacksMax) {
    return EndJob(Phase::kFailed, lost.code(), std::string(lost.message()), now);
  }
  went_back_to_ = saved_.has_value() ? saved_->manifest.state().optimizer_step() : 0;
  const std::string where = saved_.has_value() ? absl::StrCat("all went back to ", saved_->folder) : std::string("the job began again");
  Note(absl::StrCat(lost.message(), "; ", where));
  journaled_ = false;  // what was decided since is void
  ordered_ = looking_ = false;
  order_.reset();
  evaluation_.reset();
  SetPhase(Phase::kOpening, now);
  if (!saved_.has_value()) {
    // Nothing to go back to: the job begins again, with a look at the data.
    plan_.reset();
    training_.reset();
    const std::vector<Member> live = members_.Live();
    surveyor_ = live.empty() ? std::nullopt : std::optional<Member>(live.front());
    return Enter(Stage::kFirstWorker, now + Patience());
  }
  RunRecord counts;
  training_->Save(&counts);
  training_ = *TrainingRun::Create(plan_);
  training_->Restore(saved_->manifest.state());
  training_->Count(counts.rows(), counts.steps(), counts.shares_again());
  const TrainingState& state = saved_->manifest.state();
  OrderOpen(Stage::kOpen, saved_->folder, state.has_decision() ? std::optional<uint64_t>(state.decision().step()) : std::nullopt);
}

std::string CoordinatorState::LateMessage() const {
  const std::string patience = absl::FormatDuration(Patience());
  switch (stage_) {
    case Stage::kFirstWorker:
      return absl::StrCat("no worker joined within ", patience, " (training.patience); start one with ", WorkerCommand());
    case Stage::kPlan:
      return absl::StrCat("survey of the data: no answer from ",
                          surveyor_.has_value() ? members_.Describe(*surveyor_) : std::string("a worker"), " within ",
                          absl::FormatDuration(kReadAllMax));
    case Stage::kWorkers: {
      const std::vector<Member> live = members_.Live();
      return absl::StrCat(live.size(), " of ", WorkersWanted(), " workers (training.workers) joined within ", patience,
                          " (training.patience): ", DescribeAll(live), "; start the others with ", WorkerCommand(),
                          ", or lower training.workers");
    }
    default:
      return absl::StrCat("evaluation: no answer within ", absl::FormatDuration(kReadAllMax), " from ", DescribeAll(evaluation_->Awaited()));
  }
}

bool CoordinatorState::StartEvaluation(Stage stage, bool holdout, const Decision& decision, absl::Time now) {
  if (!holdout && plan_->evaluate_size() == 0) return false;
  evaluation_.emplace(++evaluations_asked_, holdout, members_.Live());
  evaluation_decision_ = decision;
  Enter(stage, now + kReadAllMax);
  return true;
}

}  // namespace tessera
