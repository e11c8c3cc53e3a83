// The owner thread while a job trains: what happens between the steps (evaluations, checkpoints) and at the end.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "ps/coordinator/coordinator_impl.h"

namespace tessera {
namespace {

// An evaluation reads all its data once; the bound is there so that nothing waits for ever.
constexpr absl::Duration kEvaluationMax = absl::Hours(24);

bool HasHoldout(const Plan& plan) { return plan.job().data().evaluate().holdout() > 0; }
bool HasEvaluationFiles(const Plan& plan) { return plan.evaluate_size() > 0; }

}  // namespace

absl::Status Coordinator::Impl::Train() {
  {
    MutexLock lock(&mutex_);
    TESSERA_RETURN_IF_ERROR(CheckNotOver());
    if (interrupt_.has_value()) return Interrupted();
    training_->Start(incarnation_, members_.Live(), clock_->Now());
    SetPhase(training_->Over() ? Phase::kEvaluating : Phase::kTraining);
    if (training_->Over()) return absl::OkStatus();
    workers_changed_.SignalAll();
  }
  while (true) {
    {
      MutexLock lock(&mutex_);
      // No deadline: Await ends the job when somebody makes no progress.
      TESSERA_RETURN_IF_ERROR(Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return training_->AtBoundary(); },
                                    absl::InfiniteFuture(), [] { return std::string(); }));
    }
    TESSERA_RETURN_IF_ERROR(PassBoundary());
    MutexLock lock(&mutex_);
    TESSERA_RETURN_IF_ERROR(CheckNotOver());
    if (training_->Over()) return absl::OkStatus();
    if (interrupt_.has_value()) return Interrupted();
    training_->Resume(clock_->Now());
    SetPhase(Phase::kTraining);
    workers_changed_.SignalAll();
  }
}

Coordinator::Impl::Cut Coordinator::Impl::EnterBoundary() {
  MutexLock lock(&mutex_);
  Cut cut;
  cut.evaluate = training_->boundary().evaluate;
  if (cut.evaluate) SetPhase(Phase::kEvaluating);
  cut.step = training_->step();
  cut.incarnation = incarnation_;
  if (training_->sync()) {
    cut.decision = training_->decision();
    cut.server_step = cut.step;
  }
  cut.patience = Patience();
  cut.holdout = HasHoldout(*plan_);
  cut.keep = std::max(1u, plan_->job().checkpoint().keep());
  return cut;
}

absl::Status Coordinator::Impl::PassBoundary() {
  const Cut cut = EnterBoundary();
  if (cut.server_step.has_value()) {
    TESSERA_RETURN_IF_ERROR(servers_.Commit(cut.decision, cut.patience, [this] { return IsCancelled(); }));
  }
  TESSERA_ASSIGN_OR_RETURN(const std::string folder, store_.Begin(cut.step, cut.incarnation));
  Checkpoint manifest;
  TESSERA_RETURN_IF_ERROR(servers_.Save(folder, cut.server_step, cut.patience, [this] { return IsCancelled(); }, &manifest));
  Score score;
  if (cut.evaluate) {
    TESSERA_ASSIGN_OR_RETURN(score, Evaluate(cut.holdout, cut.decision));
  }
  {
    MutexLock lock(&mutex_);
    TESSERA_RETURN_IF_ERROR(CheckNotOver());
    if (cut.evaluate) training_->AddEvaluation(score, CheckpointName(folder));
    manifest.MergeFrom(MakeManifest());
  }
  TESSERA_ASSIGN_OR_RETURN(const std::string saved, store_.Commit(folder, manifest));
  saved_ = CheckpointStore::Entry{saved, manifest};
  // Old checkpoints that stay cost room on the disk, not the job.
  const absl::Status pruned = store_.Prune(cut.keep, {manifest.state().best_checkpoint()});
  if (!pruned.ok()) LogWarning(absl::StrCat("old checkpoints were not removed: ", pruned.message()));
  MutexLock lock(&mutex_);
  checkpoint_ = saved;
  content_digest_ = manifest.content_digest();
  training_->SetSaved(clock_->Now());
  return absl::OkStatus();
}

Checkpoint Coordinator::Impl::MakeManifest() {
  Checkpoint manifest;
  manifest.set_job(options_.job.name());
  manifest.set_incarnation(incarnation_);
  manifest.set_step(training_->step());
  *manifest.mutable_plan() = *plan_;
  *manifest.mutable_state() = training_->Snapshot();
  manifest.set_time(absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", clock_->Now(), absl::UTCTimeZone()));
  return manifest;
}

absl::StatusOr<Score> Coordinator::Impl::Evaluate(bool holdout, const Decision& decision) {
  MutexLock lock(&mutex_);
  if (!holdout && !HasEvaluationFiles(*plan_)) return Score();
  evaluation_.emplace(++evaluations_asked_, holdout, members_.Live());
  evaluation_decision_ = decision;
  workers_changed_.SignalAll();
  TESSERA_RETURN_IF_ERROR(Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return evaluation_->Complete(); },
                                clock_->Now() + kEvaluationMax, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                                  return absl::StrCat("evaluation: no answer within ", absl::FormatDuration(kEvaluationMax), " from ",
                                                      DescribeAll(evaluation_->Awaited()));
                                }));
  const Score score = evaluation_->Finish();
  evaluation_.reset();
  return score;
}

absl::Status Coordinator::Impl::FinishJob() {
  std::string final_folder = saved_->folder;
  {
    MutexLock lock(&mutex_);
    const TrainingState& state = training_->state();
    if (plan_->job().evaluation().restore_best() && !state.best_checkpoint().empty()) {
      final_folder = absl::StrCat(store_.directory(), "/", state.best_checkpoint());
    }
  }
  TESSERA_ASSIGN_OR_RETURN(CheckpointStore::Entry final_state, CheckpointStore::Read(final_folder));
  TESSERA_ASSIGN_OR_RETURN(const Score score, ScoreFinalState(final_state));
  TrainingState* state = final_state.manifest.mutable_state();
  {
    MutexLock lock(&mutex_);
    TESSERA_RETURN_IF_ERROR(CheckNotOver());
    final_score_ = score;
    checkpoint_ = final_folder;
    content_digest_ = final_state.manifest.content_digest();
    *state->mutable_report() = MakeReport();
    state->mutable_report()->set_state("finished");
    state->set_best_checkpoint(training_->state().best_checkpoint());
    state->set_finished(true);
  }
  TESSERA_RETURN_IF_ERROR(store_.Update(final_folder, final_state.manifest));
  MutexLock lock(&mutex_);
  EndJob(Phase::kFinished, absl::StatusCode::kOk, "job finished");
  return absl::OkStatus();
}

absl::StatusOr<Score> Coordinator::Impl::ScoreFinalState(const CheckpointStore::Entry& final_state) {
  Decision decision = final_state.manifest.state().decision();
  bool score_files;
  {
    MutexLock lock(&mutex_);
    score_files = HasHoldout(*plan_) && HasEvaluationFiles(*plan_);
    const Report& report = training_->state().report();
    if (!score_files) {
      const int last = report.evaluations_size() - 1;
      return report.evaluations(plan_->job().evaluation().restore_best() ? static_cast<int>(report.best()) : last).score();
    }
  }
  if (final_state.folder != saved_->folder) {
    const std::optional<uint64_t> step = decision.assignment().empty() ? std::nullopt : std::optional<uint64_t>(decision.step());
    TESSERA_RETURN_IF_ERROR(OpenServers(final_state.folder, step));
  }
  {
    MutexLock lock(&mutex_);
    decision.set_incarnation(incarnation_);
  }
  return Evaluate(/*holdout=*/false, decision);
}

}  // namespace tessera
