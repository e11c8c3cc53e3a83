// The coordinator as a state machine: what workers report, the time, and the results of orders go in; answers and orders come out. No lock, no
// clock, no thread, no I/O, so a job is a function of its events.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/coordinator_record.pb.h"
#include "ps/checkpoint/checkpoint_store.h"
#include "ps/coordinator/evaluation.h"
#include "ps/coordinator/members.h"
#include "ps/coordinator/order.h"
#include "ps/coordinator/training_run.h"

namespace tessera {

// What a coordinator starts from.
struct CoordinatorStart {
  Job job;                             // as read
  std::vector<Origin> origins;
  std::vector<std::string> addresses;  // of the servers, by shard
  std::string checkpoint_directory;    // absolute
  std::optional<CheckpointStore::Entry> saved;  // the newest checkpoint
  uint64_t incarnation = 0;            // the last one given out
  uint64_t generation_gap = 0;         // random: see Members
  bool journaled = false;              // records are kept
  CoordinatorRecord record;            // what the last process kept, or empty
};

// As reports name them, in the order a job passes through them; the last three are ends.
enum class Phase { kWaiting, kSurveying, kOpening, kTraining, kEvaluating, kFinished, kFailed, kInterrupted };

// Thread-compatible. Time never goes back from event to event.
class CoordinatorState {
 public:
  CoordinatorState(CoordinatorStart start, absl::Time now);

  // --- Events (events.cc).
  // FAILED_PRECONDITION: another process took this one's place.
  absl::Status Join(const JoinRequest& request, absl::Time now, JoinReply* reply);
  // False: fenced, or unknown.
  bool Heartbeat(const HeartbeatRequest& request, absl::Time now);
  // What a worker reports. A failure of the job is an outcome, not an error of the call.
  void Report(const DoneRequest& request, absl::Time now);
  // Time passes: ends leases, and the job where somebody is lost or makes no progress. Comes several times a second.
  void Tick(absl::Time now);
  // A worker waits for its next instruction: gives it work, if there is some.
  void Poll(const DoneRequest& request, absl::Time now);
  // bounded: fills the reply, and says whether the worker need not wait (answers.cc).
  bool Advance(const AdvanceRequest& request, absl::Time now, AdvanceReply* reply);
  void Interrupt(const std::string& reason, absl::Time now);
  // The order of this number, which was taken, is done. Nothing where it is not wanted any more.
  void Finish(uint64_t order, const absl::StatusOr<OrderResult>& result, absl::Time now);

  // --- What comes out.
  // What the events since the last call changed that must outlive this process; it has to be durable before anyone hears of anything: TakeOrder,
  // Answer and the reply of Join come after it (record.cc). `whole`: in a record that needs none before it.
  std::optional<CoordinatorRecord> TakeRecord(bool whole, absl::Time now);
  // The record could not be written: ends the job.
  void FailRecord(const absl::Status& status, absl::Time now);
  // Fills the reply if there is something to do now (answers.cc).
  bool Answer(const DoneRequest& request, Instruction* reply) const;
  // The order to carry out next, once each.
  std::optional<Order> TakeOrder();
  bool has_order() const { return order_.has_value(); }
  // False: whoever carries it out may stop.
  bool IsWanted(uint64_t order) const { return ordered_ && order == orders_ && !over() && !Interruptible(); }
  bool over() const { return stop_.has_value(); }
  // Back again, and not yet sure of the servers: reports of work are not taken in.
  bool returning() const { return stage_ == Stage::kReturn; }
  bool AllToldToStop() const { return members_.AllToldToStop(); }
  // Grows whenever somebody whose answer was "nothing yet" may be answered.
  uint64_t news() const { return news_; }
  tessera::Report MakeReport(absl::Time now) const;
  const std::shared_ptr<const Plan>& plan() const { return plan_; }

 private:
  // What is waited for. Stages named after an order end with its result.
  enum class Stage {
    kFirstWorker, kPlan, kOpen, kReturn, kWorkers, kTrain,
    kCommit, kSave, kScore, kPublish,                  // a boundary
    kReadFinal, kOpenFinal, kScoreFinal, kMarkFinal,   // the end
  };

  // --- phases.cc: how a job gets from nothing to training.
  // Goes from stage to stage as long as what is waited for is there.
  void Advance(absl::Time now);
  bool Step(absl::Time now);
  void Enter(Stage stage, absl::Time deadline = absl::InfiniteFuture());
  void FinishOrder(const OrderResult& result, absl::Time now);
  void GiveOrder(Stage stage, Order order);
  absl::Status CompareWithSaved(absl::Time now);
  void OrderOpen(Stage stage, const std::string& restore_from, std::optional<uint64_t> step);
  void StartTraining(absl::Time now);
  // async: what a lost worker had of its task is asked of the servers, then somebody else goes on with it.
  void OrderFence(const TaskQueue::Entry& lost);
  // Workers that make no progress may wait for a server: only where all are there they are given up.
  void OrderLook();
  void FinishFence(const OrderResult& result, absl::Time now);
  // A server came back older than what it acknowledged: all go back to the last checkpoint together, or the job ends with `lost`.
  void GoBack(const absl::Status& lost, absl::Time now);
  size_t WorkersWanted() const;
  std::string LateMessage() const;

  // --- record.cc: what a restart goes on from.
  bool CanGoOn() const;
  void GoOn(absl::Time now);
  void FinishReturn(absl::Time now);

  // --- boundary.cc: evaluations, checkpoints, the end.
  void EnterBoundary(absl::Time now);
  void OrderSave();
  // False where there is nothing to score.
  bool StartEvaluation(Stage stage, bool holdout, const Decision& decision, absl::Time now);
  void OrderPublish(absl::Time now);
  void LeaveBoundary(const OrderResult& published, absl::Time now);
  Checkpoint MakeManifest(const TrainingRun& run, absl::Time now) const;
  void Resume(absl::Time now);
  void OrderReadFinal();
  void ScoreFinal(absl::Time now);
  void OrderMarkFinal(const Score& score, absl::Time now);

  // --- events.cc, upkeep.cc
  absl::Status Add(const DoneRequest& request, Member member, absl::Time now);
  void NotePlanKnown(const DoneRequest& request, Members::Info* info) const;
  void CheckProgress(absl::Time now);
  void GiveUpAwaited(absl::Time now);
  absl::Duration ProgressLimit() const;
  // The member is fenced: what it had is for others. `dead`: it did not leave by itself.
  void Lose(Member member, bool dead, const std::string& why, absl::Time now);
  // The job waits for whoever comes next, but not longer than its patience.
  void CheckAnybodyLeft(absl::Time now);
  void Note(const std::string& event);
  bool NeedsWorkers() const { return stage_ != Stage::kFirstWorker && stage_ != Stage::kWorkers; }
  // The first end of a job stays.
  void EndJob(Phase phase, absl::StatusCode code, const std::string& message, absl::Time now);
  void EndInterrupted(absl::Time now);
  void SetPhase(Phase phase, absl::Time now);
  // An interrupt ends the job at once; later on it waits for a boundary, where the servers can be saved.
  bool Interruptible() const { return interrupt_.has_value() && phase_ < Phase::kTraining; }
  std::string WorkerCommand() const;
  std::string DescribeAll(const std::vector<Member>& members) const;
  absl::Duration Patience() const;

  // --- answers.cc
  bool AnswerTraining(const DoneRequest& request, const Members::Info& info, Instruction* reply) const;
  bool AnswerEvaluating(const Members::Info& info, Instruction* reply) const;
  void AttachPlan(const Members::Info& info, Instruction* reply) const;

  const CoordinatorStart start_;
  Stage stage_ = Stage::kFirstWorker;
  absl::Time deadline_;                // of the stage
  std::optional<Order> order_;         // given, not taken
  bool ordered_ = false;               // given, and no result yet
  uint64_t orders_ = 0;                // given so far
  uint64_t news_ = 0;

  Phase phase_ = Phase::kWaiting;
  std::optional<Stop> stop_;           // set once the job is over
  std::optional<std::string> interrupt_;  // the reason
  Members members_;
  std::optional<Member> surveyor_;
  std::shared_ptr<const Plan> plan_;
  std::string sightings_;              // counted by the surveyor; only until the servers are opened
  uint64_t incarnation_;               // servers are open in it
  uint64_t next_incarnation_;          // of the next opening; some server may know it
  std::optional<CheckpointStore::Entry> saved_;  // found at the start, then the newest made
  std::optional<TrainingRun> training_;
  uint64_t evaluations_asked_ = 0;
  std::optional<EvaluationRound> evaluation_;
  Decision evaluation_decision_;
  Happened happened_;
  bool happened_changed_ = false;         // since the last record
  std::string last_loss_;                 // why there is nobody left
  absl::Time alone_since_ = absl::InfiniteFuture();

  TaskQueue::Entry fenced_;               // being asked about
  bool looking_ = false;                  // the order of training is a look for the servers
  std::optional<uint64_t> went_back_to_;  // the step, after the last loss of state
  uint64_t furthest_ = 0;                 // step at a loss of state
  int went_back_ = 0;                     // times since that was reached

  // The boundary that is being passed.
  bool cut_evaluates_ = false;
  std::string cut_folder_;
  std::optional<Score> cut_score_;
  Checkpoint cut_manifest_;
  // The end.
  CheckpointStore::Entry final_;
  std::optional<Score> final_score_;

  // Records.
  bool journaled_ = false;             // the servers were opened, and a whole record written
  bool whole_due_ = false;
  bool over_recorded_ = false;
  bool interrupt_saved_ = false;       // the interrupt came to a checkpoint
  uint64_t recorded_changes_ = 0;      // of training_
  uint64_t recorded_asked_ = 0;
  int recorded_evaluations_ = 0;
  bool passed_ = false;                // after a restart: the boundary's checkpoint is made

  tessera::Report saved_report_;       // of a job that was finished before
  std::string checkpoint_;             // newest folder, or that of the final state
  std::string content_digest_;
  bool resumed_ = false;
  bool was_finished_ = false;
  absl::Duration trained_;             // time in kTraining, up to the last change of phase
  absl::Time phase_begin_;
};

}  // namespace tessera
