// Which rows leave, at any number of servers, and what the server says about it.
#include <map>
#include <set>

#include "tests/unit/ps_server/server_fixture.h"

namespace tessera {
namespace {

using Ids = std::vector<uint64_t>;

// Servers that are trained step after step by one share.
class Evicting {
 public:
  Evicting(uint32_t shards, const Eviction& rule) : group_(shards) {
    *group_.spec().mutable_eviction() = rule;
    EXPECT_TRUE(group_.Open().ok());
  }

  // Gradients that are a function of the ids and `key`.
  ShareGradients Gradients(const Ids& ids, uint64_t key) const {
    ShareGradients share;
    share.ids = ids;
    for (uint64_t id : ids) {
      RandomSequence random(MixKey(id, key));
      for (uint32_t k = 0; k < kDim; ++k) share.values.push_back(UniformFloat(random.Next()) - 0.5f);
    }
    share.dense.assign(group_.dense_floats(), 0);
    return share;
  }

  void Train(const Ids& ids, uint64_t key) {
    const ShareGradients share = Gradients(ids, key);
    ASSERT_TRUE(group_.Stage(step_ + 1, last_, share).ok());
    last_ = Decide(++step_, {share});
    ASSERT_TRUE(group_.Pull(step_ + 1, &last_, {}).ok());
  }

  // To every server, as async does it.
  void Push(const Ids& ids, uint32_t period) {
    const ShareGradients share = Gradients(ids, ++step_);
    for (uint32_t s = 0; s < group_.shards(); ++s) {
      PushRequest request;
      *request.mutable_peer() = group_.MakePeer(s);
      request.set_sequence(step_);
      request.set_optimizer_step(step_);
      request.set_sparse_learning_rate(0.05);
      request.set_dense_learning_rate(0.01);
      request.set_divisor(10);
      request.set_period(period);
      group_.FillGradients(s, share, 0, 1, request.mutable_gradients());
      PushReply reply;
      const absl::Status status = group_.server(s).Push(request, &reply);
      ASSERT_TRUE(status.ok()) << status;
    }
  }

  // By hand, on all servers; ascending.
  Ids Evict(const Eviction* rule, bool dry_run) {
    std::set<uint64_t> ids;
    for (uint32_t s = 0; s < group_.shards(); ++s) {
      for (uint32_t p = 0; p < kPartitions; ++p) {
        EvictRequest request;
        *request.mutable_peer() = group_.MakePeer(s);
        if (rule != nullptr) *request.mutable_rule() = *rule;
        request.set_partition(p);
        request.set_dry_run(dry_run);
        EvictReply reply;
        EXPECT_TRUE(group_.server(s).Evict(request, &reply).ok());
        const auto found = PackedView<uint64_t>(reply.ids(), "ids").value();
        ids.insert(found.begin(), found.end());
      }
    }
    return Ids(ids.begin(), ids.end());
  }

  StoredRow Row(uint64_t id) {
    GetRowsRequest request;
    AppendPacked<uint64_t>({&id, 1}, request.mutable_ids());
    GetRowsReply reply;
    EXPECT_TRUE(group_.server(ShardOf(PartitionOf(id), group_.shards())).GetRows(request, &reply).ok());
    return reply.rows(0);
  }

  // Those of `ids` that have a row.
  std::set<uint64_t> Present(const Ids& ids) {
    std::set<uint64_t> present;
    for (uint64_t id : ids) {
      if (Row(id).found()) present.insert(id);
    }
    return present;
  }

  // Of all servers; checks that none of them has lost count of a row.
  TableStatus Total() {
    TableStatus total;
    for (uint32_t s = 0; s < group_.shards(); ++s) {
      const TableStatus table = group_.Describe(s).table();
      EXPECT_EQ(table.inserted(), table.rows() + table.evicted() + table.refused()) << "server " << s;
      total.set_rows(total.rows() + table.rows());
      total.set_inserted(total.inserted() + table.inserted());
      total.set_evicted(total.evicted() + table.evicted());
    }
    return total;
  }

  PulledState State() { return group_.Pull(step_ + 1, &last_, WorldIds()).value(); }
  std::vector<float> Values(uint64_t id) { return group_.Pull(step_ + 1, &last_, {id}).value().values; }

 private:
  ServerGroup group_;
  Decision last_ = Start();
  uint64_t step_ = 0;
};

Eviction MakeRule(uint64_t unused_steps, uint32_t unused_periods, uint64_t rows, double norm) {
  Eviction rule;
  if (unused_steps > 0) rule.set_unused_steps(unused_steps);
  if (unused_periods > 0) rule.set_unused_periods(unused_periods);
  if (rows > 0) rule.set_rows(rows);
  if (norm > 0) rule.set_norm(norm);
  return rule;
}

// Different ids of the world, low ones more often.
Ids PickIds(RandomSequence* random, size_t count, uint64_t world = 3000) {
  std::set<uint64_t> numbers;
  while (numbers.size() < count) numbers.insert(random->Below(1 + random->Below(world)));
  Ids ids;
  for (uint64_t number : numbers) ids.push_back(Mix64(number));
  return ids;
}

TEST(EvictionTest, TheSameRowsLeaveAtAnyNumberOfServers) {
  const Eviction rule = MakeRule(24, 0, 256 * 4, 0.12);
  std::vector<std::unique_ptr<Evicting>> runs;
  for (uint32_t shards : {1, 2, 3}) {
    runs.push_back(std::make_unique<Evicting>(shards, rule));
    RandomSequence random(5);
    for (uint64_t step = 1; step <= 60; ++step) runs.back()->Train(PickIds(&random, 120), step);
    EXPECT_EQ(runs.back()->Total().evicted(), runs.front()->Total().evicted());
    EXPECT_EQ(runs.back()->Present(WorldIds()), runs.front()->Present(WorldIds())) << shards << " servers";
    EXPECT_TRUE(runs.back()->State() == runs.front()->State()) << shards << " servers";
    EXPECT_EQ(runs.back()->Total().rows(), runs.back()->Present(WorldIds()).size());
  }
  EXPECT_GT(runs.front()->Total().evicted(), 500u);
  EXPECT_GT(runs.front()->Total().rows(), 200u);
}

TEST(EvictionTest, AnIdThatComesBackStartsAnew) {
  Evicting servers(2, MakeRule(2, 0, 0, 0));
  const uint64_t id = Mix64(77), other = Mix64(78);
  const std::vector<float> untouched = servers.Values(id);
  servers.Train({id, other}, 1);
  const StoredRow first = servers.Row(id);
  ASSERT_TRUE(first.found());
  for (int step = 0; step < 3; ++step) servers.Train({other}, 2);
  EXPECT_FALSE(servers.Row(id).found());
  EXPECT_TRUE(servers.Row(other).found());
  EXPECT_EQ(servers.Values(id), untouched);
  servers.Train({id}, 1);
  const StoredRow again = servers.Row(id);
  EXPECT_THAT(again.values(), testing::ElementsAreArray(first.values()));
  EXPECT_THAT(again.state(), testing::ElementsAreArray(first.state())) << "its squares begin at none";
  EXPECT_EQ(again.show(), 1);
  EXPECT_EQ(again.last_step(), 5u);
  EXPECT_EQ(servers.Total().inserted(), 3u);
  EXPECT_EQ(servers.Total().evicted(), 1u);
}

TEST(EvictionTest, ATableStaysWithinItsBudgetThroughTenEpochsOfNewIds) {
  constexpr uint64_t kBudget = 256 * 16;
  Evicting servers(2, MakeRule(0, 0, kBudget, 0));
  uint64_t next = 0;
  for (int epoch = 0; epoch < 10; ++epoch) {
    Ids ids;
    for (int step = 0; step < 40; ++step) {
      ids.clear();
      for (int i = 0; i < 200; ++i) ids.push_back(Mix64(next++));
      servers.Train(ids, 1);
      ASSERT_LE(servers.Total().rows(), kBudget) << "epoch " << epoch << ", step " << step;
    }
    EXPECT_EQ(servers.Present(ids).size(), ids.size()) << "the newest stay";
    EXPECT_GE(servers.Total().rows(), kBudget * 14 / 16) << "and no more leaves than must";
  }
  EXPECT_EQ(servers.Total().inserted(), next);
}

TEST(EvictionTest, FortyPeriodsEvictWhatAPlainMapSays) {
  constexpr uint32_t kUnused = 3;
  Evicting servers(3, MakeRule(0, kUnused, 0, 0));
  RandomSequence random(9);
  std::map<uint64_t, uint32_t> last_period;  // of each row
  uint64_t evicted = 0;
  uint32_t highest = 0;
  for (uint32_t period = 20251101; period < 20251141; ++period) {
    if (random.Below(8) == 0) continue;  // a day without data
    for (int push = 0; push < 4; ++push) {
      // A slow worker may still be at the day before.
      const uint32_t of = push == 2 ? period - 1 : period;
      const Ids ids = PickIds(&random, 60, 1500);
      const std::set<uint64_t> touched(ids.begin(), ids.end());
      if (of > highest) {
        evicted += std::erase_if(last_period, [&](const auto& row) { return of - row.second > kUnused && !touched.contains(row.first); });
        highest = of;
      }
      for (uint64_t id : ids) last_period[id] = std::max(last_period[id], of);
      servers.Push(ids, of);
    }
    std::set<uint64_t> expected;
    for (const auto& [id, unused] : last_period) expected.insert(id);
    ASSERT_EQ(servers.Present(WorldIds(1500)), expected) << "after period " << period;
    ASSERT_EQ(servers.Total().evicted(), evicted);
  }
  EXPECT_GT(evicted, 500u);
}

TEST(EvictionTest, AProtectedTableLosesNothing) {
  Eviction rule = MakeRule(1, 1, 256, 100);
  rule.add_protect("rows");
  Evicting servers(2, rule);
  for (uint64_t step = 1; step <= 6; ++step) {
    Ids ids;
    for (uint64_t i = 0; i < 200; ++i) ids.push_back(Mix64(step * 200 + i));
    servers.Train(ids, step);
  }
  const Eviction by_hand = MakeRule(1, 0, 256, 100);
  EXPECT_THAT(servers.Evict(nullptr, false), testing::IsEmpty());
  EXPECT_THAT(servers.Evict(&by_hand, false), testing::IsEmpty()) << "not even by hand";
  EXPECT_EQ(servers.Total().rows(), 1200u);
  EXPECT_EQ(servers.Total().evicted(), 0u);
}

TEST(EvictionTest, ADryRunListsExactlyWhatTheRealOneRemoves) {
  for (const Eviction& rule : {MakeRule(5, 0, 0, 0), MakeRule(0, 0, 256 * 3, 0), MakeRule(0, 0, 0, 0.2), MakeRule(7, 0, 256 * 4, 0.1)}) {
    SCOPED_TRACE(rule.ShortDebugString());
    Evicting servers(3, Eviction());
    RandomSequence random(31);
    for (uint64_t step = 1; step <= 12; ++step) servers.Train(PickIds(&random, 150), step);
    std::set<uint64_t> present = servers.Present(WorldIds());
    const Ids listed = servers.Evict(&rule, /*dry_run=*/true);
    EXPECT_GT(listed.size(), 20u);
    EXPECT_LT(listed.size(), present.size());
    EXPECT_EQ(servers.Present(WorldIds()), present) << "a dry run changes nothing";
    EXPECT_EQ(servers.Total().evicted(), 0u);
    EXPECT_EQ(servers.Evict(&rule, /*dry_run=*/false), listed);
    for (uint64_t id : listed) present.erase(id);
    EXPECT_EQ(servers.Present(WorldIds()), present);
    EXPECT_EQ(servers.Total().evicted(), listed.size());
    EXPECT_THAT(servers.Evict(&rule, false), testing::IsEmpty()) << "all that the rule names has left";
  }
}

}  // namespace
}  // namespace tessera
