// A coordinator with fake servers and scripted workers, in a folder of its own.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ps/checkpoint/checkpoint_store.h"
#include "ps/coordinator/coordinator.h"
#include "tests/unit/coordinator/fake_server.h"
#include "tests/unit/coordinator/scripted_worker.h"

namespace tessera {

// Whatever coordinator there is now: workers outlive it.
class CurrentCoordinator : public CoordinatorApi {
 public:
  // Once no call is inside; those that come meanwhile wait.
  void Replace(const std::function<Coordinator*()>& restart) {
    MutexLock lock(&mutex_);
    replacing_ = true;
    while (inside_ > 0) changed_.WaitWithTimeout(&mutex_, absl::Milliseconds(100));
    current_ = restart();
    replacing_ = false;
    changed_.SignalAll();
  }
  absl::Status Join(const JoinRequest& request, JoinReply* reply) override {
    return Call([&] { return current_->Join(request, reply); });
  }
  absl::Status Heartbeat(const HeartbeatRequest& request, HeartbeatReply* reply) override {
    return Call([&] { return current_->Heartbeat(request, reply); });
  }
  absl::Status Done(const DoneRequest& request, Instruction* reply) override {
    return Call([&] { return current_->Done(request, reply); });
  }
  absl::Status Advance(const AdvanceRequest& request, AdvanceReply* reply) override {
    return Call([&] { return current_->Advance(request, reply); });
  }
  absl::Status DescribeJob(const DescribeJobRequest& request, Report* reply) override {
    return Call([&] { return current_->DescribeJob(request, reply); });
  }

 private:
  absl::Status Call(const std::function<absl::Status()>& call) {
    {
      MutexLock lock(&mutex_);
      while (replacing_ || current_ == nullptr) changed_.WaitWithTimeout(&mutex_, absl::Milliseconds(100));
      ++inside_;
    }
    const absl::Status status = call();
    MutexLock lock(&mutex_);
    --inside_;
    changed_.SignalAll();
    return status;
  }

  Mutex mutex_;
  CondVar changed_;
  bool replacing_ = false;
  int inside_ = 0;
  Coordinator* current_ = nullptr;
};

class CoordinatorFixture : public ::testing::Test {
 protected:
  CoordinatorFixture() {
    const ::testing::TestInfo* info = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = std::filesystem::path(::testing::TempDir()) /
            absl::StrCat("coordinator_", getpid(), "_", info->test_suite_name(), "_", info->name());
    std::filesystem::remove_all(root_);
    Job* job = script_.plan.mutable_job();
    job->set_name("adult");
    job->set_seed(7);
    job->mutable_training()->set_mode(sync);
    job->mutable_training()->set_workers(1);
    job->mutable_training()->set_shares(6);
    job->mutable_training()->set_batch_size(20);
    job->mutable_training()->set_epochs(3);
    job->mutable_optimizers()->mutable_sparse()->mutable_adagrad()->set_learning_rate(0.02);
    job->mutable_optimizers()->mutable_dense()->mutable_adam()->set_learning_rate(0.001);
    job->mutable_evaluation()->mutable_every()->set_epochs(1);
    job->mutable_evaluation()->set_monitor(auc);
    job->mutable_evaluation()->set_patience(2);
    job->mutable_evaluation()->set_restore_best(true);
    job->mutable_checkpoint()->set_keep(3);
    job->mutable_data()->mutable_block_bytes()->set_bytes(100);
    job->mutable_data()->mutable_evaluate()->set_holdout(0.1);
    InputFile* file = script_.plan.add_train();
    file->set_path("/data/adult.csv");
    file->set_plain_bytes(4000);
    script_.plan.set_rows(60);
    script_.share_rows = {11, 10, 9, 8, 1, 0};  // 39 rows: rest steps, a rest of one row, a share without rows
    script_.quality = {5, 6, 7};
  }
  ~CoordinatorFixture() override {
    workers_.clear();
    coordinator_.reset();
    std::filesystem::remove_all(root_);
  }

  std::string checkpoints() const { return root_ + "/checkpoints"; }

  // What a new process would find: the folders, nothing else.
  void StartCoordinator(int servers = 1) {
    workers_.clear();
    coordinator_.reset();
    servers_.clear();
    for (int i = 0; i < servers; ++i) servers_.push_back(std::make_unique<FakeServer>());
    MakeCoordinator();
    current_.Replace([this] { return coordinator_.get(); });
  }
  void MakeCoordinator() {
    CoordinatorOptions options;
    options.job = script_.plan.job();
    options.state_directory = root_ + "/state";
    options.checkpoint_directory = checkpoints();
    options.generation_gap = 0;
    for (size_t i = 0; i < servers_.size(); ++i) {
      options.servers.push_back(servers_[i].get());
      options.addresses.push_back("ps:" + std::to_string(7000 + i));
    }
    coordinator_ = std::make_unique<Coordinator>(std::move(options), &clock_);
  }
  // The coordinator ends without a word and comes back; servers and workers stay. From a worker's thread, or the test's.
  void RestartCoordinator() {
    current_.Replace([this] {
      coordinator_.reset();
      MakeCoordinator();
      const absl::Status status = coordinator_->Init();
      EXPECT_TRUE(status.ok()) << status;
      return coordinator_.get();
    });
  }
  // Also starts the job's threads.
  void Init(int servers = 1) {
    StartCoordinator(servers);
    const absl::Status status = coordinator_->Init();
    ASSERT_TRUE(status.ok()) << status;
  }

  ScriptedWorker* AddWorker() {
    std::vector<ParameterServerApi*> servers;
    for (const auto& server : servers_) servers.push_back(server.get());
    workers_.push_back(std::make_unique<ScriptedWorker>(&current_, servers, workers_.size() + 1, &script_));
    return workers_.back().get();
  }

  // A worker that is driven by hand: what it says, and its next instruction that is not "again".
  DoneRequest Nothing() {
    DoneRequest report;
    report.mutable_nothing();
    return report;
  }
  DoneRequest Survey() {
    DoneRequest report;
    *report.mutable_survey()->mutable_plan() = script_.plan;
    return report;
  }
  Instruction News(ScriptedWorker* worker) {
    Instruction next = worker->Ask(Nothing());
    while (next.has_again()) next = worker->Ask(Nothing());
    return next;
  }
  // Joins, looks at the data if asked, and returns the first step or task.
  Instruction FirstWork(ScriptedWorker* worker) {
    worker->Join();
    Instruction next = News(worker);
    if (next.has_survey()) next = worker->Ask(Survey());
    return next.has_again() ? News(worker) : next;
  }

  // A whole run with `workers` workers; returns the report at its end.
  Report RunJob(int workers = 1, int servers = 1) {
    script_.plan.mutable_job()->mutable_training()->set_workers(static_cast<uint32_t>(workers));
    Init(servers);
    for (int i = 0; i < workers; ++i) AddWorker()->Start();
    for (const auto& worker : workers_) worker->Wait();
    EXPECT_TRUE(coordinator_->WaitUntilOver(absl::Seconds(60)));
    return Describe();
  }

  // When a worker is about to compute this step or task.
  void InterruptAt(uint64_t at, const std::string& reason) {
    script_.on_step = [this, at, reason](uint64_t step) {
      if (step != at) return;
      EXPECT_TRUE(coordinator_->Interrupt(reason).ok());
    };
  }

  Report Describe() {
    Report report;
    EXPECT_TRUE(coordinator_->DescribeJob(DescribeJobRequest(), &report).ok());
    return report;
  }

  // Lets time pass as it does: in small steps, in each of which somebody looks at the leases.
  void Pass(absl::Duration time) {
    for (absl::Duration passed; passed < time; passed += absl::Seconds(1)) {
      clock_.Advance(absl::Seconds(1));
      Describe();
    }
  }

  // Waits (at most a minute) until the job is in a state.
  bool Reaches(const std::string& state) {
    for (int i = 0; i < 60000 && Describe().state() != state; ++i) Clock::Real()->SleepFor(absl::Milliseconds(1));
    return Describe().state() == state;
  }

  CheckpointStore::Entry Newest() {
    absl::StatusOr<CheckpointStore::Entry> entry = CheckpointStore(checkpoints()).Newest();
    EXPECT_TRUE(entry.ok()) << entry.status();
    return *std::move(entry);
  }

  std::string root_;
  FakeClock clock_;
  Script script_;
  std::vector<std::unique_ptr<FakeServer>> servers_;
  std::unique_ptr<Coordinator> coordinator_;
  CurrentCoordinator current_;
  std::vector<std::unique_ptr<ScriptedWorker>> workers_;
};

}  // namespace tessera
