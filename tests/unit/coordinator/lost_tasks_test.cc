// Workers that die, leave, or are started again in the middle of an asynchronous job: others go on with their tasks, and every row is counted.
#include "absl/strings/str_cat.h"
#include "tests/unit/coordinator/coordinator_fixture.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr uint64_t kRows = 600;  // of three epochs

class LostTasksTest : public CoordinatorFixture {
 protected:
  LostTasksTest() {
    script_.plan.mutable_job()->mutable_training()->set_mode(async);
    script_.plan.mutable_job()->mutable_evaluation()->set_patience(0);
  }

  // A batch of `rows` rows, up to `end_row` of the task, reaches a server.
  static TaskDone Push(FakeServer* server, const ScriptedWorker& worker, uint64_t task, uint64_t rows, uint64_t end_row) {
    PushRequest push;
    push.mutable_peer()->set_worker(worker.worker());
    push.mutable_peer()->set_generation(worker.generation());
    TaskDone* done = push.mutable_task_done();
    done->set_task(task);
    done->set_rows(rows);
    done->set_pushes(1);
    done->set_loss(0.5 * static_cast<double>(rows));
    done->set_end_row(end_row);
    PushReply reply;
    EXPECT_TRUE(server->Push(push, &reply).ok());
    return *done;
  }
  // Until the servers have said `times` times how far a task came.
  void WaitUntilAsked(int times = 1) {
    for (int i = 0; i < 60000; ++i) {
      const Report report = Describe();
      int answers = 0;
      for (const std::string& event : report.events()) answers += event.find("goes on at its row") != std::string::npos;
      if (answers >= times) return;
      Clock::Real()->SleepFor(absl::Milliseconds(1));
    }
    FAIL() << "nobody asked the servers";
  }
  // The others do the rest, and the job has each row once beside those it says were trained twice.
  void Finish(uint64_t twice) {
    ScriptedWorker* last = AddWorker();
    last->Start();
    last->Wait();
    const Report report = Describe();
    EXPECT_EQ(report.state(), "finished") << report.message();
    EXPECT_EQ(report.rows(), kRows);
    EXPECT_EQ(report.rows_twice(), twice);
    EXPECT_EQ(report.train_logloss(), 0.5);
  }
};

TEST_F(LostTasksTest, ADeadWorkersTaskGoesOnWhereTheServerThatHasLeastOfItIs) {
  Init(2);
  const Instruction work = FirstWork(AddWorker());
  ASSERT_EQ(work.task().task(), 1);
  Push(servers_[0].get(), *workers_[0], 1, 3, 3);
  Push(servers_[1].get(), *workers_[0], 1, 3, 3);
  Push(servers_[0].get(), *workers_[0], 1, 5, 5);  // this one reached one server only
  Pass(absl::Seconds(40));
  EXPECT_EQ(Describe().state(), "training");
  WaitUntilAsked();
  Finish(2);
  EXPECT_EQ(workers_[1]->tasks[0].task(), 1);
  EXPECT_EQ(workers_[1]->tasks[0].first_row(), 3);
  EXPECT_EQ(workers_[1]->tasks[0].first_block(), work.task().first_block());
  EXPECT_EQ(workers_[1]->tasks[0].last_block(), work.task().last_block());
  for (const auto& server : servers_) {
    ASSERT_EQ(server->fences().size(), 1);
    EXPECT_EQ(server->fences()[0].peer().worker(), workers_[0]->worker());
    EXPECT_EQ(server->fences()[0].peer().generation(), workers_[0]->generation());
  }
  EXPECT_EQ(Describe().workers_lost(), 1);
  EXPECT_THAT(Describe().events(), Contains(HasSubstr("task 1 goes on at its row 3, 2 rows are trained twice")));
}

TEST_F(LostTasksTest, OfAWorkerThatPushedNothingNothingIsCounted) {
  Init(2);
  ASSERT_TRUE(FirstWork(AddWorker()).has_task());
  Pass(absl::Seconds(40));
  WaitUntilAsked();
  Finish(0);
  EXPECT_EQ(workers_[1]->tasks[0].task(), 1);
  EXPECT_EQ(workers_[1]->tasks[0].first_row(), 0);
}

TEST_F(LostTasksTest, OneThatLeavesSaysHowFarItCameAndNobodyIsAsked) {
  Init();
  ASSERT_TRUE(FirstWork(AddWorker()).has_task());
  DoneRequest leaving;
  *leaving.mutable_leaving()->mutable_task() = Push(servers_[0].get(), *workers_[0], 1, 4, 4);
  EXPECT_TRUE(workers_[0]->Ask(leaving).has_fenced());
  Finish(0);
  EXPECT_EQ(workers_[1]->tasks[0].first_row(), 4);
  EXPECT_TRUE(servers_[0]->fences().empty());
  EXPECT_EQ(Describe().workers_left(), 1);
}

TEST_F(LostTasksTest, ANewProcessGetsNoTaskBeforeTheOldOnesIsKnown) {
  Init();
  script_.plan.mutable_job()->mutable_training()->set_workers(1);
  ScriptedWorker* worker = AddWorker();
  ASSERT_TRUE(FirstWork(worker).has_task());
  Push(servers_[0].get(), *worker, 1, 3, 3);
  Pass(absl::Seconds(40));
  ASSERT_TRUE(News(worker).has_fenced());
  worker->Join();  // under the next generation
  const Instruction next = News(worker);
  EXPECT_EQ(next.task().task(), 1);
  EXPECT_EQ(next.task().first_row(), 3);
  EXPECT_EQ(servers_[0]->fences().size(), 1);
}

TEST_F(LostTasksTest, WhatNobodyHasIsInTheCheckpoint) {
  Init();
  ASSERT_TRUE(FirstWork(AddWorker()).has_task());
  Push(servers_[0].get(), *workers_[0], 1, 3, 3);
  Pass(absl::Seconds(40));
  ASSERT_TRUE(coordinator_->Interrupt("stopped").ok());
  ASSERT_TRUE(coordinator_->WaitUntilOver(absl::Seconds(60)));
  EXPECT_EQ(Describe().state(), "interrupted") << Describe().message();
  ASSERT_EQ(Newest().manifest.state().begun_tasks_size(), 1);
  EXPECT_EQ(Newest().manifest.state().begun_tasks(0).first_row(), 3);
  Init();
  AddWorker()->Start();
  workers_[0]->Wait();
  const Report report = Describe();
  EXPECT_EQ(report.state(), "finished") << report.message();
  EXPECT_EQ(report.total_rows(), kRows);
  EXPECT_EQ(workers_[0]->tasks[0].first_row(), 3);
}

TEST_F(LostTasksTest, AServerThatLostBatchesOfTheDeadIsFoundOutBeforeAnotherLifeHidesIt) {
  Init();
  ScriptedWorker* dead = AddWorker();
  const Task first = FirstWork(dead).task();
  DoneRequest report;
  *report.mutable_task() = Push(servers_[0].get(), *dead, first.task(), 3, first.last_block() * 1000);
  report.mutable_task()->set_pushes(2);  // of which the server has one
  Instruction next = dead->Ask(report);
  if (next.has_again()) next = News(dead);
  ASSERT_TRUE(next.has_task());
  Pass(absl::Seconds(40));
  ASSERT_TRUE(Reaches("opening"));
  EXPECT_THAT(Describe().events(), Contains(HasSubstr("state lost: server 0 has 1 of the 2 batches that worker 1")));
}

TEST_F(LostTasksTest, ATaskThatKilledThreeWorkersStopsTheJobNamingFileAndBytes) {
  Init();
  for (int i = 0; i < 3; ++i) {
    const Instruction work = FirstWork(AddWorker());
    EXPECT_EQ(work.task().task(), 1);
    Pass(absl::Seconds(40));
    EXPECT_EQ(Describe().state(), i < 2 ? "training" : "failed");
    if (i < 2) WaitUntilAsked(i + 1);  // before that another worker is given another task
  }
  EXPECT_THAT(Describe().message(), AllOf(HasSubstr("task 1: 3 workers died while they had it"), HasSubstr("the 100 bytes from each of these on"),
                                          HasSubstr("/data/adult.csv, byte "), HasSubstr("worker 3 (host:3)")));
}

}  // namespace
}  // namespace tessera
