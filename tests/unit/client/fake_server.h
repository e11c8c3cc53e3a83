// A parameter server whose values are a function of the id, and which remembers what it was sent.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/limits.h"
#include "common/mutex.h"
#include "common/packed.h"
#include "common/parameter_server_api.h"
#include "common/partition.h"
#include "gtest/gtest.h"

namespace tessera {

inline float ValueOf(uint64_t id, uint32_t column) { return static_cast<float>(Mix64(id + column) >> 40); }

// Thread-safe. Checks that every id and chunk belongs to this shard and that no message is too large.
class FakeServer : public ParameterServerApi {
 public:
  FakeServer(const Plan& plan, uint32_t shard, uint32_t shards) : dim_(RowDim(plan.table())), shard_(shard), shards_(shards) {
    for (const DenseChunk& chunk : DenseChunks(plan.variables())) {
      if (ShardOf(chunk.partition, shards) == shard) {
        if (chunks_++ % kDenseSliceChunks == 0) slice_begin_.push_back(dense_.size());
        for (uint32_t i = 0; i < chunk.size; ++i) dense_.push_back(static_cast<float>(offset_ + i));
      }
      offset_ += chunk.size;
    }
  }

  absl::Status Open(const OpenRequest&, OpenReply*) override { return absl::OkStatus(); }
  absl::Status Fence(const FenceRequest&, FenceReply*) override { return absl::OkStatus(); }
  absl::Status Commit(const CommitRequest&, CommitReply*) override { return absl::OkStatus(); }
  absl::Status Save(const SaveRequest&, SaveReply*) override { return absl::OkStatus(); }
  absl::Status DescribeServer(const DescribeServerRequest&, DescribeServerReply*) override { return absl::OkStatus(); }

  absl::Status Pull(const PullRequest& request, PullReply* reply) override {
    MutexLock lock(&mutex_);
    if (absl::Status error = Next(request.peer(), request.ByteSizeLong()); !error.ok()) return error;
    pulls_.push_back(request);
    const auto ids = *PackedView<uint64_t>(request.ids(), "ids");
    const auto values = PackedResize<float>(reply->mutable_values(), ids.size() * dim_);
    for (size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(ShardOf(PartitionOf(ids[i]), shards_), shard_);
      for (uint32_t c = 0; c < dim_; ++c) values[i * dim_ + c] = ValueOf(ids[i], c);
    }
    if (!absent_.empty()) {
      reply->mutable_absent()->assign((ids.size() + 7) / 8, 0);
      for (size_t i = 0; i < ids.size(); ++i) {
        if (absent_.count(ids[i]) > 0) (*reply->mutable_absent())[i / 8] |= static_cast<char>(1 << i % 8);
      }
    }
    if (wrong_absent_) reply->mutable_absent()->push_back('x');
    if (spilled_) reply->set_spilled(true);
    reply->clear_dense();
    if (request.dense()) {
      EXPECT_LT(request.dense_slice(), slice_begin_.size());
      const size_t begin = slice_begin_[request.dense_slice()];
      const size_t end = request.dense_slice() + 1 < slice_begin_.size() ? slice_begin_[request.dense_slice() + 1] : dense_.size();
      AppendPacked(absl::MakeConstSpan(dense_).subspan(begin, end - begin), reply->mutable_dense());
    }
    if (wrong_size_) reply->mutable_values()->push_back('x');
    EXPECT_LE(reply->ByteSizeLong(), kPayloadBytesTarget + 100);
    reply->set_step(40 + shard_);
    return absl::OkStatus();
  }
  absl::Status Stage(const StageRequest& request, StageReply*) override {
    MutexLock lock(&mutex_);
    if (absl::Status error = Next(request.peer(), request.ByteSizeLong()); !error.ok()) return error;
    Take(request.gradients());
    stages_.push_back(request);
    stages_.back().clear_gradients();
    return absl::OkStatus();
  }
  absl::Status Push(const PushRequest& request, PushReply*) override {
    MutexLock lock(&mutex_);
    if (absl::Status error = Next(request.peer(), request.ByteSizeLong()); !error.ok()) return error;
    Take(request.gradients());
    pushes_.push_back(request);
    pushes_.back().clear_gradients();
    return absl::OkStatus();
  }

  // The next calls fail like this, in order.
  void FailNext(std::deque<absl::Status> errors) {
    MutexLock lock(&mutex_);
    errors_ = std::move(errors);
  }
  void SetSpilled(bool spilled) {
    MutexLock lock(&mutex_);
    spilled_ = spilled;
  }
  // These ids have no row.
  void SetAbsent(std::set<uint64_t> ids) {
    MutexLock lock(&mutex_);
    absent_ = std::move(ids);
  }
  void AnswerWrongAbsent() {
    MutexLock lock(&mutex_);
    wrong_absent_ = true;
  }
  void AnswerWrongSize() {
    MutexLock lock(&mutex_);
    wrong_size_ = true;
  }

  std::vector<PullRequest> pulls() const { return Locked(&FakeServer::pulls_); }
  std::vector<StageRequest> stages() const { return Locked(&FakeServer::stages_); }
  std::vector<PushRequest> pushes() const { return Locked(&FakeServer::pushes_); }
  // What arrived: id -> (count, first gradient), and the dense sums, slice by slice.
  std::map<uint64_t, std::pair<uint32_t, float>> taken() const { return Locked(&FakeServer::taken_); }
  std::map<uint64_t, uint32_t> sighted() const { return Locked(&FakeServer::sighted_); }
  std::vector<float> taken_dense() const { return Locked(&FakeServer::taken_dense_); }
  const std::vector<float>& dense() const { return dense_; }

 private:
  template <class T>
  T Locked(T FakeServer::*member) const {
    MutexLock lock(&mutex_);
    return this->*member;
  }
  absl::Status Next(const Peer& peer, size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    EXPECT_EQ(peer.job(), "job");
    EXPECT_EQ(peer.shard(), shard_);
    EXPECT_EQ(peer.shards(), shards_);
    EXPECT_EQ(peer.worker(), 3u);
    EXPECT_EQ(peer.incarnation(), 5u);
    EXPECT_EQ(peer.generation(), 9u);
    EXPECT_LE(bytes, kPayloadBytesTarget + 1000);
    if (errors_.empty()) return absl::OkStatus();
    const absl::Status error = errors_.front();
    errors_.pop_front();
    return error;
  }
  void Take(const Gradients& gradients) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto ids = *PackedView<uint64_t>(gradients.ids(), "ids");
    const auto counts = *PackedView<uint32_t>(gradients.counts(), "counts");
    const auto values = *PackedView<float>(gradients.values(), "values");
    ASSERT_EQ(counts.size(), ids.size());
    ASSERT_EQ(values.size(), ids.size() * dim_);
    for (size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(ShardOf(PartitionOf(ids[i]), shards_), shard_);
      EXPECT_TRUE(taken_.emplace(ids[i], std::make_pair(counts[i], values[i * dim_])).second) << "sent twice";
    }
    const auto sighted = *PackedView<uint64_t>(gradients.sighted_ids(), "sighted_ids");
    const auto sighted_counts = *PackedView<uint32_t>(gradients.sighted_counts(), "sighted_counts");
    ASSERT_EQ(sighted.size(), sighted_counts.size());
    for (size_t i = 0; i < sighted.size(); ++i) {
      EXPECT_EQ(ShardOf(PartitionOf(sighted[i]), shards_), shard_);
      EXPECT_TRUE(sighted_.emplace(sighted[i], sighted_counts[i]).second) << "sent twice";
    }
    const auto dense = *PackedView<float>(gradients.dense(), "dense");
    taken_dense_.insert(taken_dense_.end(), dense.begin(), dense.end());
  }

  const uint32_t dim_, shard_, shards_;
  size_t offset_ = 0;
  std::vector<size_t> slice_begin_;  // in dense_
  size_t chunks_ = 0;
  std::vector<float> dense_;  // each value is its place among all
  mutable Mutex mutex_;
  std::deque<absl::Status> errors_ ABSL_GUARDED_BY(mutex_);
  std::set<uint64_t> absent_ ABSL_GUARDED_BY(mutex_);
  bool spilled_ ABSL_GUARDED_BY(mutex_) = false;
  bool wrong_absent_ ABSL_GUARDED_BY(mutex_) = false;
  bool wrong_size_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<PullRequest> pulls_ ABSL_GUARDED_BY(mutex_);
  std::vector<StageRequest> stages_ ABSL_GUARDED_BY(mutex_);
  std::vector<PushRequest> pushes_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, std::pair<uint32_t, float>> taken_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, uint32_t> sighted_ ABSL_GUARDED_BY(mutex_);
  std::vector<float> taken_dense_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tessera
