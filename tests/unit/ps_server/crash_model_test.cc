// Random calls to a server that ends without a word again and again, beside one that never does: both must come to the same bits.
#include "common/fault_point.h"
#include "ps/server/shard_state.h"
#include "tests/unit/ps_optimizer/every_optimizer.h"
#include "tests/unit/ps_server/pushes.h"

namespace tessera {
namespace {

constexpr uint64_t kWorld = 3000;
// Room for about 1,500 rows beside the database's part, and a log that is shortened every few calls.
constexpr uint64_t kMemoryBytes = 1100u << 10;
constexpr uint64_t kLogBytes = 1200u << 10;

struct CrashSetting {
  std::string name;
  Durability durability;
  bool policies;  // admission and eviction
  uint64_t seed;
};

class CrashModel : public ::testing::TestWithParam<CrashSetting> {
 protected:
  CrashModel() : random_(GetParam().seed) {
    folder_ = std::filesystem::temp_directory_path() / absl::StrCat("tessera_crash_", GetParam().name, "_", ::getpid());
    std::filesystem::remove_all(folder_);
    durable_ = std::make_unique<ServerGroup>(1, folder_.string(), 1 + static_cast<int>(GetParam().seed % 2));
    durable_->UseLog(GetParam().durability, kLogBytes, kMemoryBytes);
    steady_ = std::make_unique<ServerGroup>(1);
    const std::vector<Optimizer> optimizers = EveryOptimizer();
    for (ServerGroup* group : {durable_.get(), steady_.get()}) {
      group->UseOptimizer(optimizers[GetParam().seed % optimizers.size()]);
      if (!GetParam().policies) continue;
      group->spec().mutable_admission()->set_sightings(2);
      group->spec().mutable_admission()->mutable_memory()->set_bytes(64u << 10);
      group->spec().mutable_eviction()->set_rows(2048);
      group->spec().mutable_eviction()->set_unused_steps(20);
    }
    EXPECT_TRUE(steady_->Open().ok());
    const absl::Status status = durable_->Open();
    EXPECT_TRUE(status.ok()) << status;
  }
  ~CrashModel() override {
    durable_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  void SightSome(Gradients* gradients) {
    if (!GetParam().policies) return;
    const uint32_t count = 1;
    for (int i = 0; i < 40; ++i) {
      const uint64_t id = Mix64(kWorld + random_.Below(500));
      AppendPacked<uint64_t>({&id, 1}, gradients->mutable_sighted_ids());
      AppendPacked<uint32_t>({&count, 1}, gradients->mutable_sighted_counts());
    }
  }

  void MaybeCrash(uint64_t one_in) {
    if (random_.Below(one_in) != 0) return;
    ++crashes_;
    const absl::Status status = durable_->CrashAndRecover(0);
    ASSERT_TRUE(status.ok()) << status;
  }

  void Compare(uint64_t step, const Decision* decision) {
    const std::vector<uint64_t> ids = WorldIds(kWorld + 500);
    const auto kept = durable_->Pull(step, decision, ids);
    const auto wanted = steady_->Pull(step, decision, ids);
    ASSERT_TRUE(kept.ok()) << kept.status();
    ASSERT_EQ(kept->values, wanted->values);
    ASSERT_EQ(kept->dense, wanted->dense);
    const TableStatus a = durable_->Describe(0).table();
    const TableStatus b = steady_->Describe(0).table();
    ASSERT_EQ(a.rows(), b.rows());
    ASSERT_EQ(a.evicted(), b.evicted());
    ASSERT_EQ(a.refused(), b.refused());
    ASSERT_EQ(a.inserted(), a.rows() + a.evicted() + a.refused());
  }

  PushRequest MakePush(uint64_t sequence, uint32_t worker) {
    const uint64_t key = random_.Next();
    const ShareGradients share = durable_->RandomShare(0, key, 20 + random_.Below(250), kWorld);
    PushRequest request = tessera::MakePush(*durable_, 0, durable_->MakePeer(0, worker), sequence, share);
    SightSome(request.mutable_gradients());
    return request;
  }

  RandomSequence random_;
  std::filesystem::path folder_;
  std::unique_ptr<ServerGroup> durable_;
  std::unique_ptr<ServerGroup> steady_;
  int crashes_ = 0;
};

TEST_P(CrashModel, EveryAcknowledgedPushIsThereOnce) {
  SCOPED_TRACE(absl::StrCat("seed ", GetParam().seed));
  std::vector<uint64_t> sequences(3);
  std::vector<PushRequest> last(3);
  for (int i = 0; i < 160; ++i) {
    SCOPED_TRACE(absl::StrCat("push ", i));
    const uint32_t worker = static_cast<uint32_t>(random_.Below(3));
    last[worker] = MakePush(++sequences[worker], worker + 1);
    PushReply reply;
    ASSERT_TRUE(steady_->server(0).Push(last[worker], &reply).ok());
    const absl::Status status = durable_->server(0).Push(last[worker], &reply);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_NO_FATAL_FAILURE(MaybeCrash(5));
    // Answers get lost, calls come late: any push that was acknowledged may come again.
    const uint32_t again = static_cast<uint32_t>(random_.Below(3));
    if (sequences[again] > 0) {
      ASSERT_TRUE(durable_->server(0).Push(last[again], &reply).ok());
    }
    if (random_.Below(8) == 0) {
      ASSERT_NO_FATAL_FAILURE(Compare(0, nullptr));
    }
  }
  ASSERT_NO_FATAL_FAILURE(Compare(0, nullptr));
  EXPECT_GT(durable_->Describe(0).durability().needed_lsn(), 1u) << "the log was never shortened";
  EXPECT_GT(crashes_, 15);
}

TEST_P(CrashModel, EveryAcknowledgedStageIsThereForItsCommit) {
  SCOPED_TRACE(absl::StrCat("seed ", GetParam().seed));
  Decision decision = Start();
  for (uint64_t step = 1; step <= 70; ++step) {
    SCOPED_TRACE(absl::StrCat("step ", step));
    std::vector<ShareGradients> shares;
    for (uint32_t share = 0; share < 2; ++share) {
      shares.push_back(durable_->RandomShare(share, random_.Next(), 20 + random_.Below(150), kWorld));
      for (const StageRequest& stage : durable_->MakeStages(0, step, decision, shares.back(), 1 + static_cast<uint32_t>(random_.Below(2)))) {
        StageReply reply;
        ASSERT_TRUE(steady_->server(0).Stage(stage, &reply).ok());
        const absl::Status status = durable_->server(0).Stage(stage, &reply);
        ASSERT_TRUE(status.ok()) << status;
        ASSERT_NO_FATAL_FAILURE(MaybeCrash(8));
        ASSERT_TRUE(durable_->server(0).Stage(stage, &reply).ok()) << "a repeat";
      }
    }
    decision = Decide(step, shares);
    ASSERT_NO_FATAL_FAILURE(Compare(step + 1, &decision));
    ASSERT_NO_FATAL_FAILURE(MaybeCrash(8));
  }
  ASSERT_NO_FATAL_FAILURE(Compare(71, &decision));
  EXPECT_GT(crashes_, 10);
}

INSTANTIATE_TEST_SUITE_P(Settings, CrashModel,
                         ::testing::Values(CrashSetting{"process", Durability::process, false, 1},
                                           CrashSetting{"process_2", Durability::process, false, 2},
                                           CrashSetting{"power", Durability::power, false, 3},
                                           CrashSetting{"policies", Durability::process, true, 4},
                                           CrashSetting{"policies_2", Durability::process, true, 5},
                                           CrashSetting{"policies_power", Durability::power, true, 6},
                                           CrashSetting{"process_3", Durability::process, false, 7}),  // one for each optimiser
                         [](const auto& info) { return info.param.name; });

class ReplayTest : public ServerTest {};

TEST_F(ReplayTest, LeavesRowsAloneThatHaveTheRecordAlready) {
  ServerGroup durable(1, folder());
  durable.UseLog(Durability::process, 64u << 20, 0);
  ServerGroup steady(1);
  ASSERT_TRUE(durable.Open().ok());
  ASSERT_TRUE(steady.Open().ok());
  // A stage that nobody commits is needed for ever: so all that follows is replayed, over rows that are on disk.
  ASSERT_TRUE(durable.Stage(1, Start(), durable.RandomShare(0, 1, 20)).ok());
  for (uint64_t sequence = 1; sequence <= 6; ++sequence) {
    PushRequest request;
    *request.mutable_peer() = durable.MakePeer(0, 1);
    request.set_sequence(sequence);
    request.set_optimizer_step(sequence);
    request.set_sparse_learning_rate(0.05);
    request.set_dense_learning_rate(0.01);
    request.set_divisor(10);
    durable.FillGradients(0, durable.RandomShare(0, sequence, 300), 0, 1, request.mutable_gradients());
    PushReply reply;
    ASSERT_TRUE(durable.server(0).Push(request, &reply).ok());
    ASSERT_TRUE(steady.server(0).Push(request, &reply).ok());
    if (sequence == 4) {
      ASSERT_TRUE(durable.server(0).WriteBackAll().ok());
    }
  }
  const absl::Status recovered = durable.CrashAndRecover(0);
  ASSERT_TRUE(recovered.ok()) << recovered;
  EXPECT_EQ(durable.Describe(0).durability().replayed_records(), 7u);
  const auto kept = durable.Pull(0, nullptr, WorldIds());
  const auto wanted = steady.Pull(0, nullptr, WorldIds());
  EXPECT_EQ(kept->values, wanted->values);
  EXPECT_EQ(kept->dense, wanted->dense);
}

class PowerTest : public ServerTest {
 protected:
  PowerTest() : group_(1, folder()) {
    group_.UseLog(Durability::power, 64u << 20, 0);
    EXPECT_TRUE(group_.Open().ok());
  }
  ~PowerTest() override { SetFaultPoint({}); }
  PushRequest MakePush(uint64_t sequence) {
    PushRequest request;
    *request.mutable_peer() = group_.MakePeer(0, 1);
    request.set_sequence(sequence);
    request.set_optimizer_step(sequence);
    request.set_sparse_learning_rate(0.05);
    request.set_dense_learning_rate(0.01);
    request.set_divisor(10);
    group_.FillGradients(0, group_.RandomShare(0, sequence, 50), 0, 1, request.mutable_gradients());
    return request;
  }
  DurabilityStatus Durability() { return group_.Describe(0).durability(); }
  ServerGroup group_;
};

TEST_F(PowerTest, NothingIsAcknowledgedBeforeItsRecordIsDurable) {
  const PushRequest push = MakePush(1);
  PushReply reply;
  bool repeated = false;
  // The push is applied, its record not yet on disk: a repeat comes in just now.
  SetFaultPoint([&](absl::string_view point) {
    if (point != "push.applied" || repeated) return;
    repeated = true;
    EXPECT_LT(Durability().durable_lsn(), Durability().lsn());
    PushReply again;
    EXPECT_TRUE(group_.server(0).Push(push, &again).ok());
    EXPECT_EQ(Durability().durable_lsn(), Durability().lsn()) << "the repeat was acknowledged early";
  });
  ASSERT_TRUE(group_.server(0).Push(push, &reply).ok());
  EXPECT_TRUE(repeated);
  EXPECT_EQ(Durability().durable_lsn(), Durability().lsn());
}

TEST_F(PowerTest, NoRowIsWrittenBackBeforeItsRecordIsDurable) {
  OpenRequest open = group_.spec();
  *open.mutable_peer() = group_.MakePeer(0);
  ThreadPool pool(1);
  const auto state = ShardState::Make(open, folder("other"), &pool).value();
  const auto durability = [&] {
    DescribeServerReply reply;
    state->Describe(&reply);
    return reply.durability();
  };
  const PushRequest push = MakePush(1);
  CheckedGradients gradients;
  gradients.ViewOf(push.gradients());
  gradients.Group();
  int written = 0;
  SetFaultPoint([&](absl::string_view point) {
    if (point == "push.applied") {
      EXPECT_LT(durability().durable_lsn(), durability().lsn());
      EXPECT_TRUE(state->WriteBackAll().ok());
    }
    if (point == "db.write") {
      ++written;
      EXPECT_EQ(durability().durable_lsn(), durability().lsn());
    }
  });
  ASSERT_TRUE(state->Push(push, gradients).ok());
  EXPECT_GT(written, 0);
}

}  // namespace
}  // namespace tessera
