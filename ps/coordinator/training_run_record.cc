// What of a run outlives its process: where it begins, goes on, and is saved.
#include <algorithm>
#include <utility>

#include "ps/coordinator/training_run.h"

namespace tessera {
namespace {

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
  tasks.SaveBegun(state);
}

}  // namespace

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
  if (open.empty() && state_.begun_tasks().empty()) open.push_back({0, BlockCount(*plan_)});
  tasks_.StartEpoch(std::move(open));
  tasks_.Restore(state_, RunRecord());
}

void TrainingRun::Save(RunRecord* record) const {
  *record->mutable_state() = state_;
  record->set_started(started());
  record->set_evaluate(boundary_.evaluate);
  record->set_save(boundary_.save);
  record->set_last(boundary_.last);
  record->set_rows(rows_);
  record->set_steps(steps_);
  record->set_shares_again(shares_again_);
  if (!started()) return;
  if (sync_mode_) {
    *record->mutable_state()->mutable_decision() = sync_->last();
    return;
  }
  SetOpenBlocks(tasks_, record->mutable_state());
  tasks_.SaveUnderWay(record);
  for (const auto& [worker, step] : next_optimizer_step_) (*record->mutable_next_optimizer_step())[worker] = step;
  for (const auto& [worker, pushed] : pushed_) *record->add_pushed() = pushed;
}

void TrainingRun::Recover(const RunRecord& saved, uint64_t incarnation, absl::Time now) {
  state_ = saved.state();
  rows_ = saved.rows();
  steps_ = saved.steps();
  shares_again_ = saved.shares_again();
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
  tasks_.Restore(state_, saved);
  for (const auto& [worker, step] : saved.next_optimizer_step()) next_optimizer_step_[worker] = step;
  for (const PushedBatches& pushed : saved.pushed()) pushed_[pushed.worker()] = pushed;
}

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
  report->set_shares_again(shares_again_);
  report->set_epochs(state_.epochs());
  report->set_epoch_rows_done(state_.epoch_rows());
}

}  // namespace tessera
