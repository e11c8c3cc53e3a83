#include "tests/integration/push_world.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "common/packed.h"
#include "common/partition.h"

namespace tessera {
namespace {

// So small that write-back, dropping of log segments, and rows that are on disk only never stop: half of 40,000 rows fit memory.
constexpr uint64_t kLogBytes = 2u << 20;
constexpr uint64_t kMemoryBytes = 4u << 20;
constexpr uint64_t kOftenIds = 500;
constexpr uint64_t kPushIdsMax = 120;

Optimizer SparseOptimizer(bool exact) {
  Optimizer optimizer;
  if (exact) {
    optimizer.mutable_sgd()->set_learning_rate(1);
    optimizer.mutable_sgd()->set_l2(0);
    return optimizer;
  }
  optimizer.mutable_adagrad()->set_learning_rate(0.05);
  optimizer.mutable_adagrad()->set_initial_accumulator(0.1);
  optimizer.mutable_adagrad()->set_epsilon(1e-10);
  optimizer.mutable_adagrad()->set_l2(0);
  return optimizer;
}

Optimizer DenseOptimizer(bool exact) {
  if (exact) return SparseOptimizer(true);
  Optimizer optimizer;
  optimizer.mutable_adam()->set_learning_rate(0.001);
  optimizer.mutable_adam()->set_beta1(0.9);
  optimizer.mutable_adam()->set_beta2(0.999);
  optimizer.mutable_adam()->set_epsilon(1e-8);
  optimizer.mutable_adam()->set_l2(0);
  return optimizer;
}

Initializer Start(bool exact) {
  Initializer initializer;
  exact ? initializer.set_constant(0) : initializer.set_normal_stddev(0.01f);
  return initializer;
}

}  // namespace

PushWorld::PushWorld(Durability durability, bool exact, uint64_t id_count) {
  *open_.mutable_peer() = MakePeer(0, 0);
  open_.set_seed(11);
  open_.mutable_table()->set_name("rows");
  Segment* const segment = open_.mutable_table()->add_segments();
  segment->set_name("embedding");
  segment->set_dim(kWorldDim);
  *segment->mutable_initializer() = Start(exact);
  *segment->mutable_optimizer() = SparseOptimizer(exact);
  for (int i = 0; i < 8; ++i) {
    VariableSpec* const variable = open_.add_variables();
    variable->set_name("variable" + std::to_string(i));
    variable->add_shape(64);
    *variable->mutable_initializer() = Start(exact);
    *variable->mutable_optimizer() = DenseOptimizer(exact);
  }
  open_.mutable_storage()->set_durability(durability);
  open_.mutable_storage()->mutable_memory_per_server()->set_bytes(kMemoryBytes);
  open_.mutable_storage()->mutable_log_per_server()->set_bytes(kLogBytes);
  if (!exact) {
    open_.mutable_admission()->set_sightings(2);
    open_.mutable_admission()->mutable_memory()->set_bytes(256u << 10);
    open_.mutable_eviction()->set_rows(id_count);  // of both servers: half of the ids asked for here
    open_.mutable_eviction()->set_unused_steps(2000);
    open_.mutable_eviction()->set_unused_periods(3);
  }
  for (uint64_t id = 1; ids_.size() < id_count; ++id) {
    if (ShardOf(PartitionOf(id), kWorldShards) == kWorldShard) ids_.push_back(id);
  }
  for (const DenseChunk& chunk : DenseChunks(open_.variables())) {
    if (ShardOf(chunk.partition, kWorldShards) == kWorldShard) dense_floats_ += chunk.size;
  }
}

Peer PushWorld::MakePeer(uint32_t worker, uint64_t generation) const {
  Peer peer;
  peer.set_job(kWorldJob);
  peer.set_incarnation(1);
  peer.set_map_version(1);
  peer.set_shard(kWorldShard);
  peer.set_shards(kWorldShards);
  peer.set_worker(worker);
  peer.set_generation(generation);
  return peer;
}

size_t PushWorld::RandomId(RandomSequence* random) const {
  return random->Below(random->Below(2) == 0 ? std::min<uint64_t>(kOftenIds, ids_.size()) : ids_.size());
}

Gradients PushWorld::MakeGradients(RandomSequence* random, bool dense, bool sighted) const {
  const auto whole = [random] { return static_cast<float>(random->Below(7)) - 3; };
  Gradients gradients;
  std::vector<uint64_t> ids[2];
  absl::flat_hash_set<uint64_t> taken;
  for (uint64_t i = random->Below(10) == 0 ? 0 : 1 + random->Below(kPushIdsMax); i > 0; --i) {
    const uint64_t id = ids_[RandomId(random)];
    if (taken.insert(id).second) ids[sighted && random->Below(5) == 0].push_back(id);
  }
  for (std::string* const counts : {gradients.mutable_counts(), gradients.mutable_sighted_counts()}) {
    const size_t size = (counts == gradients.mutable_counts() ? ids[0] : ids[1]).size();
    for (uint32_t& count : PackedResize<uint32_t>(counts, size)) count = 1 + static_cast<uint32_t>(random->Below(2));
  }
  AppendPacked(absl::MakeConstSpan(ids[0]), gradients.mutable_ids());
  AppendPacked(absl::MakeConstSpan(ids[1]), gradients.mutable_sighted_ids());
  for (float& value : PackedResize<float>(gradients.mutable_values(), ids[0].size() * kWorldDim)) value = whole();
  if (dense) {
    for (float& value : PackedResize<float>(gradients.mutable_dense(), dense_floats_)) value = whole();
  }
  gradients.set_rows(10);
  return gradients;
}

}  // namespace tessera
