// The coordinator behind its interface: one state under one lock, the calls that change it, and one thread that leads the job through its
// phases and speaks to the servers. Private to this folder.
//
// Who does what: a call (coordinator_calls.cc, answers.cc) records what a worker reports and answers from the state, never touching servers
// or disk; decisions without a flag are made right there. The owner thread (run.cc, boundary.cc) does whatever takes long, without the lock, while
// `phase` and `training`'s boundary keep work from being handed out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "ps/checkpoint/checkpoint_store.h"
#include "ps/coordinator/coordinator.h"
#include "ps/coordinator/evaluation.h"
#include "ps/coordinator/members.h"
#include "ps/coordinator/server_group.h"
#include "ps/coordinator/training_run.h"

namespace tessera {

// In the order a job passes through them; the last three are ends.
enum class Phase { kWaiting, kSurveying, kOpening, kTraining, kEvaluating, kFinished, kFailed, kInterrupted };

// Thread-safe.
class Coordinator::Impl {
 public:
  Impl(CoordinatorOptions options, Clock* clock);
  ~Impl();

  absl::Status Init();
  absl::Status Join(const JoinRequest& request, JoinReply* reply);
  absl::Status Heartbeat(const HeartbeatRequest& request, HeartbeatReply* reply);
  absl::Status Done(const DoneRequest& request, Instruction* reply);
  absl::Status DescribeJob(const DescribeJobRequest& request, Report* reply);
  absl::Status Interrupt(const std::string& reason);
  bool WaitUntilOver(absl::Duration timeout);

 private:
  // --- The owner thread (run.cc, boundary.cc). Methods without a lock annotation must not be called with the lock held.
  void Run();
  absl::Status RunPhases();
  absl::Status WaitForPlan();
  // True if nothing is left to do: the job is finished.
  absl::StatusOr<bool> CompareWithSaved();
  // Opens the servers from a checkpoint's folder ("" for none) under the next incarnation.
  absl::Status OpenServers(const std::string& restore_from, std::optional<uint64_t> step);
  absl::Status WaitForWorkers();
  absl::Status Train();
  // Commits, saves, evaluates where that is due, and makes the checkpoint current.
  absl::Status PassBoundary();
  // What there is to do at a boundary, taken from the state at once.
  struct Cut {
    bool evaluate = false;
    bool holdout = false;
    uint64_t step = 0;
    uint64_t incarnation = 0;
    Decision decision;                    // sync
    std::optional<uint64_t> server_step;  // sync: where the servers are once the decision is committed
    absl::Duration patience;
    uint32_t keep = 1;
  };
  Cut EnterBoundary();
  // The score of what the servers hold; `decision` is theirs. Without anything to score: a score of 0 rows.
  absl::StatusOr<Score> Evaluate(bool holdout, const Decision& decision);
  Checkpoint MakeManifest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status FinishJob();
  absl::StatusOr<Score> ScoreFinalState(const CheckpointStore::Entry& final_state);
  // Waits until ready(); ends leases meanwhile. Fails when the job is over or interrupted, and at `deadline`, with what late() says.
  absl::Status Await(absl::FunctionRef<bool()> ready, absl::Time deadline, absl::FunctionRef<std::string()> late)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsCancelled();
  absl::Duration Patience() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Interrupted() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // --- Calls (coordinator_calls.cc, answers.cc).
  // A failure of the job is an outcome, not an error of the call.
  absl::Status Record(const DoneRequest& request, Member member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NotePlanKnown(const DoneRequest& request, Members::Info* info) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Fills the reply if there is something to do now.
  bool Answer(const DoneRequest& request, Members::Info* info, Instruction* reply) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool AnswerTraining(const DoneRequest& request, Members::Info* info, Instruction* reply) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool AnswerEvaluating(Members::Info* info, Instruction* reply) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AttachPlan(Members::Info* info, Instruction* reply) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // --- Both (upkeep.cc).
  // Ends leases, and the job where somebody is lost or makes no progress.
  void Tick() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CheckProgress(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The first end of a job stays.
  void EndJob(Phase phase, absl::StatusCode code, const std::string& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A job that is over stays in the phase it ended in.
  void SetPhase(Phase phase) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // CANCELLED once it is over: the owner thread asks whenever it comes back from work without the lock.
  absl::Status CheckNotOver() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool over() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stop_.has_value(); }
  // The command that starts a worker of this job, for messages.
  std::string WorkerCommand() const;
  std::string DescribeAll(const std::vector<Member>& members) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Report MakeReport() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const CoordinatorOptions options_;
  Clock* const clock_;

  // Used by the owner thread alone.
  CheckpointStore store_;
  ServerGroup servers_;
  std::optional<CheckpointStore::Entry> saved_;  // what Init found, then the newest made
  uint64_t evaluations_asked_ = 0;

  mutable Mutex mutex_;
  CondVar owner_changed_;    // the owner thread waits here
  CondVar workers_changed_;  // long polls wait here
  CondVar over_changed_;     // WaitUntilOver waits here
  Phase phase_ ABSL_GUARDED_BY(mutex_) = Phase::kWaiting;
  std::optional<Stop> stop_ ABSL_GUARDED_BY(mutex_);  // set once the job is over
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<std::string> interrupt_ ABSL_GUARDED_BY(mutex_);  // the reason
  Members members_ ABSL_GUARDED_BY(mutex_);
  std::optional<Member> surveyor_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const Plan> plan_ ABSL_GUARDED_BY(mutex_);
  std::string sightings_ ABSL_GUARDED_BY(mutex_);  // counted by the surveyor; only until the servers are opened
  uint64_t incarnation_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<TrainingRun> training_ ABSL_GUARDED_BY(mutex_);
  std::optional<EvaluationRound> evaluation_ ABSL_GUARDED_BY(mutex_);
  Decision evaluation_decision_ ABSL_GUARDED_BY(mutex_);
  Report saved_report_ ABSL_GUARDED_BY(mutex_);        // of a job that was finished before
  std::optional<Score> final_score_ ABSL_GUARDED_BY(mutex_);
  std::string checkpoint_ ABSL_GUARDED_BY(mutex_);  // newest folder, or that of the final state
  std::string content_digest_ ABSL_GUARDED_BY(mutex_);
  bool resumable_ ABSL_GUARDED_BY(mutex_) = false;  // Init found a checkpoint
  bool resumed_ ABSL_GUARDED_BY(mutex_) = false;
  bool was_finished_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Duration trained_ ABSL_GUARDED_BY(mutex_);       // time in kTraining, up to the last change of phase
  absl::Time phase_begin_ ABSL_GUARDED_BY(mutex_);
  absl::Time over_since_ ABSL_GUARDED_BY(mutex_);        // by the real clock

  std::thread owner_;
};

}  // namespace tessera
