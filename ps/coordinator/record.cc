// What of the state outlives the process, and how a restart goes on from it.
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/message_differencer.h"
#include "ps/coordinator/coordinator_state.h"

namespace tessera {

std::optional<CoordinatorRecord> CoordinatorState::TakeRecord(bool whole, absl::Time now) {
  if (!journaled_) return std::nullopt;
  whole |= std::exchange(whole_due_, false);
  CoordinatorRecord record;
  for (MemberRecord& member : members_.TakeChanges(whole)) *record.add_members() = std::move(member);
  // After an interrupt that came to no checkpoint the next process goes on from here.
  const bool over = this->over() && !(phase_ == Phase::kInterrupted && !interrupt_saved_);
  const bool run_changed = training_->changes() != recorded_changes_ || evaluations_asked_ != recorded_asked_;
  const bool happened_changed = std::exchange(happened_changed_, false);
  if (!whole && record.members().empty() && !run_changed && !happened_changed && over == over_recorded_) return std::nullopt;
  record.set_over(over);
  over_recorded_ = over;
  if (whole) {
    Opened* opened = record.mutable_opened();
    *opened->mutable_job() = start_.job;
    for (const std::string& address : start_.addresses) opened->add_addresses(address);
    *opened->mutable_plan() = *plan_;
    opened->set_incarnation(incarnation_);
    opened->set_resumed(resumed_);
  }
  if (whole || run_changed) {
    RunRecord* run = record.mutable_run();
    training_->Save(run);
    tessera::Report* report = run->mutable_state()->mutable_report();
    run->set_same_evaluations(!whole && report->evaluations_size() == recorded_evaluations_);
    recorded_evaluations_ = report->evaluations_size();
    if (run->same_evaluations()) report->clear_evaluations();
    run->set_seconds(MakeReport(now).seconds());
    run->set_evaluations_asked(evaluations_asked_);
    recorded_changes_ = training_->changes();
    recorded_asked_ = evaluations_asked_;
  }
  if (whole || happened_changed) *record.mutable_happened() = happened_;
  return record;
}

void CoordinatorState::FailRecord(const absl::Status& status, absl::Time now) {
  journaled_ = false;
  EndJob(Phase::kFailed, status.code(), absl::StrCat("the coordinator cannot write down its decisions: ", status.message()), now);
}

bool CoordinatorState::CanGoOn() const {
  const CoordinatorRecord& record = start_.record;
  if (!start_.journaled || !record.has_opened() || record.over()) return false;
  // An opening that was begun after it makes it void; so does a job file that was changed, which the data are needed to judge.
  if (record.opened().incarnation() != start_.incarnation) return false;
  if (!google::protobuf::util::MessageDifferencer::Equals(record.opened().job(), start_.job)) return false;
  const auto& addresses = record.opened().addresses();
  if (std::vector<std::string>(addresses.begin(), addresses.end()) != start_.addresses) return false;
  return !saved_.has_value() || !saved_->manifest.state().finished();
}

void CoordinatorState::GoOn(absl::Time now) {
  const CoordinatorRecord& record = start_.record;
  plan_ = std::make_shared<const Plan>(record.opened().plan());
  absl::StatusOr<TrainingRun> run = TrainingRun::Create(plan_);
  if (!run.ok()) return EndJob(Phase::kFailed, run.status().code(), std::string(run.status().message()), now);
  training_ = *std::move(run);
  members_.Restore(record, now);
  resumed_ = record.opened().resumed();
  trained_ = absl::Seconds(record.run().seconds());
  evaluations_asked_ = record.run().evaluations_asked();
  happened_ = record.happened();
  Note("the coordinator was started again");
  RunRecord saved_run = record.run();
  if (saved_.has_value()) {
    checkpoint_ = saved_->folder;
    content_digest_ = saved_->manifest.content_digest();
    // The boundary's checkpoint was published: its state is the one behind the boundary.
    const bool boundary = saved_run.evaluate() || saved_run.save() || saved_run.last();
    const Checkpoint& manifest = saved_->manifest;
    passed_ = boundary && manifest.incarnation() == start_.incarnation && manifest.step() == saved_run.state().optimizer_step();
    if (passed_) *saved_run.mutable_state() = manifest.state();
  }
  training_->Recover(saved_run, incarnation_, now);
  // An interrupt ended the process before it came to a checkpoint: nobody waits for those that heard of it.
  for (const Member& member : members_.ToldToStop()) {
    members_.Fence(members_.Find(member.worker, member.generation));
    Lose(member, /*dead=*/false, "it was told that the job is interrupted", now);
  }
  recorded_changes_ = training_->changes();
  journaled_ = whole_due_ = true;
  SetPhase(Phase::kOpening, now);
  Order order;
  order.kind = Order::Kind::kReturn;
  order.incarnation = incarnation_;
  if (training_->started() && training_->sync()) order.decision = training_->decision();
  GiveOrder(Stage::kReturn, std::move(order));
}

void CoordinatorState::FinishReturn(absl::Time now) {
  if (!training_->started()) {
    SetPhase(Phase::kWaiting, now);
    return Enter(Stage::kWorkers, now + Patience());
  }
  training_->Touch(now);
  const bool boundary = training_->boundary().any() && !passed_;
  SetPhase(training_->Over() ? Phase::kEvaluating : Phase::kTraining, now);
  if (passed_ || (training_->Over() && !boundary)) return Resume(now);
  Enter(Stage::kTrain);
}

}  // namespace tessera
