// Whole asynchronous jobs, with scripted workers on threads of their own.
#include <set>

#include "tests/unit/coordinator/coordinator_fixture.h"

namespace tessera {
namespace {

class AsyncJobTest : public CoordinatorFixture {
 protected:
  AsyncJobTest() { script_.plan.mutable_job()->mutable_training()->set_mode(async); }

  // How often each block of each epoch (40 blocks) was in a task.
  std::vector<std::vector<int>> Coverage() {
    std::vector<std::vector<int>> times(3, std::vector<int>(40));
    for (const auto& worker : workers_) {
      for (const Task& task : worker->tasks) {
        for (uint64_t block = task.first_block(); block < task.last_block(); ++block) ++times[task.epoch()][block];
      }
    }
    return times;
  }
  const std::vector<std::vector<int>> once_ = std::vector<std::vector<int>>(3, std::vector<int>(40, 1));
};

TEST_F(AsyncJobTest, EveryBlockIsTrainedOncePerEpoch) {
  for (const int workers : {1, 2, 3}) {
    std::filesystem::remove_all(root_);
    const Report report = RunJob(workers);
    EXPECT_EQ(report.state(), "finished") << report.message();
    EXPECT_EQ(Coverage(), once_);
    EXPECT_EQ(report.rows(), 3 * 200);
    EXPECT_EQ(report.epochs(), 3);
    EXPECT_EQ(report.train_logloss(), 0.5);
    EXPECT_EQ(report.evaluations_size(), 3);
    EXPECT_TRUE(servers_[0]->commits().empty());
    EXPECT_EQ(servers_[0]->saves().size(), 3);
    EXPECT_EQ(report.steps(), servers_[0]->step());
    EXPECT_EQ(Newest().manifest.step(), report.total_steps());
    for (const auto& worker : workers_) {
      EXPECT_TRUE(worker->plan_came_first);
      for (size_t i = 1; i < worker->tasks.size(); ++i) EXPECT_FALSE(worker->tasks[i].has_plan());
      for (const Task& task : worker->tasks) EXPECT_EQ(task.incarnation(), 1);
    }
  }
}

TEST_F(AsyncJobTest, TaskNumbersAreNeverGivenTwice) {
  RunJob(3);
  std::set<uint64_t> numbers;
  size_t tasks = 0;
  for (const auto& worker : workers_) {
    for (const Task& task : worker->tasks) numbers.insert(task.task());
    tasks += worker->tasks.size();
  }
  EXPECT_EQ(numbers.size(), tasks);
  EXPECT_EQ(*numbers.begin(), 1);
  EXPECT_EQ(*numbers.rbegin(), tasks);
}

TEST_F(AsyncJobTest, WithOneWorkerOptimizerStepsCountThePushes) {
  RunJob();
  uint64_t next = 1;
  for (const Task& task : workers_[0]->tasks) {
    EXPECT_EQ(task.optimizer_step(), next);
    EXPECT_EQ(task.optimizer_step_stride(), 1);
    next += ((task.last_block() - task.first_block()) * script_.rows_per_block + 9) / 10;
  }
}

TEST_F(AsyncJobTest, AnInterruptedJobGoesOnWithTheBlocksThatAreLeft) {
  InterruptAt(15, "interrupted");
  const Report stopped = RunJob(2);
  EXPECT_EQ(stopped.state(), "interrupted");
  EXPECT_LT(stopped.rows(), 600);
  std::vector<std::vector<int>> times = Coverage();
  script_.on_step = nullptr;
  const Report resumed = RunJob(2);
  EXPECT_EQ(resumed.state(), "finished");
  EXPECT_EQ(resumed.total_rows(), 600);
  EXPECT_EQ(resumed.rows(), 600 - stopped.rows());
  const std::vector<std::vector<int>> rest = Coverage();
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (int block = 0; block < 40; ++block) EXPECT_EQ(times[epoch][block] + rest[epoch][block], 1) << epoch << "/" << block;
  }
}

TEST_F(AsyncJobTest, EvaluationsInMidEpochWaitForTheTasksUnderWay) {
  script_.plan.mutable_job()->mutable_evaluation()->mutable_every()->set_epochs(0.5);
  script_.plan.mutable_job()->mutable_evaluation()->set_patience(0);
  const Report report = RunJob(3);
  EXPECT_EQ(Coverage(), once_);
  EXPECT_GE(report.evaluations_size(), 5);
  EXPECT_EQ(report.evaluations(report.evaluations_size() - 1).epoch(), 3);
  for (const auto& worker : workers_) {
    for (const EvaluationTask& task : worker->evaluations) EXPECT_FALSE(task.has_decision());
  }
}

}  // namespace
}  // namespace tessera
