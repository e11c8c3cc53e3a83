// What happens between the steps of training (evaluations, checkpoints) and at the end of a job.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "ps/coordinator/coordinator_state.h"

namespace tessera {

void CoordinatorState::EnterBoundary(absl::Time now) {
  cut_evaluates_ = training_->boundary().evaluate;
  if (cut_evaluates_) SetPhase(Phase::kEvaluating, now);
  if (!training_->sync()) return OrderSave();
  Order order;
  order.kind = Order::Kind::kCommit;
  order.decision = training_->decision();
  GiveOrder(Stage::kCommit, std::move(order));
}

void CoordinatorState::OrderSave() {
  Order order;
  order.kind = Order::Kind::kSave;
  order.step = training_->step();
  order.incarnation = incarnation_;
  if (training_->sync()) order.server_step = order.step;
  GiveOrder(Stage::kSave, std::move(order));
}

void CoordinatorState::OrderPublish(absl::Time now) {
  // The evaluation counts once its checkpoint is there: should this process end before, it is made again.
  cut_score_.reset();
  TrainingRun after = *training_;
  if (cut_evaluates_) {
    cut_score_ = evaluation_.has_value() ? evaluation_->Finish() : Score();
    evaluation_.reset();
    after.AddEvaluation(*cut_score_, CheckpointName(cut_folder_));
  }
  Order order;
  order.kind = Order::Kind::kPublish;
  order.folder = cut_folder_;
  order.manifest = cut_manifest_;
  order.manifest.MergeFrom(MakeManifest(after, now));
  order.keep = std::max(1u, plan_->job().checkpoint().keep());
  cut_manifest_ = order.manifest;
  GiveOrder(Stage::kPublish, std::move(order));
}

Checkpoint CoordinatorState::MakeManifest(const TrainingRun& run, absl::Time now) const {
  Checkpoint manifest;
  manifest.set_job(start_.job.name());
  manifest.set_incarnation(incarnation_);
  manifest.set_step(run.step());
  *manifest.mutable_plan() = *plan_;
  *manifest.mutable_state() = run.Snapshot();
  manifest.set_time(absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", now, absl::UTCTimeZone()));
  return manifest;
}

void CoordinatorState::LeaveBoundary(const OrderResult& published, absl::Time now) {
  saved_ = CheckpointStore::Entry{published.folder, std::move(cut_manifest_)};
  cut_manifest_.Clear();
  checkpoint_ = saved_->folder;
  content_digest_ = saved_->manifest.content_digest();
  if (cut_score_.has_value()) training_->AddEvaluation(*cut_score_, CheckpointName(cut_folder_));
  whole_due_ = true;
  Resume(now);
}

void CoordinatorState::Resume(absl::Time now) {
  training_->SetSaved(now);
  if (training_->Over()) return OrderReadFinal();
  interrupt_saved_ = interrupt_.has_value();
  if (interrupt_saved_) return EndInterrupted(now);
  training_->Resume(now);
  SetPhase(Phase::kTraining, now);
  Enter(Stage::kTrain);
}

void CoordinatorState::OrderReadFinal() {
  const TrainingState& state = training_->state();
  final_.folder = saved_->folder;
  if (plan_->job().evaluation().restore_best() && !state.best_checkpoint().empty()) {
    final_.folder = absl::StrCat(start_.checkpoint_directory, "/", state.best_checkpoint());
  }
  Order order;
  order.kind = Order::Kind::kRead;
  order.folder = final_.folder;
  GiveOrder(Stage::kReadFinal, std::move(order));
}

// The state that held-out rows chose is scored on the evaluation files once more, by servers that hold it.
void CoordinatorState::ScoreFinal(absl::Time now) {
  if (!training_->holds_out() || plan_->evaluate_size() == 0) {
    const tessera::Report& report = training_->state().report();
    const int last = report.evaluations_size() - 1;
    return OrderMarkFinal(report.evaluations(plan_->job().evaluation().restore_best() ? static_cast<int>(report.best()) : last).score(), now);
  }
  Decision decision = final_.manifest.state().decision();
  if (stage_ == Stage::kReadFinal && final_.folder != saved_->folder) {
    const std::optional<uint64_t> step = decision.assignment().empty() ? std::nullopt : std::optional<uint64_t>(decision.step());
    return OrderOpen(Stage::kOpenFinal, final_.folder, step);
  }
  decision.set_incarnation(incarnation_);
  StartEvaluation(Stage::kScoreFinal, /*holdout=*/false, decision, now);
}

void CoordinatorState::OrderMarkFinal(const Score& score, absl::Time now) {
  evaluation_.reset();
  final_score_ = score;
  checkpoint_ = final_.folder;
  content_digest_ = final_.manifest.content_digest();
  TrainingState* state = final_.manifest.mutable_state();
  *state->mutable_report() = MakeReport(now);
  state->mutable_report()->set_state("finished");
  state->set_best_checkpoint(training_->state().best_checkpoint());
  state->set_finished(true);
  Order order;
  order.kind = Order::Kind::kMark;
  order.folder = final_.folder;
  order.manifest = final_.manifest;
  GiveOrder(Stage::kMarkFinal, std::move(order));
}

}  // namespace tessera
