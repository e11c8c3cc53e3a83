// One worker, its real client, and real servers behind a network that may be bad.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/retry.h"
#include "tests/unit/delivery/faulty_server.h"
#include "worker/batch/batch.h"
#include "worker/client/parameter_client.h"

namespace tessera {

// What a run leaves.
struct End {
  PulledState state;     // of every id, after a last update of all of them: so it tells optimiser states apart too
  uint64_t pushes = 0;   // stages and pushes that counted, of all servers
  uint64_t digest = 0;   // of a save, where there is a folder
  uint64_t faults = 0;
  uint64_t outlived = 0;
};

inline void ExpectSame(const End& end, const End& steady) {
  EXPECT_EQ(end.state.values, steady.state.values);
  EXPECT_TRUE(end.state.dense == steady.state.dense);  // too many to print
  EXPECT_EQ(end.pushes, steady.pushes);
  EXPECT_EQ(end.digest, steady.digest);
}

class OneWorker {
 public:
  static constexpr uint64_t kSteps = 10;
  static constexpr uint64_t kIds = 120;

  OneWorker(const Optimizer& optimizer, bool sync, uint32_t shards, const Faults& faults, const std::string& folder = "")
      : sync_(sync), folder_(folder), group_(shards, folder) {
    group_.UseOptimizer(optimizer);
    if (!folder.empty()) group_.UseLog(Durability::process, 8u << 20, 0);
    Check(group_.Open());
    std::vector<ParameterServerApi*> apis;
    for (uint32_t s = 0; s < shards; ++s) {
      servers_.push_back(std::make_unique<FaultyServer>(&group_, s, faults));
      apis.push_back(servers_.back().get());
    }
    Plan plan;
    *plan.mutable_table() = group_.spec().table();
    *plan.mutable_variables() = group_.spec().variables();
    ParameterClient::Options options;
    options.job = "test-job";
    options.incarnation = 1;
    options.map_version = 1;
    options.worker = 1;
    options.generation = 1;
    client_ = std::make_unique<ParameterClient>(plan, apis, options, &clock_);
  }

  End Run() {
    for (uint64_t step = 1; step <= kSteps + 1; ++step) {
      const Batch batch = MakeRows(step);
      sync_ ? SyncStep(batch, step) : AsyncStep(batch, step);
      if (::testing::Test::HasFailure()) break;
    }
    End end;
    for (const auto& server : servers_) {
      server->DeliverAll();
      end.faults += server->faults();
      end.outlived += server->outlived();
    }
    // From now on around the network.
    if (sync_) Check(group_.Commit(decision_));
    absl::StatusOr<PulledState> state = group_.Pull(sync_ ? kSteps + 2 : 0, sync_ ? &decision_ : nullptr, WorldIds(kIds));
    Check(state.status());
    if (state.ok()) end.state = *std::move(state);
    for (uint32_t s = 0; s < group_.shards(); ++s) end.pushes += group_.Describe(s).pushes();
    if (!folder_.empty()) {
      Check(group_.Save(folder_ + "/saved").status());
      end.digest = group_.digest();
      end.pushes = 0;  // a restarted server counts anew
    }
    return end;
  }

 private:
  static void Check(const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; }

  // Some of the ids, the last time all.
  static Batch MakeRows(uint64_t step) {
    RandomSequence random(step);
    Rows rows;
    rows.fields = 1;
    for (uint64_t i = 0; i < kIds; ++i) {
      if (step <= kSteps && random.Below(3) > 0) continue;
      rows.ids.push_back(Mix64(i));
      rows.labels.push_back(0);
      rows.keys.push_back(i);
    }
    return MakeBatch(std::move(rows));
  }

  // Depend on the values, as a model's do: a wrong answer of a pull is not forgotten.
  static std::vector<float> Gradients(const std::vector<float>& values, uint64_t key) {
    RandomSequence random(key);
    std::vector<float> gradients;
    gradients.reserve(values.size());
    for (float value : values) gradients.push_back(UniformFloat(random.Next()) - 0.5f + 0.25f * value);
    return gradients;
  }

  void SyncStep(const Batch& batch, uint64_t step) {
    PulledValues values;
    Check(client_->Pull(batch, step, &decision_, false, &values));
    Check(client_->Stage(batch, step, decision_, 0, Gradients(values.rows, step), Gradients(values.dense, ~step)));
    ShareGradients share;
    share.rows = batch.size();
    decision_ = Decide(step, {share});
    if (step % 4 != 0) return;
    // As before an evaluation or a save: the coordinator sends the decision itself.
    for (uint32_t s = 0; s < group_.shards(); ++s) {
      CommitRequest request;
      *request.mutable_peer() = group_.MakePeer(s);
      *request.mutable_decision() = decision_;
      CommitReply reply;
      Check(Retry(&clock_, absl::Minutes(5), nullptr).Run([&] { return servers_[s]->Commit(request, &reply); }));
    }
  }

  void AsyncStep(const Batch& batch, uint64_t step) {
    PulledValues values;
    Check(client_->Pull(batch, 0, nullptr, false, &values));
    ParameterClient::PushOptions options;
    options.optimizer_step = step;
    options.sparse_learning_rate = 0.05;
    options.dense_learning_rate = 0.01;
    options.divisor = static_cast<double>(batch.size());
    uint64_t staleness = 0;
    Check(client_->Push(batch, options, Gradients(values.rows, step), Gradients(values.dense, ~step), &staleness));
  }

  const bool sync_;
  const std::string folder_;
  ServerGroup group_;
  std::vector<std::unique_ptr<FaultyServer>> servers_;
  FakeClock clock_;
  std::unique_ptr<ParameterClient> client_;
  Decision decision_ = Start();
};

}  // namespace tessera
