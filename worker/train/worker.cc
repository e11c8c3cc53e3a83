#include "worker/train/worker.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/fault_point.h"
#include "common/job/utf8.h"
#include "common/retry.h"
#include "common/status_macros.h"
#include "worker/plan/count_sightings.h"
#include "worker/plan/plan.h"
#include "worker/train/failed_work.h"
#include "worker/train/heartbeat.h"
#include "worker/train/pace.h"
#include "worker/train/workplace.h"

namespace tessera {
namespace {

// Who leaves tells the coordinator, but does not wait for it: the lease ends anyway.
constexpr absl::Duration kLeavePatience = absl::Seconds(3);

class Worker {
 public:
  Worker(CoordinatorApi* coordinator, const WorkerOptions& options, Clock* clock)
      : coordinator_(coordinator), options_(options), clock_(clock), pace_(coordinator, clock) {}

  absl::Status Run() {
    const absl::Status status = Work();
    if (Stopping() && heartbeat_ != nullptr && !told_stop_) Leave();
    return status;
  }

 private:
  absl::Status Work() {
    TESSERA_RETURN_IF_ERROR(Join());
    DoneRequest report = Report();
    report.mutable_nothing();
    while (true) {
      Instruction instruction;
      TESSERA_RETURN_IF_ERROR(Ask(report, &instruction));
      unreported_.reset();
      if (instruction.has_stop()) return Stopped(instruction.stop());
      absl::Status status = instruction.has_fenced() ? JoinAgain(instruction.fenced()) : absl::OkStatus();
      report = Report();
      report.mutable_nothing();
      if (instruction.has_fenced() && status.ok()) continue;
      if (status.ok()) status = Follow(instruction, &report);
      if (status.ok() && !report.has_nothing()) failed_work_.Forget();
      report.set_incarnation(incarnation_);
      if (!status.ok()) TESSERA_RETURN_IF_ERROR(TakeFailure(status, &report));
    }
  }

  absl::Status Join() {
    JoinRequest request;
    request.set_nonce(options_.nonce);
    request.set_name(options_.name);
    request.set_identity(options_.identity);
    const Retry retry(clock_, options_.patience, options_.stopping);
    TESSERA_RETURN_IF_ERROR(retry.Run([&] { return coordinator_->Join(request, &joined_); }));
    Say(absl::StrCat("joined job ", joined_.job(), " as worker ", joined_.worker()));
    pace_.Join(joined_, options_.stopping);
    heartbeat_.reset();
    heartbeat_ = std::make_unique<Heartbeat>(coordinator_, joined_.worker(), joined_.generation());
    return absl::OkStatus();
  }

  // This process was taken for dead, or the coordinator has forgotten it: it goes on as a new life of the worker. What it was given before is
  // done by others.
  absl::Status JoinAgain(const Fenced& fenced) {
    Say(absl::StrCat("joining again: ", fenced.message()));
    shares_.clear();
    unreported_.reset();
    torn_ = false;
    workplace_.reset();
    failed_work_.Forget();
    return Join();
  }

  // An error of the work it was at.
  absl::Status TakeFailure(const absl::Status& status, DoneRequest* report) {
    const FailedWork::Verdict verdict = failed_work_.Judge(status, incarnation_, decision_.step());
    if (verdict == FailedWork::Verdict::kEnd) return Fail(status);
    Say(absl::StrCat("asking the coordinator again: ", status.message()));
    shares_.clear();
    *report = Report();
    if (verdict == FailedWork::Verdict::kLost) {
      *report->mutable_failure() = FailureOf(status);
    } else {
      report->mutable_nothing();
    }
    return absl::OkStatus();
  }

  // Reports what is done and learns what is next.
  absl::Status Ask(const DoneRequest& report, Instruction* instruction) {
    if (Stopping()) return absl::CancelledError("stopped by a signal");
    const Retry retry(clock_, absl::Milliseconds(joined_.patience_ms()), options_.stopping);
    return retry.Run([&] { return coordinator_->Done(report, instruction); });
  }

  // Does one piece of what the instruction asks for, or of what an earlier one left to do, and fills the report.
  absl::Status Follow(const Instruction& instruction, DoneRequest* report) {
    switch (instruction.next_case()) {
      case Instruction::kSurvey: return Survey(instruction.survey(), report);
      case Instruction::kTask: return Compute(instruction.task(), report);
      case Instruction::kEvaluation: return Compute(instruction.evaluation(), report);
      case Instruction::kStep: TESSERA_RETURN_IF_ERROR(Begin(instruction.step())); break;
      default: break;
    }
    if (!shares_.empty()) return ComputeShare(report);
    report->mutable_nothing();
    return absl::OkStatus();
  }

  absl::Status Survey(const SurveyTask& task, DoneRequest* report) {
    Say("looking at the data");
    FaultPoint("worker.survey");
    const std::vector<Origin> origins(task.origins().begin(), task.origins().end());
    TESSERA_ASSIGN_OR_RETURN(const Plan plan, MakePlan(task.job(), origins));
    *report->mutable_survey()->mutable_plan() = plan;
    const Admission& admission = plan.job().admission();
    if (task.resumed() || admission.sightings() <= 1 || admission.count() != before) return absl::OkStatus();
    Say("counting how often each id stands in the data (admission.count: before)");
    if (pool_ == nullptr) MakePool(plan.job().training());
    TESSERA_ASSIGN_OR_RETURN(*report->mutable_survey()->mutable_sightings(), CountSightings(plan, pool_, options_.stopping));
    return absl::OkStatus();
  }

  absl::Status Begin(const StepTask& task) {
    TESSERA_RETURN_IF_ERROR(TakePlan(task));
    decision_ = task.decision();
    incarnation_ = decision_.incarnation();
    shares_.assign(task.shares().begin(), task.shares().end());
    workplace_->step().KeepOnly(task.shares());
    return absl::OkStatus();
  }
  absl::Status ComputeShare(DoneRequest* report) {
    const Assignment share = shares_.front();
    shares_.pop_front();
    ParameterClient* client = workplace_->ClientOf(decision_.incarnation());
    TESSERA_ASSIGN_OR_RETURN(*report->mutable_share(), workplace_->step().RunShare(decision_, share, client));
    FaultPoint("worker.share_done");
    return absl::OkStatus();
  }
  absl::Status Compute(const Task& task, DoneRequest* report) {
    TESSERA_RETURN_IF_ERROR(TakePlan(task));
    incarnation_ = task.incarnation();
    ParameterClient* client = workplace_->ClientOf(incarnation_);
    TrainingStep& step = workplace_->step();
    if (paced_) pace_.Begin(task.clock());
    const absl::Status status = step.RunTask(task, client, paced_ ? &pace_ : nullptr, report->mutable_task());
    report->set_clock(pace_.clock());
    // Between two batches all servers have the same of it; within a push only they know.
    if (step.pushing()) torn_ = true;
    if (!torn_) unreported_ = report->task();
    TESSERA_RETURN_IF_ERROR(status);
    FaultPoint("worker.task_done");
    return absl::OkStatus();
  }
  absl::Status Compute(const EvaluationTask& task, DoneRequest* report) {
    TESSERA_RETURN_IF_ERROR(TakePlan(task));
    shares_.clear();
    incarnation_ = task.incarnation();
    FaultPoint("worker.evaluation");
    TESSERA_ASSIGN_OR_RETURN(*report->mutable_evaluation(), workplace_->RunEvaluation(task));
    return absl::OkStatus();
  }

  // The first instruction after joining carries the plan.
  template <class AnyTask>
  absl::Status TakePlan(const AnyTask& task) {
    if (task.has_plan()) {
      if (pool_ == nullptr) MakePool(task.plan().job().training());
      if (servers_.empty()) {
        TESSERA_ASSIGN_OR_RETURN(servers_, options_.connect({joined_.servers().begin(), joined_.servers().end()}));
      }
      // The same plan again changes nothing: pushes keep counting.
      std::string plan = task.plan().SerializeAsString();
      if (workplace_ == nullptr || plan != plan_) {
        workplace_.reset();
        TESSERA_ASSIGN_OR_RETURN(workplace_, Workplace::Create(task.plan(), servers_, Peer(), pool_, clock_));
        plan_ = std::move(plan);
        paced_ = task.plan().job().training().mode() == bounded;
      }
    }
    if (workplace_ == nullptr) return absl::InternalError("the coordinator asked for work before it sent the plan");
    return absl::OkStatus();
  }

  void MakePool(const Training& training) {
    if (options_.pool != nullptr) {
      pool_ = options_.pool;
      return;
    }
    const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    int threads = std::max(1, cores / static_cast<int>(std::max(1u, training.workers())));
    if (training.has_threads()) threads = static_cast<int>(training.threads());
    if (options_.threads > 0) threads = options_.threads;
    own_pool_ = std::make_unique<ThreadPool>(threads);
    pool_ = own_pool_.get();
  }

  ParameterClient::Options Peer() const {
    ParameterClient::Options peer;
    peer.job = joined_.job();
    peer.map_version = joined_.map_version();
    peer.worker = joined_.worker();
    peer.generation = joined_.generation();
    peer.patience = absl::Milliseconds(joined_.patience_ms());
    peer.stopping = options_.stopping;
    return peer;
  }

  DoneRequest Report() const {
    DoneRequest report;
    report.set_worker(joined_.worker());
    report.set_generation(joined_.generation());
    report.set_clock(pace_.clock());
    report.set_incarnation(incarnation_);
    return report;
  }

  // Its work goes to others at once, not only when its lease ends.
  void Leave() {
    DoneRequest report = Report();
    Leaving* const leaving = report.mutable_leaving();
    if (unreported_.has_value()) *leaving->mutable_task() = *unreported_;
    Instruction instruction;
    const Retry retry(clock_, kLeavePatience, nullptr);
    const absl::Status told = retry.Run([&] { return coordinator_->Done(report, &instruction); });
    Say(told.ok() ? std::string("left the job") : absl::StrCat("left the job, and could not say so: ", told.message()));
  }

  absl::Status Stopped(const Stop& stop) {
    told_stop_ = true;
    if (stop.code() != 0) return absl::Status(static_cast<absl::StatusCode>(stop.code()), stop.message());
    Say(stop.message());
    return absl::OkStatus();
  }

  // Tells the coordinator why this worker cannot go on, so that nobody waits for it.
  absl::Status Fail(const absl::Status& status) {
    if (Stopping()) return status;
    DoneRequest report = Report();
    *report.mutable_failure() = FailureOf(status);
    Instruction instruction;
    (void)Ask(report, &instruction);
    return status;
  }

  Failure FailureOf(const absl::Status& status) const {
    Failure failure;
    failure.set_code(static_cast<int>(status.code()));
    failure.set_message(ToUtf8(std::string(status.message())));
    failure.set_incarnation(incarnation_);
    return failure;
  }

  bool Stopping() const { return options_.stopping != nullptr && options_.stopping->load(std::memory_order_relaxed); }
  void Say(const std::string& line) const {
    if (options_.say != nullptr) options_.say(line);
  }

  CoordinatorApi* const coordinator_;
  const WorkerOptions& options_;
  Clock* const clock_;
  JoinReply joined_;
  bool told_stop_ = false;
  std::unique_ptr<Heartbeat> heartbeat_;
  Pace pace_;
  bool paced_ = false;  // bounded
  std::vector<ParameterServerApi*> servers_;
  std::unique_ptr<ThreadPool> own_pool_;
  ThreadPool* pool_ = nullptr;
  std::string plan_;  // of workplace_, as bytes
  std::unique_ptr<Workplace> workplace_;
  uint64_t incarnation_ = 0;       // of the last work
  Decision decision_;              // sync: shares_ are of the step after it
  std::deque<Assignment> shares_;  // not computed yet
  std::optional<TaskDone> unreported_;  // how far the last task came
  bool torn_ = false;  // a push failed in this life: only the servers know who has it, whatever is given next
  FailedWork failed_work_;
};

}  // namespace

absl::Status RunWorker(CoordinatorApi* coordinator, const WorkerOptions& options, Clock* clock) {
  return Worker(coordinator, options, clock).Run();
}

}  // namespace tessera
