// What goes wrong: peers that are lost or never come, reports of failures, calls that are repeated.
#include <atomic>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "ps/checkpoint/durable_file.h"
#include "tests/unit/coordinator/coordinator_fixture.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class FailuresTest : public CoordinatorFixture {
 protected:
  DoneRequest Share(const StepTask& task, int index) {
    DoneRequest report;
    const Assignment& share = task.shares(index);
    report.mutable_share()->set_step(task.decision().step() + 1);
    report.mutable_share()->set_share(share.share());
    report.mutable_share()->set_rows(1);
    *report.mutable_share()->mutable_position() = share.position();
    report.mutable_share()->mutable_position()->set_row(share.position().row() + 1);
    return report;
  }
  // Drives one worker by hand to its first step.
  StepTask FirstStep(ScriptedWorker* worker) {
    const Instruction next = FirstWork(worker);
    EXPECT_TRUE(next.has_step()) << next.ShortDebugString();
    return next.step();
  }
};

TEST_F(FailuresTest, AnUnknownGenerationIsFenced) {
  Init();
  ScriptedWorker* worker = AddWorker();
  EXPECT_TRUE(worker->Ask(Nothing()).has_fenced());  // never joined
  HeartbeatRequest request;
  HeartbeatReply reply;
  ASSERT_TRUE(coordinator_->Heartbeat(request, &reply).ok());
  EXPECT_TRUE(reply.fenced());
  const JoinReply joined = worker->Join();
  request.set_worker(joined.worker());
  request.set_generation(joined.generation());
  ASSERT_TRUE(coordinator_->Heartbeat(request, &reply).ok());
  EXPECT_FALSE(reply.fenced());
}

TEST_F(FailuresTest, JoiningTellsWhereTheServersAre) {
  Init(2);
  ScriptedWorker* worker = AddWorker();
  const JoinReply first = worker->Join();
  EXPECT_EQ(first.job(), "adult");
  EXPECT_EQ(first.map_version(), 1);
  EXPECT_EQ(first.servers(1), "ps:7001");
  EXPECT_EQ(first.lease_ms(), kLeaseMs);
  EXPECT_EQ(first.patience_ms(), 300000);
  const JoinReply again = worker->Join();
  EXPECT_EQ(again.worker(), first.worker());
  EXPECT_EQ(again.generation(), first.generation());
}

TEST_F(FailuresTest, LostAnswersAreGivenAgain) {
  Init();
  ScriptedWorker* worker = AddWorker();
  const StepTask task = FirstStep(worker);
  ASSERT_EQ(task.shares_size(), 6);
  EXPECT_TRUE(task.has_plan());
  Instruction next = worker->Ask(Survey());  // the answer was lost
  EXPECT_EQ(next.step().SerializeAsString(), task.SerializeAsString());
  for (int i = 0; i < 5; ++i) {
    // It goes on with its other shares by itself; a repeated report does not count twice.
    EXPECT_TRUE(worker->Ask(Share(task, i)).has_again());
    EXPECT_TRUE(worker->Ask(Share(task, i)).has_again());
  }
  next = worker->Ask(Nothing());  // forgot all
  ASSERT_EQ(next.step().shares_size(), 1);
  EXPECT_EQ(next.step().shares(0).share(), 5);
  const Instruction second = worker->Ask(Share(task, 5));
  EXPECT_EQ(second.step().decision().step(), 1);
  EXPECT_EQ(second.step().decision().rows(), 6);
  EXPECT_EQ(worker->Ask(Share(task, 5)).SerializeAsString(), second.SerializeAsString());
}

TEST_F(FailuresTest, AFailureStopsEverybodyWithItsMessage) {
  script_.plan.mutable_job()->mutable_training()->set_workers(2);
  Init();
  ScriptedWorker* other = AddWorker();
  other->Start();
  while (Describe().workers() < 1) {
  }
  ScriptedWorker* worker = AddWorker();
  worker->Join();
  ASSERT_TRUE(News(worker).has_step());
  DoneRequest report;
  report.mutable_failure()->set_code(static_cast<int>(absl::StatusCode::kInvalidArgument));
  report.mutable_failure()->set_message("day_3.csv:17: 38 fields, 40 wanted");
  const Instruction told = worker->Ask(report);
  other->Wait();
  for (const Instruction& last : {told, other->last}) {
    EXPECT_EQ(last.stop().code(), static_cast<int>(absl::StatusCode::kInvalidArgument));
    EXPECT_THAT(last.stop().message(), AllOf(HasSubstr("day_3.csv:17: 38 fields, 40 wanted"), HasSubstr("worker 2 (host:2)")));
  }
  EXPECT_EQ(Describe().state(), "failed");
  EXPECT_TRUE(coordinator_->WaitUntilOver(absl::Seconds(10)));
}

TEST_F(FailuresTest, AFailureOfTheSurveyIsTheJobs) {
  Init();
  ScriptedWorker* worker = AddWorker();
  worker->Join();
  ASSERT_TRUE(News(worker).has_survey());
  DoneRequest report;
  report.mutable_failure()->set_code(static_cast<int>(absl::StatusCode::kNotFound));
  report.mutable_failure()->set_message("adult.yaml:4: data.train.files: nothing matches");
  EXPECT_EQ(worker->Ask(report).stop().message(), "adult.yaml:4: data.train.files: nothing matches");
}

TEST_F(FailuresTest, WithoutAnyWorkerLeftTheJobWaitsForAnotherAndThenEndsByName) {
  script_.plan.mutable_job()->mutable_training()->mutable_patience()->set_ms(20000);
  Init();
  ScriptedWorker* worker = AddWorker();
  FirstStep(worker);
  Pass(absl::Seconds(45));
  EXPECT_EQ(Describe().state(), "training");
  EXPECT_EQ(Describe().workers_lost(), 1);
  Pass(absl::Seconds(8));
  EXPECT_EQ(Describe().state(), "failed");
  EXPECT_THAT(Describe().message(), AllOf(HasSubstr("worker 1 (host:1) is lost: no heartbeat for 30s"), HasSubstr("It was the last one"),
                                          HasSubstr("no other joined within 20s (training.patience)")));
  EXPECT_TRUE(coordinator_->WaitUntilOver(absl::Seconds(10)));
}

TEST_F(FailuresTest, AJobThatEndsDuringASaveStaysFailedAndMakesNoCheckpoint) {
  script_.plan.mutable_job()->mutable_checkpoint()->mutable_every()->set_steps(1);
  script_.plan.mutable_job()->mutable_training()->mutable_patience()->set_ms(1000);
  Init();
  std::atomic<bool> passed = false;
  servers_[0]->on_save = [&] {
    Pass(absl::Seconds(35));
    passed = true;
  };
  ScriptedWorker* worker = AddWorker();
  const StepTask task = FirstStep(worker);
  for (int i = 0; i < task.shares_size(); ++i) worker->Ask(Share(task, i));
  const Instruction told = News(worker);
  EXPECT_TRUE(told.has_fenced() || told.has_stop()) << told.ShortDebugString();
  ASSERT_TRUE(Reaches("failed"));
  EXPECT_THAT(Describe().message(), HasSubstr("no heartbeat for 30s"));
  while (!passed) {
  }
  coordinator_.reset();  // waits for the thread that saved
  EXPECT_TRUE(absl::IsNotFound(CheckpointStore(checkpoints()).Newest().status()));
}

TEST_F(FailuresTest, AWorkerThatOnlyBeatsEndsTheJobToo) {
  script_.plan.mutable_job()->mutable_training()->mutable_patience()->set_ms(60000);
  Init();
  ScriptedWorker* worker = AddWorker();
  FirstStep(worker);
  HeartbeatRequest request;
  request.set_worker(1);
  request.set_generation(1);
  HeartbeatReply reply;
  for (int i = 0; i < 200 && Describe().state() == "training"; ++i) {
    clock_.Advance(absl::Seconds(1));
    ASSERT_TRUE(coordinator_->Heartbeat(request, &reply).ok());
  }
  EXPECT_THAT(Describe().message(),
              AllOf(HasSubstr("step 1: no progress for 3m (training.patience and 2m) from"), HasSubstr("worker 1 (host:1)")));
}

TEST_F(FailuresTest, WorkersThatNeverComeAreCounted) {
  script_.plan.mutable_job()->mutable_training()->set_workers(3);
  script_.plan.mutable_job()->mutable_training()->mutable_patience()->set_ms(20000);
  Init();
  ScriptedWorker* worker = AddWorker();
  worker->Start();
  while (servers_[0]->opens().empty()) {
  }
  ASSERT_TRUE(Reaches("waiting"));
  Pass(absl::Seconds(22));
  worker->Wait();
  EXPECT_THAT(worker->last.stop().message(),
              AllOf(HasSubstr("1 of 3 workers (training.workers) joined within 20s"), HasSubstr("worker 1 (host:1)"),
                    HasSubstr("tessera-worker --coordinator ps:7000, or")));
}

TEST_F(FailuresTest, NoWorkerAtAllIsAnErrorAfterPatience) {
  script_.plan.mutable_job()->mutable_training()->mutable_patience()->set_ms(20000);
  Init();
  Pass(absl::Seconds(22));
  EXPECT_TRUE(coordinator_->WaitUntilOver(absl::Seconds(60)));
  EXPECT_THAT(Describe().message(), HasSubstr("no worker joined within 20s"));
}

TEST_F(FailuresTest, AnInterruptBeforeTheFirstStepEndsAtOnce) {
  Init();
  ScriptedWorker* worker = AddWorker();
  worker->Join();
  ASSERT_TRUE(coordinator_->Interrupt("interrupted").ok());
  ASSERT_TRUE(Reaches("interrupted"));
  EXPECT_EQ(News(worker).stop().code(), static_cast<int>(absl::StatusCode::kCancelled));
  EXPECT_EQ(Describe().message(), "interrupted before the first step; the same command resumes");
}

TEST_F(FailuresTest, NobodyWaitsForWhoHeardOfAnInterruptThatCameToNoCheckpoint) {
  Init();
  servers_[0]->on_open = [this] { EXPECT_TRUE(coordinator_->Interrupt("interrupted").ok()); };
  ScriptedWorker* told = AddWorker();
  told->Join();
  while (!told->Ask(Nothing()).has_survey()) {
  }
  Instruction next = told->Ask(Survey());
  if (next.has_again()) next = News(told);
  ASSERT_TRUE(next.has_stop());
  servers_[0]->on_open = nullptr;
  RestartCoordinator();
  EXPECT_EQ(FirstWork(AddWorker()).step().shares_size(), 6) << "all of them, none is left for the other";
  EXPECT_EQ(Describe().workers_left(), 1);
}

TEST_F(FailuresTest, AFreshStartOverOldStateTakesTheNextIncarnation) {
  RunJob();
  std::filesystem::remove_all(checkpoints());
  RunJob();
  EXPECT_EQ(servers_[0]->opens()[0].peer().incarnation(), 2);
  EXPECT_EQ(servers_[0]->opens()[0].restore_from(), "");
}

TEST_F(FailuresTest, ADamagedManifestIsNamedAtTheStart) {
  const Report report = RunJob();
  ASSERT_TRUE(WriteFileDurably(report.checkpoint() + "/MANIFEST.json", "{").ok());
  StartCoordinator();
  EXPECT_THAT(std::string(coordinator_->Init().message()), HasSubstr(report.checkpoint() + "/MANIFEST.json"));
}

TEST_F(FailuresTest, ACheckpointDirectoryOfAnotherJobIsRefused) {
  RunJob();
  script_.plan.mutable_job()->set_name("bank");
  StartCoordinator();
  EXPECT_THAT(std::string(coordinator_->Init().message()), AllOf(HasSubstr("\"adult\""), HasSubstr("\"bank\"")));
}

TEST_F(FailuresTest, AServerThatCameBackOlderIsStateLost) {
  RunJob();
  CheckpointStore store(checkpoints());
  CheckpointStore::Entry entry = Newest();
  entry.manifest.mutable_state()->set_finished(false);
  entry.manifest.mutable_state()->set_epochs(2);
  ASSERT_TRUE(store.Update(entry.folder, entry.manifest).ok());
  ASSERT_TRUE(WriteFileDurably(entry.folder + "/shard-0-of-1/step", "8").ok());
  const Report report = RunJob();
  EXPECT_THAT(report.message(), AllOf(HasSubstr("server 0"), HasSubstr("state lost: it is at step 8, not at step 9")));
}

TEST_F(FailuresTest, AWorkerMayJoinInTheMiddle) {
  Init();
  AddWorker();
  ScriptedWorker* const late = AddWorker();
  std::atomic<bool> started = false;
  script_.on_step = [&](uint64_t step) {
    if (step != 2 || started.exchange(true)) return;
    late->Start();
    while (Describe().workers() < 2) {
    }
  };
  workers_[0]->Start();
  workers_[0]->Wait();
  late->Wait();
  EXPECT_EQ(Describe().state(), "finished") << Describe().message();
  EXPECT_FALSE(late->steps.empty());
  EXPECT_TRUE(late->steps[0].has_plan());
}

}  // namespace
}  // namespace tessera
