#include "tests/unit/train/embedded_job.h"

#include <numeric>

#include "common/score.h"
#include "common/staleness.h"
#include "gmock/gmock.h"
#include "ps/checkpoint/checkpoint_store.h"
#include "worker/train/scoring.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

void ExpectFinished(const EmbeddedJob::End& end) {
  EXPECT_EQ(end.report.state(), "finished") << end.report.message();
  for (const absl::Status& worker : end.workers) EXPECT_TRUE(worker.ok()) << worker;
}

TEST(EmbeddedJobTest, SyncGivesTheSameBitsAtAnyNumberOfWorkersServersAndThreads) {
  EmbeddedJob job;
  std::string digest;
  Score score;
  for (const auto& cluster : std::vector<EmbeddedJob::Cluster>{{1, 1, 1}, {2, 3, 2}, {3, 2, 3}, {1, 2, 2}, {2, 1, 4}, {3, 3, 1}}) {
    SCOPED_TRACE(absl::StrCat(cluster.servers, " servers, ", cluster.workers, " workers, ", cluster.threads, " threads"));
    job.Forget();
    const EmbeddedJob::End end = job.Run(cluster, {"training.shares=6"});
    ExpectFinished(end);
    ASSERT_NE(end.report.content_digest(), "");
    if (digest.empty()) {
      digest = end.report.content_digest();
      score = end.report.evaluation();
    }
    EXPECT_EQ(end.report.content_digest(), digest);
    EXPECT_EQ(end.report.evaluation().SerializeAsString(), score.SerializeAsString());
    EXPECT_EQ(end.report.epochs(), 3u);
  }
}

TEST(EmbeddedJobTest, EveryRowIsTrainedOncePerEpochInBothModes) {
  for (const char* mode : {"sync", "async"}) {
    for (int workers : {1, 2, 5}) {
      SCOPED_TRACE(absl::StrCat(mode, ", ", workers, " workers"));
      EmbeddedJob job(301);
      const EmbeddedJob::End end =
          job.Run({2, workers, 1}, {absl::StrCat("training.mode=", mode), "data.evaluate.holdout=0", "training.epochs=2"});
      ExpectFinished(end);
      EXPECT_EQ(end.report.rows(), 2 * 301u);
      EXPECT_EQ(end.report.total_rows(), 2 * 301u);
    }
  }
}

TEST(EmbeddedJobTest, BothModesLearn) {
  for (const char* mode : {"sync", "async"}) {
    EmbeddedJob job(3000);
    const EmbeddedJob::End end = job.Run({2, 2, 1}, {absl::StrCat("training.mode=", mode)});
    ExpectFinished(end);
    EXPECT_GT(end.report.evaluation().auc(), 0.8) << mode;
    EXPECT_EQ(end.report.evaluation().rows(), 200u) << "the evaluation files, not the held-out rows";
  }
}

TEST(EmbeddedJobTest, StalenessIsCountedForEachWorkersGradients) {
  for (const std::string mode : {"async", "bounded"}) {
    EmbeddedJob job;
    std::vector<std::string> sets = {"training.mode=" + mode, "training.batch_size=48"};
    if (mode == "bounded") sets.push_back("training.staleness=1");
    const EmbeddedJob::End end = job.Run({2, 3, 1}, sets);
    ExpectFinished(end);
    uint64_t gradients = 0;
    for (const WorkerStaleness& worker : end.report.staleness()) gradients += Gradients(worker.staleness());
    EXPECT_EQ(gradients, end.report.total_steps());
    EXPECT_LE(end.report.step_gap_max(), mode == "bounded" ? 1 : 0);
  }
}

TEST(EmbeddedJobTest, AnInterruptedRunGoesOnToTheSameBits) {
  EmbeddedJob job;
  const EmbeddedJob::End whole = job.Run({2, 2, 1}, {"training.shares=6"});
  ExpectFinished(whole);
  job.Forget();
  const EmbeddedJob::End first = job.Run({2, 2, 1}, {"training.shares=6"}, /*stop_after_steps=*/4);
  EXPECT_EQ(first.report.state(), "interrupted");
  for (const absl::Status& worker : first.workers) EXPECT_EQ(worker.code(), absl::StatusCode::kCancelled) << worker;
  const EmbeddedJob::End second = job.Run({3, 1, 2}, {"training.shares=6"});
  ExpectFinished(second);
  EXPECT_TRUE(second.report.resumed());
  EXPECT_EQ(second.report.total_steps(), whole.report.total_steps());
  EXPECT_LT(second.report.steps(), whole.report.steps());
  EXPECT_EQ(second.report.content_digest(), whole.report.content_digest());
}

TEST(EmbeddedJobTest, AFinishedJobIsNotRunAgain) {
  EmbeddedJob job;
  ExpectFinished(job.Run({1, 1, 1}, {}));
  const EmbeddedJob::End again = job.Run({1, 1, 1}, {});
  ExpectFinished(again);
  EXPECT_TRUE(again.report.was_finished());
  EXPECT_EQ(again.report.steps(), 0u);
}

TEST(EmbeddedJobTest, AChangedJobIsRefusedWithTheDifference) {
  EmbeddedJob job;
  ExpectFinished(job.Run({1, 1, 1}, {}));
  const EmbeddedJob::End again = job.Run({1, 1, 1}, {"model.embedding_dim=6"});
  EXPECT_EQ(again.report.state(), "failed");
  EXPECT_THAT(again.report.message(), HasSubstr("model.embedding_dim"));
  EXPECT_FALSE(again.workers[0].ok());
}

TEST(EmbeddedJobTest, ABadRowStopsEverybodyAndIsNamed) {
  EmbeddedJob job;
  job.WriteRows("train.csv", 0, 300, "1,u1,i1\n");
  const EmbeddedJob::End end = job.Run({1, 2, 1}, {});
  EXPECT_EQ(end.report.state(), "failed");
  EXPECT_THAT(end.report.message(), HasSubstr("train.csv:302"));
  for (const absl::Status& worker : end.workers) EXPECT_THAT(std::string(worker.message()), HasSubstr("train.csv:302"));
}

TEST(EmbeddedJobTest, ADivergingModelStopsTheJobWithStepAndRows) {
  EmbeddedJob job;
  const EmbeddedJob::End end =
      job.Run({1, 1, 1}, {"optimizers.dense={sgd: {learning_rate: 1e30}}", "optimizers.sparse={sgd: {learning_rate: 1e30}}"});
  EXPECT_EQ(end.report.state(), "failed");
  EXPECT_THAT(end.report.message(), HasSubstr("step "));
  EXPECT_THAT(end.report.message(), HasSubstr("the model diverged: "));
  EXPECT_THAT(end.report.message(), HasSubstr("[worker 1"));
  EXPECT_THAT(end.report.message(), HasSubstr("train.csv:"));
}

// Loads the final checkpoint into a server of its own, as `tessera evaluate` does.
TEST(EmbeddedJobTest, AScorerOverTheCheckpointAgreesWithTheFinalEvaluation) {
  EmbeddedJob job;
  const EmbeddedJob::End end = job.Run({2, 2, 1}, {});
  ExpectFinished(end);
  const absl::StatusOr<CheckpointStore::Entry> entry = FindCheckpoint(job.folder() / "checkpoints");
  ASSERT_TRUE(entry.ok()) << entry.status();
  const Plan& plan = entry->manifest.plan();
  std::vector<float> first;
  for (int threads : {1, 3}) {
    ThreadPool pool(threads);
    Server server({"made-up", 0, 1, job.folder() / "scoring"}, &pool);
    OpenRequest open;
    open.mutable_peer()->set_job("made-up");
    open.mutable_peer()->set_incarnation(1);
    open.mutable_peer()->set_shards(1);
    open.set_seed(plan.job().seed());
    *open.mutable_table() = plan.table();
    *open.mutable_variables() = plan.variables();
    open.set_restore_from(entry->folder);
    OpenReply opened;
    ASSERT_TRUE(server.Open(open, &opened).ok());
    ParameterClient::Options peer;
    peer.job = "made-up";
    peer.incarnation = 1;
    auto scorer = Scorer::Create(plan, {&server}, peer, &pool, Clock::Real());
    ASSERT_TRUE(scorer.ok()) << scorer.status();
    auto input = Input::Open(plan, plan.evaluate(), ReadOptions());
    ASSERT_TRUE(input.ok()) << input.status();
    std::vector<uint64_t> blocks((*input)->block_count());
    std::iota(blocks.begin(), blocks.end(), 0);
    ScoreCounter counter;
    std::vector<float> logits;
    const absl::Status scored = (*scorer)->Score(input->get(), blocks, nullptr, {}, [&](const ScoredRows& run) {
      counter.Add(run.block, run.logits, run.labels());
      logits.insert(logits.end(), run.logits.begin(), run.logits.end());
      return absl::OkStatus();
    });
    ASSERT_TRUE(scored.ok()) << scored;
    EXPECT_EQ(counter.Finish().SerializeAsString(), end.report.evaluation().SerializeAsString());
    if (first.empty()) first = logits;
    EXPECT_EQ(logits, first) << "at any number of threads";
    EXPECT_EQ(logits.size(), 200u);
  }
}

}  // namespace
}  // namespace tessera
