// Batches whose gradients are not finite: named, left out whole, counted, and too many of them end the job.
#include <atomic>
#include <cmath>

#include "common/packed.h"
#include "gmock/gmock.h"
#include "tests/unit/train/embedded_job.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A server whose answers to some pulls hold a value that is not a number, as a broken memory would: what is computed from it must not be kept.
class PoisonedServer : public ParameterServerApi {
 public:
  // Says which training pulls are poisoned.
  using Poisons = std::function<bool(const PullRequest&)>;
  PoisonedServer(ParameterServerApi* api, const Poisons* poisons) : api_(api), poisons_(poisons) {}

  absl::Status Pull(const PullRequest& request, PullReply* reply) override {
    if (absl::Status status = api_->Pull(request, reply); !status.ok()) return status;
    if (request.evaluation() || reply->values().empty() || !(*poisons_)(request)) return absl::OkStatus();
    PackedResize<float>(reply->mutable_values(), reply->values().size() / sizeof(float))[0] = std::nanf("");
    return absl::OkStatus();
  }
  absl::Status Open(const OpenRequest& request, OpenReply* reply) override { return api_->Open(request, reply); }
  absl::Status Stage(const StageRequest& request, StageReply* reply) override { return api_->Stage(request, reply); }
  absl::Status Push(const PushRequest& request, PushReply* reply) override { return api_->Push(request, reply); }
  absl::Status Fence(const FenceRequest& request, FenceReply* reply) override { return api_->Fence(request, reply); }
  absl::Status Commit(const CommitRequest& request, CommitReply* reply) override { return api_->Commit(request, reply); }
  absl::Status Save(const SaveRequest& request, SaveReply* reply) override { return api_->Save(request, reply); }
  absl::Status DescribeServer(const DescribeServerRequest& request, DescribeServerReply* reply) override {
    return api_->DescribeServer(request, reply);
  }

 private:
  ParameterServerApi* const api_;
  const Poisons* const poisons_;
};

class RefusalsTest : public ::testing::Test {
 protected:
  RefusalsTest() {
    job_.wrap = [this](ParameterServerApi* api) { return std::make_unique<PoisonedServer>(api, &poisons_); };
  }
  EmbeddedJob job_;
  PoisonedServer::Poisons poisons_ = [](const PullRequest&) { return false; };
};

TEST_F(RefusalsTest, TheFirstOneEndsTheJobWithWorkerTableFieldAndStep) {
  poisons_ = [](const PullRequest& request) { return request.step() == 4; };
  const EmbeddedJob::End end = job_.Run({2, 2, 1}, {});
  EXPECT_EQ(end.report.state(), "failed");
  EXPECT_THAT(end.report.message(), AllOf(HasSubstr("step 4: the model diverged: gradient of "), HasSubstr(" of table features, field "),
                                          HasSubstr(" is nan"), HasSubstr("train.csv:"), HasSubstr("[worker "),
                                          HasSubstr("2 batches were left out"), HasSubstr("training.refusals_max allows 0")));
  EXPECT_EQ(end.report.refused_batches(), 2u) << "both shares of the step";
  for (const absl::Status& worker : end.workers) EXPECT_EQ(worker.message(), end.report.message());
}

// Whole steps are left out, so that it does not matter who computes which share.
TEST_F(RefusalsTest, AStepThatIsLeftOutChangesNothingAtAnyNumberOfWorkersAndServers) {
  std::string digest;
  for (const auto& cluster : std::vector<EmbeddedJob::Cluster>{{1, 1, 1}, {2, 3, 2}, {3, 2, 1}}) {
    SCOPED_TRACE(absl::StrCat(cluster.servers, " servers, ", cluster.workers, " workers"));
    job_.Forget();
    poisons_ = [](const PullRequest& request) { return request.step() == 3 || request.step() == 7; };
    const EmbeddedJob::End end = job_.Run(cluster, {"training.shares=4", "training.refusals_max=8", "data.evaluate.holdout=0"});
    ASSERT_EQ(end.report.state(), "finished") << end.report.message();
    EXPECT_EQ(end.report.refused_batches(), 8u);
    EXPECT_EQ(end.report.refused_rows(), 2 * 64u);
    EXPECT_EQ(end.report.rows() + end.report.refused_rows(), 3 * 600u) << "no row is dropped without being counted";
    EXPECT_THAT(end.report.refusal(), AllOf(HasSubstr("step 7: "), HasSubstr(", field "), HasSubstr("[worker ")));
    if (digest.empty()) digest = end.report.content_digest();
    EXPECT_EQ(end.report.content_digest(), digest);
  }
}

TEST_F(RefusalsTest, OneMoreThanAllowedEndsTheJobInBothModes) {
  for (const char* mode : {"sync", "async"}) {
    SCOPED_TRACE(mode);
    job_.Forget();
    std::atomic<int> pulls{0};
    // Of every third pull; at one server each batch is one pull.
    poisons_ = [&](const PullRequest&) { return ++pulls % 3 == 0; };
    const std::vector<std::string> sets = {absl::StrCat("training.mode=", mode), "training.refusals_max=4"};
    const EmbeddedJob::End end = job_.Run({1, 1, 1}, sets);
    EXPECT_EQ(end.report.state(), "failed");
    EXPECT_EQ(end.report.refused_batches(), 5u);
    EXPECT_THAT(end.report.message(), AllOf(HasSubstr(" of table features, field "), HasSubstr("step "), HasSubstr("[worker 1"),
                                            HasSubstr("5 batches were left out"), HasSubstr("training.refusals_max allows 4")));
    for (const absl::Status& worker : end.workers) EXPECT_EQ(worker.message(), end.report.message());
  }
}

TEST_F(RefusalsTest, AsManyAsAllowedAreLeftOutAndCounted) {
  for (const char* mode : {"sync", "async"}) {
    SCOPED_TRACE(mode);
    job_.Forget();
    std::atomic<int> pulls{0};
    poisons_ = [&](const PullRequest&) { return ++pulls % 7 == 0 && pulls < 30; };
    const EmbeddedJob::End end =
        job_.Run({1, 1, 1}, {absl::StrCat("training.mode=", mode), "training.refusals_max=4", "data.evaluate.holdout=0"});
    EXPECT_EQ(end.report.state(), "finished") << end.report.message();
    EXPECT_EQ(end.report.refused_batches(), 4u);
    EXPECT_GT(end.report.refused_rows(), 4 * 10u);
    EXPECT_EQ(end.report.rows() + end.report.refused_rows(), 3 * 600u);
    EXPECT_GT(end.report.evaluation().auc(), 0.5);
  }
}

// The count is part of the checkpoint: a job that was interrupted has no more of them than one that was not.
TEST_F(RefusalsTest, AResumedRunGoesOnCounting) {
  poisons_ = [](const PullRequest& request) { return request.step() == 2 || request.step() == 20; };
  const std::vector<std::string> sets = {"training.shares=1", "training.refusals_max=1"};
  const EmbeddedJob::End first = job_.Run({1, 1, 1}, sets, /*stop_after_steps=*/5);
  ASSERT_EQ(first.report.state(), "interrupted") << first.report.message();
  EXPECT_EQ(first.report.refused_batches(), 1u);
  const EmbeddedJob::End second = job_.Run({1, 1, 1}, sets);
  EXPECT_EQ(second.report.state(), "failed");
  EXPECT_THAT(second.report.message(), HasSubstr("2 batches were left out"));
  const EmbeddedJob::End third = job_.Run({1, 1, 1}, {"training.shares=1", "training.refusals_max=2"});
  EXPECT_EQ(third.report.state(), "finished") << third.report.message();
  EXPECT_EQ(third.report.refused_batches(), 2u);
}

}  // namespace
}  // namespace tessera
