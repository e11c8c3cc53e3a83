// A worker as the protocol has it, without data and model: what it pushes is a function of the rows and of the values it read.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/limits.h"
#include "common/packed.h"
#include "common/partition.h"
#include "common/score.h"
#include "tests/unit/simulation/simulated_caller.h"
#include "tests/unit/simulation/simulated_data.h"
#include "worker/train/failed_work.h"

namespace tessera {

class SimulatedWorker : private SimulatedCaller {
 public:
  SimulatedWorker(World* world, SimulatedCoordinator* coordinator, std::vector<std::unique_ptr<SimulatedServer>>* servers, const SimulatedData* data,
                  uint64_t nonce)
      : SimulatedCaller(world, coordinator, servers), data_(data), nonce_(nonce), name_(absl::StrCat("process ", nonce)) {}

  void Start() { Join(); }
  void Kill() {
    if (over()) return;
    world_->Trace(absl::StrCat(name_, " is killed"));
    Die();
  }
  // Once only one of the servers has its next push; at once in sync.
  void KillInPush() {
    dies_in_push_ = true;
    if (data_->plan.job().training().mode() == sync) Kill();
  }
  // SIGTERM: between two batches it says so and goes.
  void Leave() { leaving_ = true; }
  void Stall(absl::Duration time) {
    StandStill(time);
    world_->Trace(absl::StrCat(name_, " stands still until ", absl::ToDoubleSeconds(stalled_until() - absl::UnixEpoch())));
  }
  bool over() const { return !alive() || over_; }

 private:
  // --- The round: joins, asks, does, reports.
  void Join() {
    JoinRequest request;
    request.set_nonce(nonce_);
    request.set_name(name_);
    ToCoordinator<JoinRequest, JoinReply>(&SimulatedCoordinator::Join, request, absl::Seconds(10), [this](const Status& status, const JoinReply& reply) {
      if (!status.ok()) return world_->Violate(absl::StrCat(name_, " cannot join: ", status.message()));
      joined_ = reply;
      shares_.clear();
      pushed_.clear();
      unreported_.reset();
      torn_ = false;
      failed_work_.Forget();
      world_->Trace(absl::StrCat(name_, " is worker ", reply.worker(), ", generation ", reply.generation()));
      Beat(++life_);
      Ask(Nothing());
    });
  }
  void Beat(uint64_t life) {
    if (over() || life != life_) return;
    HeartbeatRequest request;
    request.set_worker(joined_.worker());
    request.set_generation(joined_.generation());
    SendHeartbeat(request);
    After(absl::Milliseconds(kHeartbeatMs), [this, life] { Beat(life); });
  }
  DoneRequest Nothing() const {
    DoneRequest report;
    report.mutable_nothing();
    return report;
  }
  void Ask(DoneRequest report) {
    report.set_worker(joined_.worker());
    report.set_generation(joined_.generation());
    report.set_clock(clock_);
    report.set_incarnation(incarnation_);
    if (leaving_ && !report.has_leaving()) {
      report.mutable_leaving();
      if (unreported_.has_value() && !torn_) *report.mutable_leaving()->mutable_task() = *unreported_;
    }
    const bool last = report.has_leaving();
    if (!report.has_nothing() && !report.has_failure()) failed_work_.Forget();
    ToCoordinator<DoneRequest, Instruction>(&SimulatedCoordinator::Done, report, absl::Milliseconds(kPollMs) + absl::Seconds(10),
                                            [=, this](const Status& status, const Instruction& next) {
                                              if (!status.ok()) return world_->Violate(absl::StrCat(name_, ": ", status.message()));
                                              if (last) return End("has left");
                                              unreported_.reset();
                                              Follow(next);
                                            });
  }
  void End(const std::string& how) {
    world_->Trace(absl::StrCat(name_, " ", how));
    over_ = true;
  }
  void Follow(const Instruction& next) {
    switch (next.next_case()) {
      case Instruction::kStop: return End(absl::StrCat("is told to stop: ", next.stop().message()));
      case Instruction::kFenced: return Join();
      case Instruction::kSurvey: {
        DoneRequest report;
        *report.mutable_survey()->mutable_plan() = data_->plan;
        return Ask(report);
      }
      case Instruction::kTask: return Begin(next.task());
      case Instruction::kEvaluation: return Evaluate(next.evaluation());
      case Instruction::kStep:
        decision_ = next.step().decision();
        EnterIncarnation(decision_.incarnation());
        shares_.assign(next.step().shares().begin(), next.step().shares().end());
        break;
      default: break;
    }
    if (shares_.empty()) return Ask(Nothing());
    ComputeShare();
  }
  void Fail(const Status& status) {
    world_->Trace(absl::StrCat(name_, " fails: ", status.message()));
    const FailedWork::Verdict verdict = failed_work_.Judge(status, incarnation_, decision_.step());
    shares_.clear();
    DoneRequest report = Nothing();
    if (verdict != FailedWork::Verdict::kAskAgain) {
      report.mutable_failure()->set_code(static_cast<int>(status.code()));
      report.mutable_failure()->set_message(std::string(status.message()));
      report.mutable_failure()->set_incarnation(incarnation_);
    }
    Ask(report);
  }

  // --- What it computes.
  Peer PeerOf(uint32_t shard) const { return MakePeer(joined_, incarnation_, shard, static_cast<uint32_t>(servers_->size())); }
  std::vector<PullRequest> Pulls(const std::vector<uint64_t>& ids, uint64_t step, const Decision* decision, bool evaluation) const {
    std::vector<PullRequest> requests = SplitIds(ids, static_cast<uint32_t>(servers_->size()));
    for (uint32_t shard = 0; shard < requests.size(); ++shard) {
      *requests[shard].mutable_peer() = PeerOf(shard);
      requests[shard].set_step(step);
      if (decision != nullptr) *requests[shard].mutable_decision() = *decision;
      requests[shard].set_evaluation(evaluation);
    }
    return requests;
  }

  void EnterIncarnation(uint64_t incarnation) {
    if (incarnation_ != incarnation) pushed_.clear();
    incarnation_ = incarnation;
  }
  void ComputeShare() {
    const Assignment share = shares_.front();
    shares_.pop_front();
    const uint64_t step = decision_.step() + 1;
    const uint64_t all = data_->share_rows[share.share()];
    const uint64_t rows = std::min(all - share.position().row(), share.rows_max());
    std::vector<uint64_t> ids;
    // Rows share ids with those of other shares, so that the order of sums matters.
    for (uint64_t row = 0; row < rows; ++row) ids.push_back(RowId(0, (share.position().row() + row + share.share() * 3) % 16));
    const std::vector<PullRequest> pulls = Pulls(ids, step, &decision_, false);
    ToAll<PullRequest, PullReply>(&Server::Pull, pulls, [=, this, decision = decision_](const Status& status, const std::vector<PullReply>& values) {
      if (!status.ok()) return Fail(status);
      std::vector<Gradients> gradients = Compute(pulls, values, rows, false);
      std::vector<StageRequest> stages(gradients.size());
      for (uint32_t shard = 0; shard < stages.size(); ++shard) {
        *stages[shard].mutable_peer() = PeerOf(shard);
        stages[shard].set_step(step);
        *stages[shard].mutable_decision() = decision;
        stages[shard].set_share(share.share());
        stages[shard].set_parts(1);
        stages[shard].mutable_gradients()->Swap(&gradients[shard]);
      }
      ToAll<StageRequest, StageReply>(&Server::Stage, stages, [=, this](const Status& staged, const std::vector<StageReply>&) {
        if (!staged.ok()) return Fail(staged);
        DoneRequest report;
        ShareDone* done = report.mutable_share();
        done->set_step(step);
        done->set_share(share.share());
        done->set_rows(rows);
        done->set_loss(0.5 * static_cast<double>(rows));
        *done->mutable_position() = share.position();
        done->mutable_position()->set_row(share.position().row() + rows);
        done->mutable_position()->set_end(done->position().row() == all);
        world_->Trace(absl::StrCat(name_, " staged step ", step, ", share ", share.share()));
        Ask(report);
      });
    });
  }

  void Evaluate(const EvaluationTask& task) {
    shares_.clear();
    EnterIncarnation(task.incarnation());
    const bool sync = task.has_decision();
    ToAll<PullRequest, PullReply>(&Server::Pull, Pulls({RowId(0, 1)}, sync ? task.decision().step() + 1 : 0, sync ? &task.decision() : nullptr, true),
                                  [=, this](const Status& status, const std::vector<PullReply>&) {
                                    if (!status.ok()) return Fail(status);
                                    DoneRequest report;
                                    report.mutable_evaluation()->set_evaluation(task.evaluation());
                                    report.mutable_evaluation()->set_part(task.part());
                                    ScoreCounter counter;
                                    counter.Add(task.part(), {1.0f, -1.0f}, {1.0f, 0.0f});
                                    counter.Encode(report.mutable_evaluation()->mutable_counts());
                                    Ask(report);
                                  });
  }

  void Begin(const Task& task) {
    EnterIncarnation(task.incarnation());
    clock_ = std::max(clock_, task.clock());
    TaskDone done;
    done.set_task(task.task());
    done.set_end_row(task.first_row());
    world_->Trace(absl::StrCat(name_, " begins task ", task.task(), " at row ", task.first_row()));
    NextBatch(task, done);
  }
  void NextBatch(const Task& task, const TaskDone& done) {
    unreported_ = done;
    if (leaving_) return Ask(Nothing());
    DoneRequest report;
    *report.mutable_task() = done;
    const uint64_t rows = (task.last_block() - task.first_block()) * data_->rows_per_block;
    if (done.end_row() >= rows) return Ask(report);
    if (data_->plan.job().training().mode() != bounded) return PushBatch(task, done, std::min(rows - done.end_row(), data_->batch_rows));
    AdvanceRequest request;
    request.set_worker(joined_.worker());
    request.set_generation(joined_.generation());
    request.set_clock(clock_);
    ToCoordinator<AdvanceRequest, AdvanceReply>(&SimulatedCoordinator::Advance, request, absl::Milliseconds(kPollMs) + absl::Seconds(10),
                                                [=, this](const Status& status, const AdvanceReply& reply) {
                                                  if (!status.ok()) return Fail(status);
                                                  if (reply.over()) return Fail(absl::AbortedError("step over: the task is not this worker's any more"));
                                                  if (!reply.granted()) return NextBatch(task, done);
                                                  PushBatch(task, done, std::min(rows - done.end_row(), data_->batch_rows));
                                                });
  }
  void PushBatch(const Task& task, const TaskDone& before, uint64_t rows) {
    std::vector<uint64_t> ids;
    const uint64_t first = task.first_block() * data_->rows_per_block + before.end_row();
    for (uint64_t row = first; row < first + rows; ++row) ids.push_back(RowId(1, row));
    const std::vector<PullRequest> pulls = Pulls(ids, 0, nullptr, false);
    ToAll<PullRequest, PullReply>(&Server::Pull, pulls, [=, this](const Status& status, const std::vector<PullReply>& values) {
      if (!status.ok()) return Fail(status);
      TaskDone done = before;
      done.set_end_row(before.end_row() + rows);
      done.set_rows(before.rows() + rows);
      done.set_pushes(before.pushes() + 1);
      done.set_loss(0.5 * static_cast<double>(done.rows()));
      std::vector<Gradients> gradients = Compute(pulls, values, rows, true);
      std::vector<PushRequest> pushes(gradients.size());
      for (uint32_t shard = 0; shard < pushes.size(); ++shard) {
        *pushes[shard].mutable_peer() = PeerOf(shard);
        pushes[shard].set_sequence(++pushed_[shard]);
        pushes[shard].set_optimizer_step(task.optimizer_step() + before.pushes() * task.optimizer_step_stride());
        pushes[shard].set_sparse_learning_rate(1);
        pushes[shard].set_dense_learning_rate(1);
        pushes[shard].set_divisor(1);
        pushes[shard].set_last_part(true);
        pushes[shard].set_read_updates(values[shard].updates());
        *pushes[shard].mutable_task_done() = done;
        pushes[shard].mutable_gradients()->Swap(&gradients[shard]);
      }
      unreported_.reset();
      torn_ = true;  // some servers may have it
      if (dies_in_push_) {
        const uint32_t shard = static_cast<uint32_t>(world_->Below(pushes.size()));
        ToServer<PushRequest, PushReply>(shard, &Server::Push, pushes[shard], [](const Status&, const PushReply&) {});
        return Kill();
      }
      ToAll<PushRequest, PushReply>(&Server::Push, pushes, [=, this](const Status& pushed, const std::vector<PushReply>&) {
        if (!pushed.ok()) return Fail(pushed);
        torn_ = false;
        ++clock_;
        NextBatch(task, done);
      });
    });
  }

  const SimulatedData* const data_;
  const uint64_t nonce_;
  const std::string name_;
  bool over_ = false;
  bool leaving_ = false;
  bool dies_in_push_ = false;
  uint64_t life_ = 0;

  JoinReply joined_;
  uint64_t incarnation_ = 0;
  Decision decision_;
  std::deque<Assignment> shares_;
  std::map<uint32_t, uint64_t> pushed_;  // sequence by shard
  std::optional<TaskDone> unreported_;
  bool torn_ = false;
  uint64_t clock_ = 0;
  FailedWork failed_work_;
};

}  // namespace tessera
