// A worker without data and model: rows are counted, losses and scores are functions of where it is.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/coordinator_api.h"
#include "common/parameter_server_api.h"
#include "common/score.h"
#include "gtest/gtest.h"

namespace tessera {

// What there is to train on.
struct Script {
  Plan plan;
  std::string sightings;                      // counted before training
  std::vector<uint64_t> share_rows;           // sync: rows of each share in an epoch
  uint64_t rows_per_block = 5;                // async
  std::vector<int> quality;                   // of evaluation 1, 2, ..., 0..10; the last one stays; the final one on files counts too
  std::function<void(uint64_t step)> on_step; // called before the shares of a step are reported
  std::function<void(uint64_t evaluation)> on_evaluation;  // called before its part is reported
};

// Logits that rank `quality` of ten pairs rightly.
inline void ScoreBlock(uint64_t block, int quality, ScoreCounter* counter) {
  const float logit = static_cast<int>(block) < quality ? 1.0f : -1.0f;
  counter->Add(block, {logit, -logit}, {1.0f, 0.0f});
}

// Owned by one thread; Start runs it on its own.
class ScriptedWorker {
 public:
  ScriptedWorker(CoordinatorApi* coordinator, std::vector<ParameterServerApi*> servers, uint64_t nonce, const Script* script)
      : coordinator_(coordinator), servers_(std::move(servers)), nonce_(nonce), script_(script) {}
  ~ScriptedWorker() {
    GiveUp();
    Wait();
  }
  // As if it were killed, once it has the answer to what it asks for now.
  void GiveUp() { given_up_ = true; }
  uint32_t worker() const { return worker_; }
  uint64_t generation() const { return generation_; }

  void Start() {
    thread_ = std::thread([this] { Run(); });
  }
  void Wait() {
    if (thread_.joinable()) thread_.join();
  }

  JoinReply Join() {
    JoinRequest request;
    request.set_nonce(nonce_);
    request.set_name("host:" + std::to_string(nonce_));
    JoinReply reply;
    EXPECT_TRUE(coordinator_->Join(request, &reply).ok());
    worker_ = reply.worker();
    generation_ = reply.generation();
    return reply;
  }

  // One call. `report` needs no worker and generation.
  Instruction Ask(DoneRequest report) {
    report.set_worker(worker_);
    report.set_generation(generation_);
    report.set_incarnation(incarnation_);
    Instruction next;
    EXPECT_TRUE(coordinator_->Done(report, &next).ok());
    if (next.has_step()) incarnation_ = next.step().decision().incarnation();
    if (next.has_task()) incarnation_ = next.task().incarnation();
    if (next.has_evaluation()) incarnation_ = next.evaluation().incarnation();
    return next;
  }

  // bounded: one call, and calls until it may read, or the task is not its own.
  AdvanceReply Advance(uint64_t clock) {
    AdvanceRequest request;
    request.set_worker(worker_);
    request.set_generation(generation_);
    request.set_clock(clock);
    AdvanceReply reply;
    const absl::Status status = coordinator_->Advance(request, &reply);
    EXPECT_TRUE(status.ok() || absl::IsUnavailable(status)) << status;
    return reply;
  }
  AdvanceReply AdvanceUntilSaid(uint64_t clock) {
    AdvanceReply reply = Advance(clock);
    for (int i = 0; i < 60 && !reply.granted() && !reply.over(); ++i) reply = Advance(clock);
    return reply;
  }

  // Until it is told to stop.
  void Run() {
    Join();
    DoneRequest report;
    report.mutable_nothing();
    while (!given_up_) {
      const Instruction next = Ask(report);
      report.Clear();
      report.mutable_nothing();
      if (next.has_stop() || next.has_fenced()) {
        last = next;
        return;
      }
      if (next.has_survey()) {
        surveys.push_back(next.survey());
        *report.mutable_survey()->mutable_plan() = script_->plan;
        report.mutable_survey()->set_sightings(script_->sightings);
      }
      const bool work = next.has_step() || next.has_task() || next.has_evaluation();
      if (work && steps.size() + tasks.size() + evaluations.size() == 0) {
        plan_came_first = next.step().has_plan() || next.task().has_plan() || next.evaluation().has_plan();
      }
      if (next.has_step()) Train(next.step());
      if (next.has_task()) report = Train(next.task());
      if (next.has_evaluation()) report = Evaluate(next.evaluation());
      if (!open_.empty()) report = NextShare();
    }
  }

  std::vector<SurveyTask> surveys;
  std::vector<StepTask> steps;
  std::vector<Task> tasks;
  std::vector<EvaluationTask> evaluations;
  Instruction last;
  bool plan_came_first = false;  // with the first work it was given

 private:
  void Train(const StepTask& task) {
    steps.push_back(task);
    open_.assign(task.shares().rbegin(), task.shares().rend());
    if (script_->on_step) script_->on_step(task.decision().step() + 1);
  }

  DoneRequest NextShare() {
    const Assignment share = open_.back();
    open_.pop_back();
    const Decision& decision = steps.back().decision();
    StageRequest stage;
    *stage.mutable_decision() = decision;
    StageReply ack;
    for (ParameterServerApi* server : servers_) {
      const absl::Status staged = server->Stage(stage, &ack);
      EXPECT_TRUE(staged.ok() || absl::IsDataLoss(staged)) << staged;
      if (staged.ok()) continue;
      DoneRequest report;
      report.mutable_failure()->set_code(static_cast<int>(staged.code()));
      report.mutable_failure()->set_message(std::string(staged.message()));
      report.mutable_failure()->set_incarnation(decision.incarnation());
      open_.clear();
      return report;
    }
    const uint64_t left = script_->share_rows[share.share()] - share.position().row();
    DoneRequest report;
    ShareDone* done = report.mutable_share();
    done->set_step(decision.step() + 1);
    done->set_share(share.share());
    done->set_rows(std::min(left, share.rows_max()));
    done->set_loss(0.7 * static_cast<double>(done->rows()) / (1.0 + static_cast<double>(done->step())) + 0.1 * share.share());
    *done->mutable_position() = share.position();
    done->mutable_position()->set_row(share.position().row() + done->rows());
    done->mutable_position()->set_end(done->rows() == left);
    return report;
  }

  DoneRequest Train(const Task& task) {
    tasks.push_back(task);
    if (script_->on_step) script_->on_step(task.task());
    DoneRequest report;
    TaskDone* done = report.mutable_task();
    done->set_task(task.task());
    done->set_end_row((task.last_block() - task.first_block()) * script_->rows_per_block);
    done->set_rows(done->end_row() - task.first_row());
    done->set_pushes((done->rows() + 9) / 10);
    done->set_loss(0.5 * static_cast<double>(done->rows()));
    PushReply ack;
    PushRequest push;
    push.mutable_peer()->set_worker(worker_);
    push.mutable_peer()->set_generation(generation_);
    const bool paced = script_->plan.job().training().mode() == bounded;
    for (uint64_t i = 0; i < done->pushes(); ++i) {
      if (paced && !AdvanceUntilSaid(task.clock() + i).granted()) ADD_FAILURE() << "batch " << i << " of task " << task.task();
      for (ParameterServerApi* server : servers_) EXPECT_TRUE(server->Push(push, &ack).ok());
    }
    if (paced) report.set_clock(task.clock() + done->pushes());
    return report;
  }

  DoneRequest Evaluate(const EvaluationTask& task) {
    evaluations.push_back(task);
    if (script_->on_evaluation) script_->on_evaluation(task.evaluation());
    ScoreCounter counter;
    if (!script_->quality.empty()) {
      const int quality = script_->quality[std::min<size_t>(task.evaluation(), script_->quality.size()) - 1];
      for (uint64_t block = 0; block < 10; ++block) {
        if (block % task.parts() == task.part()) ScoreBlock(block, quality, &counter);
      }
    }
    DoneRequest report;
    report.mutable_evaluation()->set_evaluation(task.evaluation());
    report.mutable_evaluation()->set_part(task.part());
    counter.Encode(report.mutable_evaluation()->mutable_counts());
    return report;
  }

  CoordinatorApi* const coordinator_;
  const std::vector<ParameterServerApi*> servers_;
  const uint64_t nonce_;
  const Script* const script_;
  std::atomic<uint32_t> worker_ = 0;
  std::atomic<uint64_t> generation_ = 0;
  std::atomic<uint64_t> incarnation_ = 0;  // of its last work
  std::vector<Assignment> open_;  // of the last step, the next one last
  std::atomic<bool> given_up_ = false;
  std::thread thread_;
};

}  // namespace tessera
