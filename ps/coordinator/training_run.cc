#include "ps/coordinator/training_run.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "ps/coordinator/early_stop.h"

namespace tessera {
namespace {

// The part of an epoch that is done stays below 1 until the epoch is over, also where the number of its rows is an estimate.
constexpr double kEpochPartMax = 1 - 1e-9;

absl::Status NoRows() {
  return absl::InvalidArgumentError(
      "data.train: no row to train on in a whole epoch; are the files empty, all rows held out (data.evaluate.holdout), or all left out "
      "(training.refusals_max)?");
}

double EstimateEpochRows(const Plan& plan) {
  return static_cast<double>(plan.rows()) * (1 - plan.job().data().evaluate().holdout());
}

std::vector<BlockRun> OpenBlocks(const TrainingState& state) {
  std::vector<BlockRun> open;
  for (int i = 0; i + 1 < state.open_blocks_size(); i += 2) open.push_back({state.open_blocks(i), state.open_blocks(i + 1)});
  return open;
}
void SetOpenBlocks(const TaskQueue& tasks, TrainingState* state) {
  state->set_tasks(tasks.tasks());
  state->clear_open_blocks();
  for (const BlockRun& run : tasks.OpenRuns()) {
    state->add_open_blocks(run.first);
    state->add_open_blocks(run.last);
  }
}

}  // namespace

TrainingRun::TrainingRun(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)), sync_mode_(plan_->job().training().mode() != async) {
  state_.mutable_report()->set_epoch_rows(EstimateEpochRows(*plan_));
}

absl::StatusOr<TrainingRun> TrainingRun::Create(std::shared_ptr<const Plan> plan) {
  TrainingRun run(std::move(plan));
  if (run.plan_->job().training().epochs() == 0) return absl::InvalidArgumentError("training.epochs: must be at least 1");
  if (BlockCount(*run.plan_) == 0) return NoRows();
  if (run.sync_mode_) {
    TESSERA_ASSIGN_OR_RETURN(run.rules_, StepRulesOf(*run.plan_));
  }
  return run;
}

void TrainingRun::Restore(const TrainingState& saved) { state_ = saved; }

void TrainingRun::Start(uint64_t incarnation, absl::Span<const Member> members, absl::Time now) {
  ++changes_;
  incarnation_ = incarnation;
  last_save_ = last_evaluation_ = last_progress_ = now;
  if (sync_mode_) {
    const bool fresh = state_.decision().assignment().empty();
    sync_.emplace(rules_, fresh ? FirstDecision(rules_, incarnation, members) : RestoredDecision(state_.decision(), incarnation, members));
    return;
  }
  tasks_ = TaskQueue(state_.tasks(), plan_->job().data().block_bytes().bytes());
  std::vector<BlockRun> open = OpenBlocks(state_);
  if (open.empty()) open.push_back({0, BlockCount(*plan_)});
  tasks_.StartEpoch(std::move(open));
}

void TrainingRun::Save(RunRecord* record) const {
  *record->mutable_state() = state_;
  record->set_started(started());
  record->set_evaluate(boundary_.evaluate);
  record->set_save(boundary_.save);
  record->set_last(boundary_.last);
  record->set_rows(rows_);
  record->set_steps(steps_);
  if (!started()) return;
  if (sync_mode_) {
    *record->mutable_state()->mutable_decision() = sync_->last();
    return;
  }
  SetOpenBlocks(tasks_, record->mutable_state());
  tasks_.Save(record);
  for (const auto& [worker, step] : next_optimizer_step_) (*record->mutable_next_optimizer_step())[worker] = step;
}

void TrainingRun::Recover(const RunRecord& saved, uint64_t incarnation, absl::Time now) {
  state_ = saved.state();
  rows_ = saved.rows();
  steps_ = saved.steps();
  if (!saved.started()) return;
  incarnation_ = incarnation;
  last_save_ = last_evaluation_ = last_progress_ = now;
  boundary_ = {saved.evaluate(), saved.save(), saved.last()};
  if (sync_mode_) {
    sync_.emplace(rules_, state_.decision());
    return;
  }
  tasks_ = TaskQueue(state_.tasks(), plan_->job().data().block_bytes().bytes());
  tasks_.StartEpoch(OpenBlocks(state_));
  tasks_.Restore(saved);
  for (const auto& [worker, step] : saved.next_optimizer_step()) next_optimizer_step_[worker] = step;
}

void TrainingRun::Give(Member member, absl::Span<const Member> members) {
  if (sync_mode_ || boundary_.any() || tasks_.Outstanding(member) != nullptr) return;
  const auto place = std::find(members.begin(), members.end(), member) - members.begin();
  const uint64_t from = state_.optimizer_step() + 1 + static_cast<uint64_t>(place);
  const uint64_t step = std::max(from, next_optimizer_step_[member.worker]);
  if (tasks_.HandOut(member, static_cast<uint32_t>(members.size()), step) != nullptr) ++changes_;
}

bool TrainingRun::Fill(Member member, Instruction* next) const {
  if (sync_mode_) {
    if (boundary_.any()) return false;
    const std::vector<const Assignment*> open = sync_->Open(member);
    if (open.empty()) return false;
    StepTask* step = next->mutable_step();
    *step->mutable_decision() = sync_->last();
    for (const Assignment* assignment : open) *step->add_shares() = *assignment;
    return true;
  }
  const TaskQueue::Entry* entry = tasks_.Outstanding(member);
  if (entry == nullptr) return false;
  Task* task = next->mutable_task();
  task->set_incarnation(incarnation_);
  task->set_task(entry->task);
  task->set_epoch(state_.epochs());
  task->set_first_block(entry->run.first);
  task->set_last_block(entry->run.last);
  task->set_optimizer_step(entry->optimizer_step);
  task->set_optimizer_step_stride(entry->stride);
  return true;
}

bool TrainingRun::HasMore(const ShareDone& done, Member member) const {
  return sync_mode_ && !boundary_.any() && done.step() == sync_->step() && !sync_->Open(member).empty();
}

absl::Status TrainingRun::Add(const ShareDone& done, Member member, absl::Span<const Member> members, absl::Time now) {
  if (!sync_mode_) return absl::InvalidArgumentError("a share was reported in a job that is not synchronous");
  TESSERA_ASSIGN_OR_RETURN(const bool news, sync_->Add(done, member));
  if (!news) return absl::OkStatus();
  last_progress_ = now;
  if (!sync_->Complete()) return absl::OkStatus();
  SyncClock::Outcome outcome = sync_->Decide(members);
  const Progress before = Now();
  state_.set_optimizer_step(outcome.decision.step());
  Count(outcome.rows, outcome.loss, 1);
  CountRefused(outcome.refused_batches, outcome.refused_rows, outcome.refusal);
  if (outcome.epoch_over) TESSERA_RETURN_IF_ERROR(TurnEpoch());
  FindBoundary(before, now);
  outcome.decision.set_cut(boundary_.any());
  outcome.decision.set_evaluate(boundary_.evaluate);
  outcome.decision.set_stop(boundary_.last || interrupted_);
  sync_->Advance(std::move(outcome.decision));
  ++changes_;
  return absl::OkStatus();
}

absl::Status TrainingRun::Add(const TaskDone& done, absl::Time now) {
  if (sync_mode_) return absl::InvalidArgumentError("a task was reported in a synchronous job");
  if (!std::isfinite(done.loss())) {
    return absl::InvalidArgumentError(absl::StrCat("task ", done.task(), ": its loss is not a finite number"));
  }
  const std::optional<TaskQueue::Entry> entry = tasks_.Done(done.task());
  if (!entry.has_value()) return absl::OkStatus();
  ++changes_;
  last_progress_ = now;
  CountRefused(done.refused_batches(), done.refused_rows(), done.refusal());
  const Progress before = Now();
  next_optimizer_step_[entry->member.worker] = entry->optimizer_step + done.pushes() * entry->stride;
  state_.set_optimizer_step(state_.optimizer_step() + done.pushes());
  Count(done.rows(), done.loss(), done.pushes());
  if (tasks_.EpochOver()) {
    TESSERA_RETURN_IF_ERROR(TurnEpoch());
    tasks_.StartEpoch({{0, BlockCount(*plan_)}});
  }
  FindBoundary(before, now);
  return absl::OkStatus();
}

void TrainingRun::Interrupt() {
  interrupted_ = true;
  ++changes_;
  if (!sync_mode_) boundary_.save = true;
}

void TrainingRun::Resume(absl::Time now) {
  // Not when it was found due: what takes longer than the cadence would be due again at once.
  if (boundary_.evaluate) last_evaluation_ = now;
  boundary_ = Boundary();
  ++changes_;
  if (interrupted_) Interrupt();
  last_progress_ = now;
}

Progress TrainingRun::Now() const {
  const double rows = std::max(1.0, state_.report().epoch_rows());
  return {state_.optimizer_step(), state_.epochs() + std::min(kEpochPartMax, static_cast<double>(state_.epoch_rows()) / rows)};
}

void TrainingRun::Count(uint64_t rows, double loss, uint64_t steps) {
  Report& report = *state_.mutable_report();
  rows_ += rows;
  steps_ += steps;
  report.set_total_rows(report.total_rows() + rows);
  report.set_total_steps(report.total_steps() + steps);
  state_.set_epoch_rows(state_.epoch_rows() + rows);
  state_.set_epoch_loss(state_.epoch_loss() + loss);
}

void TrainingRun::CountRefused(uint64_t batches, uint64_t rows, const std::string& refusal) {
  if (batches == 0) return;
  Report& report = *state_.mutable_report();
  report.set_refused_batches(report.refused_batches() + batches);
  report.set_refused_rows(report.refused_rows() + rows);
  report.set_refusal(refusal);
}

absl::Status TrainingRun::CheckRefusals() const {
  const uint64_t refused = state_.report().refused_batches();
  const uint64_t most = plan_->job().training().refusals_max();
  if (refused <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(state_.report().refusal(), ". ", refused, refused == 1 ? " batch was" : " batches were",
                                                 " left out for such a gradient, training.refusals_max allows ", most));
}

absl::Status TrainingRun::TurnEpoch() {
  if (state_.epoch_rows() == 0) return NoRows();
  Report& report = *state_.mutable_report();
  report.set_train_logloss(state_.epoch_loss() / static_cast<double>(state_.epoch_rows()));
  report.set_epoch_rows(static_cast<double>(state_.epoch_rows()));
  state_.set_epochs(state_.epochs() + 1);
  state_.set_epoch_rows(0);
  state_.set_epoch_loss(0);
  return absl::OkStatus();
}

void TrainingRun::FindBoundary(const Progress& before, absl::Time now) {
  const Job& job = plan_->job();
  const Progress after = Now();
  if (state_.epochs() >= job.training().epochs()) boundary_.last = boundary_.evaluate = true;
  if (IsDue(job.evaluation().every(), before, after, last_evaluation_, now)) boundary_.evaluate = true;
  if (interrupted_ || IsDue(job.checkpoint().every(), before, after, last_save_, now)) boundary_.save = true;
}

void TrainingRun::AddEvaluation(const Score& score, const std::string& checkpoint) {
  EvaluationReport evaluation;
  evaluation.set_epoch(state_.epochs());
  evaluation.set_step(step());
  *evaluation.mutable_score() = score;
  evaluation.set_checkpoint(checkpoint);
  // In the middle of an epoch: of its rows so far.
  if (state_.epoch_rows() > 0) {
    evaluation.set_train_logloss(state_.epoch_loss() / static_cast<double>(state_.epoch_rows()));
  } else if (state_.report().has_train_logloss()) {
    evaluation.set_train_logloss(state_.report().train_logloss());
  }
  tessera::AddEvaluation(plan_->job().evaluation().monitor(), evaluation, &state_);
}

bool TrainingRun::Over() const {
  return state_.epochs() >= plan_->job().training().epochs() || OutOfPatience(plan_->job().evaluation(), state_);
}

std::vector<Member> TrainingRun::Awaited() const {
  if (!sync_mode_) return tasks_.Awaited();
  return boundary_.any() ? std::vector<Member>() : sync_->Awaited();
}

uint64_t TrainingRun::step() const { return state_.optimizer_step(); }

TrainingState TrainingRun::Snapshot() const {
  TrainingState state = state_;
  if (sync_mode_) {
    *state.mutable_decision() = sync_->last();
    return state;
  }
  SetOpenBlocks(tasks_, &state);
  return state;
}

void TrainingRun::Describe(Report* report) const {
  *report = state_.report();
  report->set_rows(rows_);
  report->set_steps(steps_);
  report->set_epochs(state_.epochs());
  report->set_epoch_rows_done(state_.epoch_rows());
}

}  // namespace tessera
