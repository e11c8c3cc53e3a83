// async: pushes are applied on arrival, each once.
#include "tests/unit/ps_server/pushes.h"

#include "ps/server/ledger.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

// One server and its workers.
class PushServers {
 public:
  PushServers() : group_(1) { EXPECT_TRUE(group_.Open().ok()); }
  PushRequest MakePush(uint64_t sequence, uint32_t worker = 1, uint64_t generation = 1) {
    const ShareGradients share = group_.RandomShare(0, MixKey(sequence, worker), 50);
    return tessera::MakePush(group_, 0, group_.MakePeer(0, worker, generation), sequence, share);
  }
  absl::Status Send(const PushRequest& request) {
    PushReply reply;
    return group_.server(0).Push(request, &reply);
  }
  uint64_t StalenessOf(const PushRequest& request) {
    PushReply reply;
    EXPECT_TRUE(group_.server(0).Push(request, &reply).ok());
    return reply.staleness();
  }
  PulledState State() { return group_.Pull(0, nullptr, WorldIds()).value(); }
  ServerGroup group_;
};
class PushTest : public ::testing::Test, protected PushServers {};

TEST_F(PushTest, IsAppliedOnArrival) {
  const PulledState before = State();
  ASSERT_TRUE(Send(MakePush(1)).ok());
  EXPECT_FALSE(State() == before);
  EXPECT_EQ(group_.Describe(0).rows(), 50u);
  EXPECT_EQ(group_.Describe(0).pushes(), 1u);
}

TEST_F(PushTest, MeansTheSameAsAStepWithTheSameGradients) {
  ASSERT_TRUE(Send(MakePush(1)).ok());
  ServerGroup sync(1);
  ASSERT_TRUE(sync.Open().ok());
  ShareGradients share = sync.RandomShare(0, MixKey(1, 1), 50);
  share.rows = 10;
  ASSERT_TRUE(sync.Stage(1, Start(), share).ok());
  const Decision d1 = Decide(1, {share});
  EXPECT_TRUE(*sync.Pull(2, &d1, WorldIds()) == State());
}

TEST_F(PushTest, ARepeatedPushIsAppliedOnce) {
  ASSERT_TRUE(Send(MakePush(1)).ok());
  ASSERT_TRUE(Send(MakePush(2)).ok());
  const PulledState state = State();
  EXPECT_TRUE(Send(MakePush(2)).ok());
  EXPECT_TRUE(Send(MakePush(1)).ok());
  EXPECT_TRUE(State() == state);
}

TEST_F(PushTest, StalenessIsTheWholeBatchesBetweenReadingAndPushing) {
  PushRequest first = MakePush(1), second = MakePush(1, 2), third = MakePush(2, 2), fourth = MakePush(3, 2);
  for (PushRequest* push : {&first, &second, &fourth}) push->set_last_part(true);
  EXPECT_EQ(StalenessOf(first), 0);
  PullRequest pull;
  *pull.mutable_peer() = first.peer();
  PullReply values;
  ASSERT_TRUE(group_.server(0).Pull(pull, &values).ok());
  EXPECT_EQ(values.updates(), 1);
  EXPECT_EQ(StalenessOf(second), 1) << "it read before the first";
  third.set_read_updates(1);
  EXPECT_EQ(StalenessOf(third), 1);
  fourth.set_read_updates(1);
  EXPECT_EQ(StalenessOf(fourth), 1) << "the first part of its own batch is none between";
  EXPECT_EQ(StalenessOf(fourth), 1) << "repeated";
}

TEST_F(PushTest, ACompensatedGradientIsTakenAtTheRateOverItsStaleness) {
  PushServers compensated, by_hand;
  for (PushServers* servers : {&compensated, &by_hand}) {
    for (uint64_t worker : {2, 3}) {
      PushRequest other = servers->MakePush(1, static_cast<uint32_t>(worker));
      other.set_last_part(true);
      ASSERT_TRUE(servers->Send(other).ok());
    }
  }
  PushRequest push = MakePush(1);
  push.set_compensate(true);
  ASSERT_TRUE(compensated.Send(push).ok());
  push.set_compensate(false);
  push.set_sparse_learning_rate(push.sparse_learning_rate() / 2);
  push.set_dense_learning_rate(push.dense_learning_rate() / 2);
  ASSERT_TRUE(by_hand.Send(push).ok());
  EXPECT_TRUE(compensated.State() == by_hand.State());
}

TEST_F(PushTest, AGapIsRefused) {
  const absl::Status status = Send(MakePush(2));
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("state lost: push 2 of worker 1 generation 1: push 1 comes next here"));
  PushRequest zero = MakePush(1);
  zero.set_sequence(0);
  EXPECT_EQ(Send(zero).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(group_.Describe(0).rows(), 0u);
}

TEST_F(PushTest, EachWorkerCountsForItself) {
  ASSERT_TRUE(Send(MakePush(1, 1)).ok());
  ASSERT_TRUE(Send(MakePush(1, 2)).ok());
  ASSERT_TRUE(Send(MakePush(2, 2)).ok());
  EXPECT_EQ(Send(MakePush(3, 1)).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(group_.Describe(0).pushes(), 3u);
}

TEST_F(PushTest, ANewGenerationStartsAtOneAndEndsTheOlder) {
  ASSERT_TRUE(Send(MakePush(1, 1, 1)).ok());
  ASSERT_TRUE(Send(MakePush(1, 1, 2)).ok());
  const absl::Status status = Send(MakePush(2, 1, 1));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("generation 2 of this worker has pushed since"));
}

TEST_F(PushTest, WhatCannotBeAppliedDoesNotCount) {
  PushRequest bad = MakePush(1);
  reinterpret_cast<float*>(bad.mutable_gradients()->mutable_values()->data())[0] = std::nanf("");
  EXPECT_THAT(std::string(Send(bad).message()), HasSubstr("push 1 of worker 1 generation 1, step 1: the gradient of weight of table rows, id "));
  bad = MakePush(1);
  bad.set_divisor(0);
  EXPECT_EQ(Send(bad).code(), absl::StatusCode::kInvalidArgument);
  bad = MakePush(1);
  bad.set_optimizer_step(0);
  EXPECT_EQ(Send(bad).code(), absl::StatusCode::kInvalidArgument);
  bad = MakePush(1);
  bad.set_sparse_learning_rate(std::nan(""));
  EXPECT_EQ(Send(bad).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Send(MakePush(1)).ok());
}

TEST_F(PushTest, MayComeWithoutDenseGradients) {
  const std::vector<float> dense = State().dense;
  PushRequest later_part = MakePush(1);
  later_part.mutable_gradients()->clear_dense();
  ASSERT_TRUE(Send(later_part).ok());
  EXPECT_EQ(State().dense, dense);
}

TEST_F(PushTest, APullWhoseAnswerFitsNoMessageIsRefused) {
  const std::vector<uint64_t> ids(5u << 20);  // x 4 floats: 80 MiB
  const absl::Status status = group_.Pull(0, nullptr, ids).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("kMessageBytesMax"));
}

TEST_F(PushTest, APullWithoutAStepCarriesNoDecision) {
  const Decision start = Start();
  EXPECT_EQ(group_.Pull(0, &start, {}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(PushTest, AnEvaluationPullGivesZerosForUnknownIdsAndCountsNothing) {
  ASSERT_TRUE(Send(MakePush(1)).ok());
  const PulledState training = State();
  const uint64_t pulls = group_.Describe(0).pulls();
  const PulledState evaluation = group_.Pull(0, nullptr, WorldIds(), true).value();
  EXPECT_EQ(group_.Describe(0).pulls(), pulls);
  EXPECT_EQ(evaluation.dense, training.dense);
  size_t known = 0;
  for (size_t i = 0; i < WorldIds().size(); ++i) {
    const bool zero = std::all_of(&evaluation.values[i * kDim], &evaluation.values[(i + 1) * kDim], [](float v) { return v == 0; });
    if (zero) continue;
    ++known;
    EXPECT_TRUE(std::equal(&evaluation.values[i * kDim], &evaluation.values[(i + 1) * kDim], &training.values[i * kDim]));
  }
  EXPECT_EQ(known, 50u);
}

LoggedHeader Pushed(uint64_t generation, uint64_t sequence, uint64_t task = 0, uint64_t end_row = 0, bool last_part = true) {
  LoggedHeader header;
  header.set_worker(1);
  header.set_generation(generation);
  header.set_sequence(sequence);
  header.mutable_task_done()->set_task(task);
  header.mutable_task_done()->set_end_row(end_row);
  header.set_last_part(last_part);
  return header;
}

TEST(PushLedgerTest, ARepeatNamesTheRecordThatMustBeDurableFirst) {
  PushLedger ledger;
  Peer peer;
  peer.set_worker(1);
  peer.set_generation(1);
  EXPECT_FALSE(ledger.Check(peer, 1).value().repeat);
  EXPECT_EQ(ledger.Check(peer, 2).status().code(), absl::StatusCode::kDataLoss) << "a gap";
  ledger.Record(Pushed(1, 1), 77);
  EXPECT_TRUE(ledger.Check(peer, 1).value().repeat);
  EXPECT_EQ(ledger.Check(peer, 1).value().lsn, 77u);
  EXPECT_FALSE(ledger.Check(peer, 2).value().repeat);

  Peer newer = peer;
  newer.set_generation(2);
  EXPECT_FALSE(ledger.Check(newer, 1).value().repeat);
  ledger.Record(Pushed(2, 1), 78);
  EXPECT_EQ(ledger.Check(peer, 2).status().code(), absl::StatusCode::kFailedPrecondition) << "its generation is over";

  ShardRecord record;
  ledger.Save(&record);
  EXPECT_EQ(record.ledger_size(), 1) << "one entry for a worker, whatever its generations";
  PushLedger loaded;
  loaded.Load(record);
  EXPECT_EQ(loaded.Check(newer, 1).value().lsn, 78u);
}

TEST(PushLedgerTest, CountsWholeBatchesOfAllGenerations) {
  PushLedger ledger;
  ledger.Record(Pushed(1, 1), 71);
  ledger.Record(Pushed(1, 2, 0, 0, /*last_part=*/false), 72);
  ledger.Record(Pushed(2, 1), 73);
  ledger.Fence(1, 3, 74);
  ShardRecord record;
  ledger.Save(&record);
  PushLedger loaded;
  loaded.Load(record);
  EXPECT_EQ(loaded.batches(), 2u);
}

TEST(PushLedgerTest, KnowsWholeBatchesFromBegunOnes) {
  PushLedger ledger;
  ledger.Record(Pushed(1, 1, 7, 10), 71);
  ledger.Record(Pushed(1, 2, 7, 20, /*last_part=*/false), 72);
  const LedgerEntry entry = ledger.Find(1, 1).value().value();
  EXPECT_EQ(entry.done().end_row(), 10u);
  EXPECT_EQ(entry.begun_task(), 7u);
  EXPECT_EQ(entry.begun_row(), 20u);
  EXPECT_FALSE(ledger.Find(1, 2).value().has_value());
  EXPECT_EQ(ledger.Find(1, 0).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(PushLedgerTest, AFencedGenerationPushesNoMoreAlsoWhereItNeverPushed) {
  for (const bool pushed : {true, false}) {
    PushLedger ledger;
    if (pushed) ledger.Record(Pushed(3, 1, 7, 10), 71);
    ledger.Fence(1, 3, 72);
    ShardRecord record;
    ledger.Save(&record);
    PushLedger loaded;
    loaded.Load(record);
    for (PushLedger* each : {&ledger, &loaded}) {
      Peer peer;
      peer.set_worker(1);
      peer.set_generation(3);
      for (uint64_t sequence : {1, 2}) {
        EXPECT_THAT(each->Check(peer, sequence).status().ToString(), testing::HasSubstr("wrong peer"));
      }
      EXPECT_TRUE(each->Find(1, 3).value()->fenced());
      EXPECT_EQ(each->Find(1, 3).value()->done().end_row(), pushed ? 10u : 0u);
      peer.set_generation(2);
      EXPECT_FALSE(each->Check(peer, 1).ok());
      peer.set_generation(4);
      EXPECT_TRUE(each->Check(peer, 1).ok());
    }
  }
}

}  // namespace
}  // namespace tessera
