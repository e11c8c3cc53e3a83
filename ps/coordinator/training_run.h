// How training goes on, as a state machine without locks, I/O or clock: reports of workers in, what to do next out. Both modes have the
// same shape: work is handed out until a boundary (an evaluation, a save, the end), and goes on from there once told to.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "proto/checkpoint.pb.h"
#include "proto/coordinator.pb.h"
#include "proto/coordinator_record.pb.h"
#include "ps/coordinator/cadence.h"
#include "ps/coordinator/members.h"
#include "ps/coordinator/sync_clock.h"
#include "ps/coordinator/task_queue.h"

namespace tessera {

// What has to happen before training goes on.
struct Boundary {
  bool evaluate = false;
  bool save = false;  // also without evaluation: a periodic checkpoint, or an interrupt
  bool last = false;  // all epochs are done
  bool any() const { return evaluate || save || last; }
};

// A share or task that this many workers died of is not tried again.
inline constexpr int kDeathsMax = 3;

// Thread-compatible, pure.
class TrainingRun {
 public:
  // INVALID_ARGUMENT with the key path if the plan cannot be trained (StepRulesOf).
  static absl::StatusOr<TrainingRun> Create(std::shared_ptr<const Plan> plan);

  // From the beginning, or from a checkpoint's state. Nothing is handed out before Start.
  void Restore(const TrainingState& saved);
  // Work of this run that was done before.
  void Count(uint64_t rows, uint64_t steps, uint64_t shares_again) { rows_ += rows, steps_ += steps, shares_again_ += shares_again; }
  // REQUIRES: members is not empty.
  void Start(uint64_t incarnation, absl::Span<const Member> members, absl::Time now);

  // Goes on exactly where Save was: with the same shares and tasks under way. What a step's shares reported before its decision is not kept:
  // they are asked for again.
  void Recover(const RunRecord& saved, uint64_t incarnation, absl::Time now);
  void Save(RunRecord* record) const;
  // Grows with everything that Save must not miss.
  uint64_t changes() const { return changes_; }
  bool started() const { return incarnation_ != 0; }

  bool sync() const { return sync_mode_; }
  // A worker that stands still holds up the others.
  bool paced() const { return sync_mode_ || plan_->job().training().mode() == Mode::bounded; }
  // Held-out rows decide; else the evaluation files.
  bool holds_out() const { return plan_->job().data().evaluate().holdout() > 0; }
  // Gives the member work where it has none and there is some for it. REQUIRES: started.
  // async, bounded: `clock` is what the member has counted.
  void Give(Member member, absl::Span<const Member> members, uint64_t clock);
  // The member is gone, by its own will or `dead`: what it has not done is for others. INVALID_ARGUMENT, naming the share or task, if that killed
  // kDeathsMax workers.
  absl::Status Lose(Member member, bool dead);
  // async: a task of somebody who is gone. Only the servers know how far it came; nullptr: there is none.
  const TaskQueue::Entry* LostTask(absl::Span<const Member> live) const { return sync_mode_ ? nullptr : tasks_.Lost(live); }
  // Of the lost task (or of one whose member leaves) all before `done`.end_row is trained; who has it next goes on there. Some servers have
  // rows up to `begun_row`, which are trained twice.
  absl::Status Return(const TaskDone& done, uint64_t begun_row, absl::Time now);
  // bounded: the member has done `clock` batches, and is about to read values.
  struct Pace {
    bool has_task = false;
    bool granted = false;  // it is no more than training.staleness batches ahead of the slowest who has a task
    bool news = false;     // others may be granted now
    uint64_t slowest = 0;
  };
  Pace Advance(Member member, uint64_t clock, absl::Span<const Member> live, absl::Time now);
  // Fills step or task of `next` (without plan) with what this member was given and has not done. False if it has to wait.
  bool Fill(Member member, Instruction* next) const;
  // The member has shares of the current step beside the one it reports here: it goes on by itself.
  bool HasMore(const ShareDone& done, Member member) const;

  // Records a report; a repeated one changes nothing. INVALID_ARGUMENT if it cannot be true, or if an epoch had no rows.
  absl::Status Add(const ShareDone& done, Member member, absl::Span<const Member> members, absl::Time now);
  absl::Status Add(const TaskDone& done, absl::Time now);
  // INVALID_ARGUMENT with what was wrong, once more batches were left out than training.refusals_max.
  absl::Status CheckRefusals() const;

  // At the next decision (sync), or once the tasks under way are done (async), there is a boundary to save at.
  void Interrupt();
  // There is nobody left to come to a boundary: saved is what is decided (sync).
  void SaveNow();
  // There is a boundary, and all that was handed out is done: the servers may be saved.
  bool AtBoundary() const { return boundary_.any() && (sync_mode_ || tasks_.Idle()); }
  const Boundary& boundary() const { return boundary_; }
  void AddEvaluation(const Score& score, const std::string& checkpoint);
  void SetSaved(absl::Time now) { last_save_ = now; }
  // async: all servers have the batches that were reported as pushed. Else DATA_LOSS, "state lost", names the server.
  absl::Status CheckPushed(absl::Span<const SaveReply> saves) const;
  // The same of one that is given up.
  absl::Status CheckFenced(Member member, absl::Span<const FenceReply> fences) const;
  // Leaves the boundary. REQUIRES: AtBoundary().
  void Resume(absl::Time now);

  // All epochs are done, or early stopping's patience has run out.
  bool Over() const;
  // Whose report is waited for, and since when the last one came.
  std::vector<Member> Awaited() const;
  absl::Time last_progress() const { return last_progress_; }
  void Touch(absl::Time now) { last_progress_ = now; }
  void Postpone(absl::Duration late) { last_progress_ += late; }

  const Decision& decision() const { return sync_->last(); }  // REQUIRES: sync(), started
  // Step of the next checkpoint: the last decided one, or in async the pushes so far.
  uint64_t step() const;
  // The coordinator's part of a checkpoint. REQUIRES: started, AtBoundary().
  TrainingState Snapshot() const;
  const TrainingState& state() const { return state_; }
  // Rows, steps, epochs, evaluations and estimates of `report`.
  void Describe(Report* report) const;

 private:
  explicit TrainingRun(std::shared_ptr<const Plan> plan);
  void GiveTask(Member member, absl::Span<const Member> members, uint64_t clock);
  Progress Now() const;
  void Count(uint64_t rows, double loss, uint64_t steps);
  void CountTask(const TaskQueue::Entry& entry, const TaskDone& done, absl::Time now);
  void CountStaleness(uint32_t worker, const Staleness& staleness);
  void CountRefused(uint64_t batches, uint64_t rows, const std::string& refusal);
  absl::Status TurnEpoch();
  void FindBoundary(const Progress& before, absl::Time now);

  std::shared_ptr<const Plan> plan_;
  bool sync_mode_;
  StepRules rules_;

  // Durable: what a checkpoint keeps. The decision and the open blocks are filled in by Snapshot.
  TrainingState state_;
  std::optional<SyncClock> sync_;
  TaskQueue tasks_{0, 1};

  Boundary boundary_;
  bool interrupted_ = false;
  uint64_t changes_ = 0;
  uint64_t incarnation_ = 0;
  uint64_t rows_ = 0;   // of this run
  uint64_t steps_ = 0;
  uint64_t shares_again_ = 0;
  std::map<uint32_t, uint64_t> next_optimizer_step_;  // async, by worker
  std::map<uint32_t, PushedBatches> pushed_;          // async, by worker: of its last generation, in this incarnation, and reported
  absl::Time last_save_;
  absl::Time last_evaluation_;
  absl::Time last_progress_;
};

}  // namespace tessera
