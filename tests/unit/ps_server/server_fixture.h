// A few servers of one job, called directly, and requests as a worker and a coordinator would make them.
#pragma once

#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/packed.h"
#include "common/partition.h"
#include "common/random.h"
#include "common/thread_pool.h"
#include "ps/server/server.h"
#include "tests/unit/ps_server/decisions.h"
#include "tests/unit/ps_server/server_test.h"

namespace tessera {

inline constexpr uint32_t kDim = 4;

// All values of a job, as a pull of every server gives them.
struct PulledState {
  std::vector<float> values;
  std::vector<float> dense;
  bool operator==(const PulledState& other) const { return values == other.values && dense == other.dense; }
};

// `shards` servers with a table of 1 + 3 floats and two variables. They keep state below `state` and can save if one is named.
class ServerGroup {
 public:
  explicit ServerGroup(uint32_t shards, const std::string& state = "", int threads = 1) : pool_(threads) {
    spec_.set_seed(11);
    spec_.mutable_table()->set_name("rows");
    AddSegment("weight", 1, 0);
    AddSegment("embedding", kDim - 1, 0.1f);
    AddVariable("hidden", {130, 129});  // more than one chunk
    AddVariable("bias", {3});
    for (uint32_t s = 0; s < shards; ++s) {
      options_.push_back({.job = "test-job", .shard = s, .shards = shards, .state_directory = state});
      servers_.push_back(std::make_unique<Server>(options_.back(), &pool_));
    }
    chunks_ = DenseChunks(spec_.variables());
    for (const VariableSpec& variable : spec_.variables()) dense_floats_ += ElementCount(variable);
  }

  // The process of a server ends without a word, and another one starts in its place.
  absl::Status CrashAndRecover(uint32_t shard) {
    servers_[shard].reset();
    servers_[shard] = std::make_unique<Server>(options_[shard], &pool_);
    return servers_[shard]->Recover();
  }
  // A log below the state folder, and memory for about so much.
  void UseLog(Durability durability, uint64_t log_bytes, uint64_t memory_bytes) {
    spec_.mutable_storage()->set_durability(durability);
    spec_.mutable_storage()->mutable_log_per_server()->set_bytes(log_bytes);
    if (memory_bytes > 0) spec_.mutable_storage()->mutable_memory_per_server()->set_bytes(memory_bytes);
  }
  void UseOptimizer(const Optimizer& optimizer) {
    for (Segment& segment : *spec_.mutable_table()->mutable_segments()) *segment.mutable_optimizer() = optimizer;
    if (optimizer.has_rowwise_adagrad()) return;  // is for rows only
    for (VariableSpec& variable : *spec_.mutable_variables()) *variable.mutable_optimizer() = optimizer;
  }

  // Embeddings of another size. Before Open.
  void UseEmbedding(uint32_t floats) {
    spec_.mutable_table()->mutable_segments(1)->set_dim(floats);
    dim_ = 1 + floats;
  }

  uint32_t shards() const { return static_cast<uint32_t>(servers_.size()); }
  Server& server(uint32_t shard) { return *servers_[shard]; }
  OpenRequest& spec() { return spec_; }
  size_t dense_floats() const { return dense_floats_; }

  Peer MakePeer(uint32_t shard, uint32_t worker = 1, uint64_t generation = 1) const {
    Peer peer;
    peer.set_job("test-job");
    peer.set_incarnation(incarnation_);
    peer.set_map_version(1);
    peer.set_shard(shard);
    peer.set_shards(shards());
    peer.set_worker(worker);
    peer.set_generation(generation);
    return peer;
  }

  absl::Status Open(const std::string& restore_from = "", uint64_t incarnation = 1) {
    incarnation_ = incarnation;
    for (uint32_t s = 0; s < shards(); ++s) {
      OpenRequest request = spec_;
      *request.mutable_peer() = MakePeer(s);
      request.set_restore_from(restore_from);
      OpenReply reply;
      if (absl::Status status = servers_[s]->Open(request, &reply); !status.ok()) return status;
      opened_step_ = reply.step();
      opened_rows_ = s == 0 ? reply.rows() : opened_rows_ + reply.rows();
    }
    return absl::OkStatus();
  }
  uint64_t opened_step() const { return opened_step_; }
  uint64_t opened_rows() const { return opened_rows_; }

  // Of one server; ids are all sent there.
  PullRequest MakePull(uint32_t shard, uint64_t step, const Decision* decision, const std::vector<uint64_t>& ids = {}) const {
    PullRequest request;
    *request.mutable_peer() = MakePeer(shard);
    request.set_step(step);
    if (decision != nullptr) *request.mutable_decision() = *decision;
    AppendPacked(absl::MakeConstSpan(ids), request.mutable_ids());
    request.set_dense(true);
    return request;
  }

  // Of all servers, put together again.
  absl::StatusOr<PulledState> Pull(uint64_t step, const Decision* decision, const std::vector<uint64_t>& ids, bool evaluation = false) {
    PulledState state;
    state.values.resize(ids.size() * dim_);
    state.dense.resize(dense_floats_);
    for (uint32_t s = 0; s < shards(); ++s) {
      std::vector<size_t> own;
      std::vector<uint64_t> own_ids;
      for (size_t i = 0; i < ids.size(); ++i) {
        if (ShardOf(PartitionOf(ids[i]), shards()) == s) own.push_back(i), own_ids.push_back(ids[i]);
      }
      PullRequest request = MakePull(s, step, decision, own_ids);
      request.set_evaluation(evaluation);
      PullReply reply;
      if (absl::Status status = servers_[s]->Pull(request, &reply); !status.ok()) return status;
      const auto values = PackedView<float>(reply.values(), "values").value();
      for (size_t i = 0; i < own.size(); ++i) std::copy_n(&values[i * dim_], dim_, &state.values[own[i] * dim_]);
      const auto dense = PackedView<float>(reply.dense(), "dense").value();
      size_t at = 0;
      for (const DenseChunk& chunk : chunks_) {
        if (ShardOf(chunk.partition, shards()) != s) continue;
        std::copy_n(&dense[at], chunk.size, &state.dense[FlatBegin(chunk)]);
        at += chunk.size;
      }
      EXPECT_EQ(at, dense.size());
    }
    return state;
  }

  // A share's stage for one server, cut into parts by ids; dense goes with the first.
  std::vector<StageRequest> MakeStages(uint32_t shard, uint64_t step, const Decision& decision, const ShareGradients& share,
                                       uint32_t parts = 1) const {
    std::vector<StageRequest> requests(parts);
    for (uint32_t p = 0; p < parts; ++p) {
      *requests[p].mutable_peer() = MakePeer(shard, share.worker, share.generation);
      requests[p].set_step(step);
      *requests[p].mutable_decision() = decision;
      requests[p].set_share(share.share);
      requests[p].set_part(p);
      requests[p].set_parts(parts);
      FillGradients(shard, share, p, parts, requests[p].mutable_gradients());
    }
    return requests;
  }

  void FillGradients(uint32_t shard, const ShareGradients& share, uint32_t part, uint32_t parts, Gradients* gradients) const {
    size_t seen = 0;
    for (size_t i = 0; i < share.ids.size(); ++i) {
      if (ShardOf(PartitionOf(share.ids[i]), shards()) != shard || seen++ % parts != part) continue;
      const uint32_t one = 1;
      AppendPacked<uint64_t>({&share.ids[i], 1}, gradients->mutable_ids());
      AppendPacked<uint32_t>({&one, 1}, gradients->mutable_counts());
      AppendPacked<float>({&share.values[i * dim_], dim_}, gradients->mutable_values());
    }
    gradients->set_rows(share.rows);
    for (const DenseChunk& chunk : chunks_) {
      if (part > 0 || ShardOf(chunk.partition, shards()) != shard) continue;
      AppendPacked<float>({&share.dense[FlatBegin(chunk)], chunk.size}, gradients->mutable_dense());
    }
  }

  absl::Status Stage(uint64_t step, const Decision& decision, const ShareGradients& share, uint32_t parts = 1) {
    for (uint32_t s = 0; s < shards(); ++s) {
      for (const StageRequest& request : MakeStages(s, step, decision, share, parts)) {
        StageReply reply;
        if (absl::Status status = servers_[s]->Stage(request, &reply); !status.ok()) return status;
      }
    }
    return absl::OkStatus();
  }

  absl::Status Commit(const Decision& decision) {
    for (uint32_t s = 0; s < shards(); ++s) {
      CommitRequest request;
      *request.mutable_peer() = MakePeer(s);
      *request.mutable_decision() = decision;
      CommitReply reply;
      if (absl::Status status = servers_[s]->Commit(request, &reply); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // Into the unfinished folder, which then gets its final name, as a coordinator does it.
  absl::StatusOr<std::vector<SavedFile>> Save(const std::string& checkpoint) {
    const std::string unfinished = checkpoint + ".unfinished";
    if (std::filesystem::exists(checkpoint)) std::filesystem::rename(checkpoint, unfinished);
    absl::StatusOr<std::vector<SavedFile>> files = SaveInto(unfinished);
    if (std::filesystem::exists(unfinished)) std::filesystem::rename(unfinished, checkpoint);
    return files;
  }
  absl::StatusOr<std::vector<SavedFile>> SaveInto(const std::string& checkpoint) {
    std::vector<SavedFile> files;
    std::filesystem::create_directories(checkpoint);
    digest_ = 0;
    for (uint32_t s = 0; s < shards(); ++s) {
      SaveRequest request;
      *request.mutable_peer() = MakePeer(s);
      request.set_directory(absl::StrCat(checkpoint, "/shard-", s, "-of-", shards()));
      SaveReply reply;
      if (absl::Status status = servers_[s]->Save(request, &reply); !status.ok()) return status;
      digest_ += reply.content_digest();
      files.insert(files.end(), reply.files().begin(), reply.files().end());
    }
    return files;
  }

  uint64_t digest() const { return digest_; }  // of the last save, all servers

  DescribeServerReply Describe(uint32_t shard) {
    DescribeServerRequest request;
    *request.mutable_peer() = MakePeer(shard);
    DescribeServerReply reply;
    EXPECT_TRUE(servers_[shard]->DescribeServer(request, &reply).ok());
    return reply;
  }

  // Random gradients for `count` of the ids below `world`.
  ShareGradients RandomShare(uint32_t share, uint64_t key, size_t count, uint64_t world = 3000) const {
    RandomSequence random(MixKey(key, share));
    ShareGradients gradients;
    gradients.share = share;
    gradients.rows = 5 + share;
    std::vector<bool> used(world);
    while (gradients.ids.size() < count) {
      const uint64_t id = random.Below(world);
      if (used[id]) continue;
      used[id] = true;
      gradients.ids.push_back(Mix64(id));
      for (uint32_t k = 0; k < dim_; ++k) gradients.values.push_back(UniformFloat(random.Next()) - 0.5f);
    }
    for (size_t i = 0; i < dense_floats_; ++i) gradients.dense.push_back(UniformFloat(random.Next()) - 0.5f);
    return gradients;
  }

 private:
  void AddSegment(const std::string& name, uint32_t dim, float stddev) {
    Segment* segment = spec_.mutable_table()->add_segments();
    segment->set_name(name);
    segment->set_dim(dim);
    segment->mutable_initializer()->set_normal_stddev(stddev);
    segment->mutable_optimizer()->mutable_adagrad();
  }
  void AddVariable(const std::string& name, const std::vector<uint64_t>& shape) {
    VariableSpec* variable = spec_.add_variables();
    variable->set_name(name);
    for (uint64_t extent : shape) variable->add_shape(extent);
    variable->mutable_initializer()->set_uniform_bound(0.1f);
    variable->mutable_optimizer()->mutable_adam();
  }
  size_t FlatBegin(const DenseChunk& chunk) const {
    size_t begin = chunk.begin;
    for (uint32_t v = 0; v < chunk.variable; ++v) begin += ElementCount(spec_.variables(static_cast<int>(v)));
    return begin;
  }

  ThreadPool pool_;
  OpenRequest spec_;
  std::vector<ServerOptions> options_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<DenseChunk> chunks_;
  uint32_t dim_ = kDim;
  size_t dense_floats_ = 0;
  uint64_t incarnation_ = 1;
  uint64_t opened_step_ = 0;
  uint64_t opened_rows_ = 0;
  uint64_t digest_ = 0;
};

}  // namespace tessera
