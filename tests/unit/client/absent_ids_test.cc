// Ids that a server has no row for, between the client and servers.
#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/client/client_cluster.h"
#include "worker/batch/rare_rows.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class AbsentIdsTest : public ::testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Shards, AbsentIdsTest, ::testing::Values(1, 3, 256));

// Rows of one field: id i of `ids` stands i mod 3 + 1 times.
Batch RepeatedIds(uint64_t ids, std::vector<uint64_t> rare_ids) {
  Rows made;
  made.fields = 1;
  for (uint64_t i = 0; i < ids; ++i) {
    for (uint64_t k = 0; k <= i % 3; ++k) {
      made.labels.push_back(0);
      made.keys.push_back(i);
      made.ids.push_back(Mix64(i));
    }
  }
  return MakeBatch(std::move(made), rare_ids);
}

TEST_P(AbsentIdsTest, AreSightedAtTheirOwnServerAndSummedAtTheRareRows) {
  const Plan plan = ClientPlan();
  ClientCluster cluster(plan, GetParam());
  const uint64_t rare = 77;
  std::set<uint64_t> absent = {rare};
  for (uint64_t i = 0; i < 900; i += 2) absent.insert(Mix64(i));
  for (const auto& server : cluster.servers) server->SetAbsent(absent);
  Batch batch = RepeatedIds(900, {rare});
  PulledValues values;
  ASSERT_TRUE(cluster.client->Pull(batch, 5, nullptr, false, &values).ok());
  ASSERT_EQ(values.absent.size(), absent.size());
  EXPECT_TRUE(std::is_sorted(values.absent.begin(), values.absent.end()));
  for (const uint32_t i : values.absent) EXPECT_EQ(absent.count(batch.unique_ids[i]), 1u);
  UseRareRows(values.absent, &batch);
  ASSERT_TRUE(cluster.client->Stage(batch, 5, Decision(), 0, values.rows, values.dense).ok());
  std::map<uint64_t, std::pair<uint32_t, float>> taken;
  std::map<uint64_t, uint32_t> sighted;
  for (const auto& server : cluster.servers) {
    ASSERT_EQ(server->stages().size(), 1u) << "also a shard without an id";
    taken.merge(server->taken());
    sighted.merge(server->sighted());
  }
  uint32_t turned_over = 0;
  for (uint64_t i = 0; i < 900; ++i) {
    if (i % 2 == 0) {
      EXPECT_EQ(sighted[Mix64(i)], i % 3 + 1);
      turned_over += i % 3 + 1;
    } else {
      EXPECT_EQ(taken[Mix64(i)].first, i % 3 + 1);
    }
  }
  EXPECT_EQ(sighted.size(), 450u);
  EXPECT_EQ(taken.size(), 451u);
  EXPECT_EQ(taken[rare].first, turned_over);
}

TEST(AbsentIdsPartsTest, LargeBatchesStayBelowTheLimit) {
  const Plan plan = ClientPlan(64);
  ClientCluster cluster(plan, 1);
  std::set<uint64_t> absent;
  for (uint64_t i = 0; i < 100000; i += 3) absent.insert(Mix64(i));
  cluster.servers[0]->SetAbsent(absent);
  Batch batch = RepeatedIds(100000, {77});
  PulledValues values;
  ASSERT_TRUE(cluster.client->Pull(batch, 1, nullptr, false, &values).ok());
  EXPECT_GT(cluster.servers[0]->pulls().size(), 3u);
  ASSERT_EQ(values.absent.size(), absent.size());
  UseRareRows(values.absent, &batch);
  ASSERT_TRUE(cluster.client->Stage(batch, 1, Decision(), 0, values.rows, values.dense).ok());
  EXPECT_EQ(cluster.servers[0]->sighted().size(), absent.size());
  EXPECT_EQ(cluster.servers[0]->taken().size(), 100000 - absent.size() + 1);
}

TEST(AbsentIdsPartsTest, WithoutRareRowsNothingIsAbsent) {
  const Plan plan = ClientPlan();
  ClientCluster cluster(plan, 2);
  for (const auto& server : cluster.servers) server->SetAbsent({Mix64(1), Mix64(2)});
  PulledValues values;
  ASSERT_TRUE(cluster.client->Pull(RepeatedIds(9, {}), 1, nullptr, true, &values).ok());
  EXPECT_THAT(values.absent, IsEmpty());
}

TEST(AbsentIdsPartsTest, TooManyOrTooFewBitsAreRefused) {
  const Plan plan = ClientPlan();
  ClientCluster cluster(plan, 2);
  cluster.servers[1]->AnswerWrongAbsent();
  PulledValues values;
  const absl::Status status = cluster.client->Pull(RepeatedIds(200, {77}), 1, nullptr, false, &values);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("server 1"));
}

}  // namespace
}  // namespace tessera
