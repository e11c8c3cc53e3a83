#include "ps/coordinator/training_run.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/epoch_order.h"
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

// For people: the file, and where in it the block begins.
std::string PlaceOf(const Plan& plan, uint64_t block) {
  const uint64_t block_bytes = std::max<uint64_t>(1, plan.job().data().block_bytes().bytes());
  const uint64_t number = block;
  for (const InputFile& file : plan.train()) {
    const uint64_t blocks = (file.plain_bytes() + block_bytes - 1) / block_bytes;
    if (block < blocks) return absl::StrCat(file.path(), ", byte ", block * block_bytes);
    block -= blocks;
  }
  return absl::StrCat("block ", number);
}

// A task's rows are shuffled, so it is one of its blocks, but not known which.
std::string PlacesOf(const Plan& plan, const TaskQueue::Entry& entry, uint32_t epoch) {
  constexpr uint64_t kNamedMax = 8;
  const std::vector<uint64_t> order = EpochBlocks(plan, BlockCount(plan), epoch);
  std::vector<std::string> places;
  for (uint64_t i = entry.run.first; i < entry.run.last && places.size() < kNamedMax; ++i) places.push_back(PlaceOf(plan, order[i]));
  const uint64_t more = entry.run.last - entry.run.first - places.size();
  return absl::StrCat(absl::StrJoin(places, "; "), more > 0 ? absl::StrCat("; and ", more, " more blocks") : "");
}

}  // namespace

TrainingRun::TrainingRun(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)), sync_mode_(plan_->job().training().mode() == Mode::sync) {
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

void TrainingRun::Give(Member member, absl::Span<const Member> members, uint64_t clock) {
  if (boundary_.any()) return;
  if (sync_mode_) {
    if (!sync_->Open(member).empty()) return;
    const Assignment* orphan = sync_->Orphan(members);
    if (orphan == nullptr) return;
    sync_->Give(orphan->share(), member);
    ++shares_again_;
    return;
  }
  GiveTask(member, members, clock);
}

absl::Status TrainingRun::Lose(Member member, bool dead) {
  if (!started()) return absl::OkStatus();
  if (!dead) return absl::OkStatus();
  if (!sync_mode_) {
    const TaskQueue::Entry* entry = tasks_.CountDeath(member);
    if (entry == nullptr) return absl::OkStatus();
    ++changes_;
    if (entry->deaths < kDeathsMax) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("task ", entry->task, ": ", entry->deaths, " workers died while they had it; look at the ",
                                                   plan_->job().data().block_bytes().bytes(), " bytes from each of these on: ",
                                                   PlacesOf(*plan_, *entry, state_.epochs())));
  }
  const auto [deaths, share] = sync_->CountDeath(member);
  if (deaths < kDeathsMax) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("step ", sync_->step(), ", share ", share->share(), ": ", deaths,
                                                 " workers died while they had it; look at the rows from ",
                                                 PlaceOf(*plan_, share->position().data_block()), ", row ", share->position().row(),
                                                 " there, on"));
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
  task->set_first_row(entry->first_row);
  task->set_clock(entry->clock);
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

void TrainingRun::Interrupt() {
  interrupted_ = true;
  ++changes_;
  if (!sync_mode_) boundary_.save = true;
}

void TrainingRun::SaveNow() {
  if (boundary_.any()) return;
  boundary_.save = true;
  ++changes_;
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
  if (!refusal.empty()) report.set_refusal(refusal);
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
  if (!sync_mode_) return paced() ? tasks_.Slowest() : tasks_.Awaited();
  return boundary_.any() ? std::vector<Member>() : sync_->Awaited();
}

uint64_t TrainingRun::step() const { return state_.optimizer_step(); }

}  // namespace tessera
