// The owner thread: how a job gets from nothing to training.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/job/job_file.h"
#include "common/status_macros.h"
#include "ps/coordinator/coordinator_impl.h"
#include "ps/coordinator/incarnation_file.h"

namespace tessera {
namespace {

// Until the plan says otherwise.
constexpr absl::Duration kPatienceDefault = absl::Minutes(5);
// How often leases are looked at.
constexpr absl::Duration kTickPeriod = absl::Milliseconds(100);
// Reading all data once may take long; the bound is there so that nothing waits for ever.
constexpr absl::Duration kSurveyMax = absl::Hours(24);

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

Coordinator::Impl::~Impl() {
  {
    MutexLock lock(&mutex_);
    closing_ = true;
    owner_changed_.SignalAll();
    workers_changed_.SignalAll();
  }
  if (owner_.joinable()) owner_.join();
}

absl::Status Coordinator::Impl::Init() {
  if (options_.servers.empty()) return absl::InvalidArgumentError("the coordinator needs at least one parameter server");
  absl::StatusOr<CheckpointStore::Entry> newest = store_.Newest();
  if (!newest.ok() && !absl::IsNotFound(newest.status())) return newest.status();
  if (newest.ok()) {
    if (newest->manifest.job() != options_.job.name()) {
      return absl::FailedPreconditionError(absl::StrCat(newest->folder, ": a checkpoint of job \"", newest->manifest.job(), "\", not of \"",
                                                        options_.job.name(), "\"; give this job a checkpoint.directory of its own"));
    }
    saved_ = *std::move(newest);
  }
  TESSERA_ASSIGN_OR_RETURN(uint64_t incarnation, ReadIncarnation(options_.state_directory));
  for (const CheckpointStore::Entry& entry : store_.List()) incarnation = std::max(incarnation, entry.manifest.incarnation());
  {
    MutexLock lock(&mutex_);
    incarnation_ = incarnation;
    resumable_ = saved_.has_value();
    phase_begin_ = clock_->Now();
  }
  owner_ = std::thread([this] { Run(); });
  return absl::OkStatus();
}

void Coordinator::Impl::Run() {
  const absl::Status status = RunPhases();
  MutexLock lock(&mutex_);
  if (status.ok() || closing_) return;
  if (interrupt_.has_value() && absl::IsCancelled(status)) {
    EndJob(Phase::kInterrupted, absl::StatusCode::kCancelled, std::string(Interrupted().message()));
  } else {
    EndJob(Phase::kFailed, status.code(), std::string(status.message()));
  }
}

absl::Status Coordinator::Impl::RunPhases() {
  TESSERA_RETURN_IF_ERROR(WaitForPlan());
  TESSERA_ASSIGN_OR_RETURN(const bool finished, CompareWithSaved());
  if (finished) return absl::OkStatus();
  std::optional<uint64_t> step = 0;
  if (saved_.has_value()) {
    const TrainingState& state = saved_->manifest.state();
    step = state.has_decision() ? std::optional<uint64_t>(state.decision().step()) : std::nullopt;
  }
  TESSERA_RETURN_IF_ERROR(OpenServers(saved_.has_value() ? saved_->folder : "", step));
  TESSERA_RETURN_IF_ERROR(WaitForWorkers());
  TESSERA_RETURN_IF_ERROR(Train());
  return FinishJob();
}

absl::Status Coordinator::Impl::WaitForPlan() {
  MutexLock lock(&mutex_);
  const absl::Duration patience = Patience();
  TESSERA_RETURN_IF_ERROR(Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return surveyor_.has_value(); }, phase_begin_ + patience,
                                [&] {
                                  return absl::StrCat("no worker joined within ", absl::FormatDuration(patience),
                                                      " (training.patience); start one with ", WorkerCommand());
                                }));
  SetPhase(Phase::kSurveying);
  workers_changed_.SignalAll();
  return Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return plan_ != nullptr; }, phase_begin_ + kSurveyMax,
               [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                 return absl::StrCat("survey of the data: no answer from ", members_.Describe(*surveyor_), " within ",
                                     absl::FormatDuration(kSurveyMax));
               });
}

absl::StatusOr<bool> Coordinator::Impl::CompareWithSaved() {
  MutexLock lock(&mutex_);
  SetPhase(Phase::kOpening);
  if (saved_.has_value()) {
    const std::vector<std::string> differences = PlanDifferences(*plan_, saved_->manifest.plan());
    if (!differences.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the job or its data changed since ", saved_->folder, " was saved:\n  ", absl::StrJoin(differences, "\n  "),
          "\nundo the change, or start over with --fresh (the old state is moved aside)"));
    }
    plan_ = std::make_shared<const Plan>(ResumedPlan(*plan_, saved_->manifest.plan()));
    checkpoint_ = saved_->folder;
    content_digest_ = saved_->manifest.content_digest();
    if (saved_->manifest.state().finished()) {
      was_finished_ = true;
      saved_report_ = saved_->manifest.state().report();
      saved_report_.set_rows(0);
      saved_report_.set_steps(0);
      EndJob(Phase::kFinished, absl::StatusCode::kOk, "job finished");
      return true;
    }
  }
  TESSERA_ASSIGN_OR_RETURN(training_, TrainingRun::Create(plan_));
  if (!saved_.has_value()) return false;
  training_->Restore(saved_->manifest.state());
  resumed_ = true;
  return false;
}

absl::Status Coordinator::Impl::OpenServers(const std::string& restore_from, std::optional<uint64_t> step) {
  std::shared_ptr<const Plan> plan;
  std::string sightings;
  uint64_t incarnation;
  absl::Duration patience;
  {
    MutexLock lock(&mutex_);
    plan = plan_;
    sightings.swap(sightings_);
    incarnation = incarnation_ + 1;
    patience = Patience();
  }
  TESSERA_RETURN_IF_ERROR(WriteIncarnation(options_.state_directory, incarnation));
  TESSERA_RETURN_IF_ERROR(servers_.Open(*plan, incarnation, restore_from, sightings, step, patience, [this] { return IsCancelled(); }));
  MutexLock lock(&mutex_);
  incarnation_ = incarnation;
  return absl::OkStatus();
}

absl::Status Coordinator::Impl::WaitForWorkers() {
  MutexLock lock(&mutex_);
  TESSERA_RETURN_IF_ERROR(CheckNotOver());
  SetPhase(Phase::kWaiting);
  const size_t wanted = std::max<uint32_t>(1, plan_->job().training().workers());
  const absl::Duration patience = Patience();
  return Await([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return members_.Live().size() >= wanted; }, phase_begin_ + patience,
               [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                 const std::vector<Member> live = members_.Live();
                 return absl::StrCat(live.size(), " of ", wanted, " workers (training.workers) joined within ",
                                     absl::FormatDuration(patience), " (training.patience): ", DescribeAll(live),
                                     "; start the others with ", WorkerCommand(), ", or lower training.workers");
               });
}

absl::Status Coordinator::Impl::Await(absl::FunctionRef<bool()> ready, absl::Time deadline, absl::FunctionRef<std::string()> late) {
  while (true) {
    Tick();
    TESSERA_RETURN_IF_ERROR(CheckNotOver());
    if (closing_) return absl::CancelledError("the coordinator is closed");
    // Later on an interrupt waits for a boundary, where the servers can be saved.
    if (interrupt_.has_value() && phase_ < Phase::kTraining) return Interrupted();
    if (ready()) return absl::OkStatus();
    if (clock_->Now() > deadline) return absl::DeadlineExceededError(late());
    owner_changed_.WaitWithTimeout(&mutex_, kTickPeriod);
  }
}

bool Coordinator::Impl::IsCancelled() {
  MutexLock lock(&mutex_);
  return over() || closing_ || (interrupt_.has_value() && phase_ < Phase::kTraining);
}

absl::Duration Coordinator::Impl::Patience() const {
  const Training& training = plan_ != nullptr ? plan_->job().training() : options_.job.training();
  return training.has_patience() ? absl::Milliseconds(training.patience().ms()) : kPatienceDefault;
}

absl::Status Coordinator::Impl::Interrupted() const {
  const uint64_t step = training_.has_value() ? training_->step() : 0;
  const std::string where = step == 0 ? "before the first step" : absl::StrCat("at step ", step);
  return absl::CancelledError(absl::StrCat(*interrupt_, " ", where, "; the same command resumes"));
}

}  // namespace tessera
