#include "worker/client/parameter_client.h"

#include <memory>
#include <numeric>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/client/client_cluster.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

Batch MadeBatch(size_t rows, uint32_t fields, uint64_t ids) {
  Rows made;
  made.fields = fields;
  for (size_t i = 0; i < rows; ++i) {
    made.labels.push_back(0);
    made.keys.push_back(i);
    for (uint32_t f = 0; f < fields; ++f) made.ids.push_back(Mix64((i * fields + f) % ids));
  }
  return MakeBatch(std::move(made));
}

class ParameterClientShardsTest : public ::testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Shards, ParameterClientShardsTest, ::testing::Values(1, 2, 3, 8, 256));

TEST_P(ParameterClientShardsTest, APullPutsEveryValueAtItsPlace) {
  const Plan plan = ClientPlan();
  ClientCluster cluster(plan, GetParam());
  const Batch batch = MadeBatch(300, 7, 900);
  PulledValues values;
  ASSERT_TRUE(cluster.client->Pull(batch, 0, nullptr, false, &values).ok());
  ASSERT_EQ(values.rows.size(), batch.unique_ids.size() * 5);
  for (size_t i = 0; i < batch.unique_ids.size(); ++i) {
    for (uint32_t c = 0; c < 5; ++c) ASSERT_EQ(values.rows[i * 5 + c], ValueOf(batch.unique_ids[i], c));
  }
  std::vector<float> places(3 * kDenseChunkFloats + 5 + 1 + 70);
  std::iota(places.begin(), places.end(), 0.0f);
  EXPECT_EQ(values.dense, places);
  EXPECT_EQ(values.step, 40u);
}

TEST(ParameterClientTest, DenseValuesOfAnySizeTravelInSlices) {
  Plan plan = ClientPlan();
  plan.mutable_variables(0)->set_shape(0, uint64_t{300} * kDenseChunkFloats);
  const size_t floats = 300 * kDenseChunkFloats + 1 + 70;
  ClientCluster cluster(plan, 1);
  const Batch batch = MadeBatch(10, 3, 20);
  PulledValues values;
  ASSERT_TRUE(cluster.client->Pull(batch, 0, nullptr, false, &values).ok());
  std::vector<float> places(floats);
  std::iota(places.begin(), places.end(), 0.0f);
  EXPECT_EQ(values.dense, places);
  ASSERT_TRUE(cluster.client->Stage(batch, 1, Decision(), 0, values.rows, values.dense).ok());
  EXPECT_EQ(cluster.servers[0]->stages().size(), 3u);
  EXPECT_EQ(cluster.servers[0]->taken_dense(), places);
}

TEST_P(ParameterClientShardsTest, AStageReachesEveryShardWithItsOwnPart) {
  const Plan plan = ClientPlan();
  ClientCluster cluster(plan, GetParam());
  const Batch batch = MadeBatch(10, 3, 20);
  std::vector<float> rows(batch.unique_ids.size() * 5), dense(3 * kDenseChunkFloats + 5 + 1 + 70);
  for (size_t i = 0; i < batch.unique_ids.size(); ++i) rows[i * 5] = static_cast<float>(i);
  std::iota(dense.begin(), dense.end(), 0.0f);
  Decision decision;
  decision.set_step(11);
  ASSERT_TRUE(cluster.client->Stage(batch, 12, decision, 2, rows, dense).ok());
  std::map<uint64_t, std::pair<uint32_t, float>> taken;
  for (const auto& server : cluster.servers) {
    ASSERT_EQ(server->stages().size(), 1u) << "also a shard without an id";
    EXPECT_EQ(server->stages()[0].step(), 12u);
    EXPECT_EQ(server->stages()[0].decision().step(), 11u);
    EXPECT_EQ(server->stages()[0].share(), 2u);
    EXPECT_EQ(server->stages()[0].parts(), 1u);
    EXPECT_EQ(server->taken_dense(), server->dense());
    taken.merge(server->taken());
  }
  ASSERT_EQ(taken.size(), batch.unique_ids.size());
  for (size_t i = 0; i < batch.unique_ids.size(); ++i) {
    EXPECT_EQ(taken[batch.unique_ids[i]].first, batch.occurrence_begin[i + 1] - batch.occurrence_begin[i]);
    EXPECT_EQ(taken[batch.unique_ids[i]].second, static_cast<float>(i));
  }
}

TEST_P(ParameterClientShardsTest, PushesCountFromOneWithoutGaps) {
  const Plan plan = ClientPlan();
  ClientCluster cluster(plan, GetParam());
  const std::vector<float> dense(3 * kDenseChunkFloats + 5 + 1 + 70);
  for (uint64_t seed : {1, 2, 3}) {
    Rows made;
    made.fields = 1;
    made.labels = {0};
    made.keys = {0};
    made.ids = {seed};
    const Batch batch = MakeBatch(std::move(made));
    ParameterClient::PushOptions options;
    options.divisor = 16;
    options.task_done.set_task(4);
    uint64_t staleness = 0;
    ASSERT_TRUE(cluster.client->Push(batch, options, std::vector<float>(5), dense, &staleness).ok());
  }
  for (const auto& server : cluster.servers) {
    ASSERT_EQ(server->pushes().size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(server->pushes()[i].sequence(), i + 1);
      EXPECT_EQ(server->pushes()[i].divisor(), 16);
      EXPECT_EQ(server->pushes()[i].task_done().task(), 4u);
      EXPECT_TRUE(server->pushes()[i].last_part());
    }
  }
}

TEST(ParameterClientTest, ALargeBatchIsCutBelowTheLimitAndPutTogether) {
  const Plan plan = ClientPlan(64);
  ClientCluster cluster(plan, 1);
  const Batch batch = MadeBatch(100000, 1, 100000);
  ASSERT_GT(batch.unique_ids.size() * 65 * sizeof(float), 3 * kPayloadBytesTarget);
  PulledValues values;
  ASSERT_TRUE(cluster.client->Pull(batch, 0, nullptr, false, &values).ok());
  for (size_t i = 0; i < batch.unique_ids.size(); ++i) ASSERT_EQ(values.rows[i * 65 + 64], ValueOf(batch.unique_ids[i], 64));
  EXPECT_EQ(cluster.servers[0]->pulls().size(), 4u);

  ASSERT_TRUE(cluster.client->Stage(batch, 1, Decision(), 0, values.rows, values.dense).ok());
  const std::vector<StageRequest> stages = cluster.servers[0]->stages();
  ASSERT_EQ(stages.size(), 4u);
  for (uint32_t part = 0; part < 4; ++part) {
    EXPECT_EQ(stages[part].part(), part);
    EXPECT_EQ(stages[part].parts(), 4u);
  }
  EXPECT_EQ(cluster.servers[0]->taken().size(), batch.unique_ids.size());
  EXPECT_EQ(cluster.taken_dense(), values.dense) << "dense sums travel once";
}

TEST(ParameterClientTest, AServerThatIsAwayForAMomentIsCalledAgain) {
  const Plan plan = ClientPlan();
  ClientCluster cluster(plan, 2);
  const Batch batch = MadeBatch(10, 3, 20);
  PulledValues values;
  cluster.servers[1]->FailNext({absl::UnavailableError("a"), absl::DeadlineExceededError("b"), absl::UnavailableError("c")});
  const absl::Time begin = cluster.clock.Now();
  ASSERT_TRUE(cluster.client->Pull(batch, 0, nullptr, false, &values).ok());
  EXPECT_EQ(cluster.clock.Now() - begin, absl::Milliseconds(50 + 100 + 200)) << "each wait is twice the one before";
}

TEST(ParameterClientTest, AServerThatStaysAwayIsNamedWithTheTimeItWasTried) {
  const Plan plan = ClientPlan();
  ClientCluster cluster(plan, 2, absl::Seconds(90));
  cluster.servers[1]->FailNext(std::deque<absl::Status>(1000, absl::UnavailableError("server 1 at 10.0.0.2:7001: connection refused")));
  PulledValues values;
  const absl::Time begin = cluster.clock.Now();
  const absl::Status status = cluster.client->Pull(MadeBatch(10, 3, 20), 0, nullptr, false, &values);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "server 1 at 10.0.0.2:7001: connection refused (tried for 1m30s)");
  EXPECT_EQ(cluster.clock.Now() - begin, absl::Seconds(90));
}

TEST(ParameterClientTest, AServerThatIsFullForAMomentIsCalledAgain) {
  const Plan plan = ClientPlan();
  ClientCluster cluster(plan, 2);
  const Batch batch = MadeBatch(10, 3, 20);
  PulledValues values;
  const absl::Status full = absl::ResourceExhaustedError("full: the log has 4 GiB (storage.log_per_server)");
  const absl::Status remote = absl::ResourceExhaustedError("server 1 at 10.0.0.2:7001: full: no space left on device");
  cluster.servers[1]->FailNext({full, remote});
  ASSERT_TRUE(cluster.client->Pull(batch, 0, nullptr, false, &values).ok());
  cluster.servers[1]->FailNext({remote, remote});
  ASSERT_TRUE(cluster.client->Stage(batch, 1, Decision(), 0, values.rows, values.dense).ok());
  ClientCluster pushed(plan, 1);
  pushed.servers[0]->FailNext({full});
  uint64_t staleness = 0;
  ASSERT_TRUE(pushed.client->Push(batch, {}, values.rows, values.dense, &staleness).ok());
  ASSERT_EQ(pushed.servers[0]->pushes().size(), 1u);
  EXPECT_EQ(pushed.servers[0]->pushes()[0].sequence(), 1u);
}

TEST(ParameterClientTest, AServerThatStaysFullEndsInItsOwnWords) {
  const Plan plan = ClientPlan();
  ClientCluster cluster(plan, 1, absl::Seconds(90));
  cluster.servers[0]->FailNext(std::deque<absl::Status>(1000, absl::ResourceExhaustedError("full: no space left on /state")));
  PulledValues values;
  const absl::Time begin = cluster.clock.Now();
  const absl::Status status = cluster.client->Pull(MadeBatch(10, 3, 20), 0, nullptr, false, &values);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "full: no space left on /state (tried for 1m30s)");
  EXPECT_EQ(cluster.clock.Now() - begin, absl::Seconds(90));
}

TEST(ParameterClientTest, AMessageThatIsTooLargeIsNotSentAgain) {
  const Plan plan = ClientPlan();
  for (const char* words : {"server 0 at h:1: Received message larger than max (71000000 vs. 67108864)", "Sent message larger than max", "joyful: "}) {
    ClientCluster cluster(plan, 1);
    cluster.servers[0]->FailNext({absl::ResourceExhaustedError(words)});
    PulledValues values;
    const absl::Time begin = cluster.clock.Now();
    EXPECT_EQ(cluster.client->Pull(MadeBatch(10, 3, 20), 0, nullptr, false, &values), absl::ResourceExhaustedError(words));
    EXPECT_EQ(cluster.clock.Now(), begin);
  }
}

TEST(ParameterClientTest, ARefusalIsNotRetried) {
  const Plan plan = ClientPlan();
  for (const absl::Status& refusal : {absl::FailedPreconditionError("wrong peer"), absl::AbortedError("step over"),
                                      absl::DataLossError("state lost"), absl::InvalidArgumentError("bug")}) {
    ClientCluster cluster(plan, 1);
    cluster.servers[0]->FailNext({refusal});
    PulledValues values;
    EXPECT_EQ(cluster.client->Pull(MadeBatch(10, 3, 20), 0, nullptr, false, &values), refusal);
  }
}

TEST(ParameterClientTest, AStoppedWorkerDoesNotWaitForAServer) {
  const Plan plan = ClientPlan();
  const std::atomic<bool> stopping = true;
  ClientCluster cluster(plan, 1, absl::Hours(1), &stopping);
  cluster.servers[0]->FailNext({absl::UnavailableError("away")});
  PulledValues values;
  EXPECT_EQ(cluster.client->Pull(MadeBatch(10, 3, 20), 0, nullptr, false, &values).code(), absl::StatusCode::kCancelled);
}

TEST(ParameterClientTest, AnAnswerOfTheWrongSizeIsRefused) {
  const Plan plan = ClientPlan();
  ClientCluster cluster(plan, 2);
  cluster.servers[1]->AnswerWrongSize();
  PulledValues values;
  const absl::Status status = cluster.client->Pull(MadeBatch(10, 3, 20), 0, nullptr, false, &values);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("server 1"));
}

TEST(ParameterClientTest, DecisionAndEvaluationTravelWithEveryPart) {
  const Plan plan = ClientPlan();
  ClientCluster cluster(plan, 3);
  Decision decision;
  decision.set_step(6);
  PulledValues values;
  ASSERT_TRUE(cluster.client->Pull(MadeBatch(10, 3, 20), 7, &decision, true, &values).ok());
  for (const auto& server : cluster.servers) {
    ASSERT_EQ(server->pulls().size(), 1u);
    EXPECT_EQ(server->pulls()[0].step(), 7u);
    EXPECT_EQ(server->pulls()[0].decision().step(), 6u);
    EXPECT_TRUE(server->pulls()[0].evaluation());
  }
}

}  // namespace
}  // namespace tessera
