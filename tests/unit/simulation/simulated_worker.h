// A worker as the protocol has it, without data and model: what it pushes is a function of the rows and of the values it read.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/limits.h"
#include "common/packed.h"
#include "common/partition.h"
#include "common/retry.h"
#include "common/score.h"
#include "tests/unit/simulation/simulated_coordinator.h"

namespace tessera {

// What there is to train on.
struct SimulatedData {
  Plan plan;
  std::vector<uint64_t> share_rows;  // sync: of each share in an epoch
  uint64_t rows_per_block = 3;       // async, bounded
  uint64_t batch_rows = 2;           // of a push
};

// sync: row `row` of a share. async: row `row` of all.
inline uint64_t RowId(uint64_t share, uint64_t row) { return Mix64(share << 32 | row); }

class SimulatedWorker {
 public:
  SimulatedWorker(World* world, SimulatedCoordinator* coordinator, std::vector<std::unique_ptr<SimulatedServer>>* servers, const SimulatedData* data,
                  uint64_t nonce)
      : world_(world), coordinator_(coordinator), servers_(servers), data_(data), nonce_(nonce), name_(absl::StrCat("process ", nonce)) {}
  ~SimulatedWorker() { *alive_ = false; }

  void Start() { Join(); }
  void Kill() {
    if (over()) return;
    world_->Trace(absl::StrCat(name_, " is killed"));
    *alive_ = false;
  }
  // Once only one of the servers has its next push; at once in sync.
  void KillInPush() {
    dies_in_push_ = true;
    if (data_->plan.job().training().mode() == sync) Kill();
  }
  // SIGTERM: between two batches it says so and goes.
  void Leave() { leaving_ = true; }
  void Stall(absl::Duration time) {
    stalled_until_ = std::max(stalled_until_, world_->Now() + time);
    world_->Trace(absl::StrCat(name_, " stands still until ", absl::ToDoubleSeconds(stalled_until_ - absl::UnixEpoch())));
  }
  bool over() const { return !*alive_ || over_; }

 private:
  using Status = absl::Status;

  // --- Calls: answers come while it lives and runs.
  template <class Reply>
  std::function<void(const Status&, const Reply&)> WhileAlive(std::function<void(const Status&, const Reply&)> then) {
    return [this, alive = alive_, then](const Status& status, const Reply& reply) { Resume(alive, [=] { then(status, reply); }); };
  }
  void Resume(const std::shared_ptr<bool>& alive, std::function<void()> then) {
    if (!*alive) return;
    if (world_->Now() >= stalled_until_) return then();
    world_->At(stalled_until_ - world_->Now(), [this, alive, then] { Resume(alive, then); });
  }
  void After(absl::Duration wait, std::function<void()> then) {
    world_->At(wait, [this, alive = alive_, then] { Resume(alive, then); });
  }
  template <class Request, class Reply>
  void ToCoordinator(void (SimulatedCoordinator::*method)(const Request&, std::function<void(const Status&, const Reply&)>), Request request,
                     absl::Duration timeout, std::function<void(const Status&, const Reply&)> then, absl::Duration wait = Retry::kFirstWait) {
    world_->Send<Request, Reply>(
        &coordinator_->process, request,
        [c = coordinator_, method](const Request& arrived, std::function<void(const Status&, const Reply&)> answer) {
          (c->*method)(arrived, answer);
        },
        timeout, WhileAlive<Reply>([=, this](const Status& status, const Reply& reply) {
          if (!IsAway(status)) return then(status, reply);
          After(wait, [=, this] { ToCoordinator(method, request, timeout, then, std::min(2 * wait, Retry::kLongestWait)); });
        }));
  }
  template <class Request, class Reply>
  void ToServer(uint32_t shard, Status (Server::*method)(const Request&, Reply*), Request request, std::function<void(const Status&, const Reply&)> then,
                absl::Duration wait = Retry::kFirstWait) {
    SimulatedServer* const server = (*servers_)[shard].get();
    world_->Send<Request, Reply>(
        &server->process, request,
        [server, method](const Request& arrived, std::function<void(const Status&, const Reply&)> answer) {
          Reply reply;
          const Status status = (server->server()->*method)(arrived, &reply);
          answer(status, reply);
        },
        absl::Seconds(10), WhileAlive<Reply>([=, this](const Status& status, const Reply& reply) {
          if (!IsAway(status) && !IsFull(status)) return then(status, reply);
          After(wait, [=, this] { ToServer(shard, method, request, then, std::min(2 * wait, Retry::kLongestWait)); });
        }));
  }
  // The same to all servers at once; goes on with the first error by shard, or OK, and all replies.
  template <class Request, class Reply>
  void ToAll(Status (Server::*method)(const Request&, Reply*), const std::vector<Request>& requests,
             std::function<void(const Status&, const std::vector<Reply>&)> then) {
    struct Gathered {
      size_t left;
      std::vector<Status> statuses;
      std::vector<Reply> replies;
    };
    const auto all = std::make_shared<Gathered>(Gathered{requests.size(), std::vector<Status>(requests.size()), std::vector<Reply>(requests.size())});
    for (uint32_t shard = 0; shard < requests.size(); ++shard) {
      ToServer<Request, Reply>(shard, method, requests[shard], [=](const Status& status, const Reply& reply) {
        all->statuses[shard] = status;
        all->replies[shard] = reply;
        if (--all->left > 0) return;
        for (const Status& each : all->statuses) {
          if (!each.ok()) return then(each, all->replies);
        }
        then(absl::OkStatus(), all->replies);
      });
    }
  }

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
      failed_at_ = {0, 0};
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
    world_->Send<HeartbeatRequest, HeartbeatReply>(
        &coordinator_->process, request,
        [c = coordinator_](const HeartbeatRequest& arrived, std::function<void(const Status&, const HeartbeatReply&)> answer) { c->Heartbeat(arrived, answer); },
        absl::Milliseconds(kHeartbeatMs), [](const Status&, const HeartbeatReply&) {});
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
      if (unreported_.has_value()) *report.mutable_leaving()->mutable_task() = *unreported_;
    }
    const bool last = report.has_leaving();
    if (!report.has_nothing() && !report.has_failure()) failed_at_ = {0, 0};
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
        incarnation_ = decision_.incarnation();
        shares_.assign(next.step().shares().begin(), next.step().shares().end());
        break;
      default: break;
    }
    if (shares_.empty()) return Ask(Nothing());
    ComputeShare();
  }
  // As the worker's TakeFailure.
  void Fail(const Status& status) {
    const bool over = absl::IsAborted(status) && absl::StrContains(status.message(), "step over");
    const bool closed = absl::IsFailedPrecondition(status) && absl::StrContains(status.message(), "wrong peer");
    const bool lost = absl::IsDataLoss(status) && absl::StrContains(status.message(), "state lost");
    const std::pair<uint64_t, uint64_t> at = {incarnation_, decision_.step()};
    world_->Trace(absl::StrCat(name_, " fails: ", status.message()));
    const bool ends = !(over || closed || lost) || incarnation_ == 0 || failed_at_ == at;
    failed_at_ = at;
    shares_.clear();
    DoneRequest report = Nothing();
    if (ends || lost) {
      report.mutable_failure()->set_code(static_cast<int>(status.code()));
      report.mutable_failure()->set_message(std::string(status.message()));
      report.mutable_failure()->set_incarnation(incarnation_);
    }
    Ask(report);
  }

  // --- What it computes.
  Peer PeerOf(uint32_t shard) const {
    Peer peer;
    peer.set_job(joined_.job());
    peer.set_incarnation(incarnation_);
    peer.set_map_version(joined_.map_version());
    peer.set_shard(shard);
    peer.set_shards(static_cast<uint32_t>(servers_->size()));
    peer.set_worker(joined_.worker());
    peer.set_generation(joined_.generation());
    return peer;
  }
  std::vector<PullRequest> Pulls(const std::vector<uint64_t>& ids, uint64_t step, const Decision* decision, bool evaluation) const {
    std::vector<PullRequest> requests(servers_->size());
    for (uint32_t shard = 0; shard < requests.size(); ++shard) {
      *requests[shard].mutable_peer() = PeerOf(shard);
      requests[shard].set_step(step);
      if (decision != nullptr) *requests[shard].mutable_decision() = *decision;
      requests[shard].set_evaluation(evaluation);
    }
    for (const uint64_t id : ids) AppendPacked<uint64_t>({&id, 1}, requests[ShardOf(PartitionOf(id), static_cast<uint32_t>(requests.size()))].mutable_ids());
    return requests;
  }
  // Per shard: gradients of its ids, which are functions of the values that were read.
  std::vector<Gradients> Compute(const std::vector<PullRequest>& pulls, const std::vector<PullReply>& values, uint64_t rows, bool count) const {
    std::vector<Gradients> all(pulls.size());
    for (size_t shard = 0; shard < pulls.size(); ++shard) {
      const auto ids = PackedView<uint64_t>(pulls[shard].ids(), "ids").value();
      const auto read = PackedView<float>(values[shard].values(), "values").value();
      all[shard].set_rows(rows);
      for (size_t i = 0; i < ids.size(); ++i) {
        const uint32_t one = 1;
        const float gradient = count ? -1.0f : 0.7f * read[i] - UniformFloat(Mix64(ids[i]));
        AppendPacked<uint64_t>({&ids[i], 1}, all[shard].mutable_ids());
        AppendPacked<uint32_t>({&one, 1}, all[shard].mutable_counts());
        AppendPacked<float>({&gradient, 1}, all[shard].mutable_values());
      }
    }
    return all;
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
    incarnation_ = task.incarnation();
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
    if (incarnation_ != task.incarnation()) pushed_.clear();
    incarnation_ = task.incarnation();
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
    for (uint64_t row = 0; row < rows; ++row) ids.push_back(RowId(1, task.first_block() * data_->rows_per_block + before.end_row() + row));
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
      unreported_.reset();  // some servers may have it
      if (dies_in_push_) {
        const uint32_t shard = static_cast<uint32_t>(world_->Below(pushes.size()));
        ToServer<PushRequest, PushReply>(shard, &Server::Push, pushes[shard], [](const Status&, const PushReply&) {});
        return Kill();
      }
      ToAll<PushRequest, PushReply>(&Server::Push, pushes, [=, this](const Status& pushed, const std::vector<PushReply>&) {
        if (!pushed.ok()) return Fail(pushed);
        ++clock_;
        NextBatch(task, done);
      });
    });
  }

  World* const world_;
  SimulatedCoordinator* const coordinator_;
  std::vector<std::unique_ptr<SimulatedServer>>* const servers_;
  const SimulatedData* const data_;
  const uint64_t nonce_;
  const std::string name_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  absl::Time stalled_until_;
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
  uint64_t clock_ = 0;
  std::pair<uint64_t, uint64_t> failed_at_ = {0, 0};
};

}  // namespace tessera
