#include "tools/served_table.h"

#include <algorithm>
#include <memory>
#include <set>

#include "common/packed.h"
#include "common/partition.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

// Holds ids, and knows them by partition.
class IdServer : public ParameterServerApi {
 public:
  IdServer(uint32_t shard, uint32_t shards) : shard_(shard), shards_(shards) {}
  absl::Status Open(const OpenRequest&, OpenReply*) override { return absl::OkStatus(); }
  absl::Status Pull(const PullRequest&, PullReply*) override { return absl::OkStatus(); }
  absl::Status Stage(const StageRequest&, StageReply*) override { return absl::OkStatus(); }
  absl::Status Push(const PushRequest&, PushReply*) override { return absl::OkStatus(); }
  absl::Status Fence(const FenceRequest&, FenceReply*) override { return absl::OkStatus(); }
  absl::Status Commit(const CommitRequest&, CommitReply*) override { return absl::OkStatus(); }
  absl::Status Save(const SaveRequest&, SaveReply*) override { return absl::OkStatus(); }
  absl::Status DescribeServer(const DescribeServerRequest&, DescribeServerReply* reply) override {
    reply->set_job("job");
    reply->set_incarnation(4);
    reply->set_shard(shard_);
    reply->set_shards(shards_);
    TableStatus* table = reply->mutable_table();
    table->set_name("features");
    table->set_rows(ids.size());
    table->set_inserted(ids.size() + 3);
    table->set_evicted(2);
    table->set_refused(1);
    table->set_write_back_rows_per_second(10);
    return absl::OkStatus();
  }
  absl::Status GetRows(const GetRowsRequest& request, GetRowsReply* reply) override {
    CheckPeer(request.peer());
    const absl::Span<const uint64_t> asked = PackedView<uint64_t>(request.ids(), "ids").value();
    for (const uint64_t id : asked) {
      StoredRow* row = reply->add_rows();
      row->set_id(id);
      row->set_found(ids.count(id) > 0);
    }
    return absl::OkStatus();
  }
  absl::Status Evict(const EvictRequest& request, EvictReply* reply) override {
    CheckPeer(request.peer());
    EXPECT_EQ(ShardOf(request.partition(), shards_), shard_);
    rules.push_back(request.rule());
    for (const uint64_t id : std::set<uint64_t>(ids)) {
      if (PartitionOf(id) != request.partition() || id % 2 == 0) continue;
      AppendPacked(absl::MakeConstSpan(&id, 1), reply->mutable_ids());
      if (!request.dry_run()) ids.erase(id);
    }
    return absl::OkStatus();
  }
  std::set<uint64_t> ids;
  std::vector<Eviction> rules;

 private:
  void CheckPeer(const Peer& peer) const {
    EXPECT_EQ(peer.job(), "job");
    EXPECT_EQ(peer.incarnation(), 4u);
    EXPECT_EQ(peer.map_version(), 1u);
    EXPECT_EQ(peer.shard(), shard_);
    EXPECT_EQ(peer.shards(), shards_);
  }
  const uint32_t shard_, shards_;
};

class ServedTableTest : public ::testing::Test {
 protected:
  ServedTableTest() {
    for (uint32_t s = 0; s < 3; ++s) servers_.push_back(std::make_unique<IdServer>(s, 3));
    for (uint64_t id = 0; id < 1000; ++id) servers_[ShardOf(PartitionOf(id), 3)]->ids.insert(id);
  }
  std::vector<ParameterServerApi*> Apis() const {
    std::vector<ParameterServerApi*> apis;
    for (const auto& server : servers_) apis.push_back(server.get());
    return apis;
  }
  std::vector<std::unique_ptr<IdServer>> servers_;
};

TEST_F(ServedTableTest, TheTotalIsTheSumOverServers) {
  const TableStatus total = ServedTable::Open(Apis())->Total();
  EXPECT_EQ(total.name(), "features");
  EXPECT_EQ(total.rows(), 1000u);
  EXPECT_EQ(total.inserted(), total.rows() + total.evicted() + total.refused());
  EXPECT_EQ(total.write_back_rows_per_second(), 30);
}

TEST_F(ServedTableTest, ServersInAnotherOrderAreRefused) {
  std::vector<ParameterServerApi*> apis = Apis();
  std::swap(apis[1], apis[2]);
  EXPECT_EQ(ServedTable::Open(apis).status().code(), absl::StatusCode::kFailedPrecondition);
  apis.pop_back();
  EXPECT_THAT(std::string(ServedTable::Open(apis).status().message()), HasSubstr("order of their shards"));
}

TEST_F(ServedTableTest, ARowIsAskedForWhereItLives) {
  const ServedTable table = *ServedTable::Open(Apis());
  for (const uint64_t id : {0, 1, 2, 3, 500, 999}) {
    const auto row = table.Get(id);
    ASSERT_TRUE(row.ok()) << row.status();
    EXPECT_TRUE(row->row.found());
    EXPECT_EQ(row->server, ShardOf(PartitionOf(id), 3));
  }
  EXPECT_FALSE(table.Get(1000)->row.found());
}

TEST_F(ServedTableTest, ADryRunNamesWhatIsThenEvicted) {
  const ServedTable table = *ServedTable::Open(Apis());
  Eviction rule;
  rule.set_norm(0.5);
  std::vector<uint64_t> named = *table.Evict(rule, /*dry_run=*/true);
  EXPECT_EQ(named.size(), 500u);
  EXPECT_EQ(*table.Evict(rule, /*dry_run=*/false), named);
  EXPECT_TRUE(table.Evict(Eviction(), /*dry_run=*/false)->empty());
  EXPECT_EQ(servers_[0]->rules.front().norm(), 0.5);
  EXPECT_FALSE(servers_[0]->rules.back().has_norm()) << "the rule of the job";
}

}  // namespace
}  // namespace tessera
