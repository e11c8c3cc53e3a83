// What a simulated job trains on, what its workers ask for, and the gradients that come of it: functions of rows and values, so that a wrong value
// shows in the result.
#pragma once

#include <cstdint>
#include <vector>

#include "common/packed.h"
#include "common/partition.h"
#include "common/random.h"
#include "proto/coordinator.pb.h"
#include "proto/parameter_server.pb.h"
#include "proto/plan.pb.h"

namespace tessera {

// What there is to train on.
struct SimulatedData {
  Plan plan;
  std::vector<uint64_t> share_rows;  // sync: of each share in an epoch
  uint64_t rows_per_block = 3;       // async, bounded
  uint64_t batch_rows = 2;           // of a push
};

// sync: row `row` of a share. async: row `row` of all.
inline uint64_t RowId(uint64_t share, uint64_t row) { return Mix64(share << 32 | row); }

inline Peer MakePeer(const JoinReply& joined, uint64_t incarnation, uint32_t shard, uint32_t shards) {
  Peer peer;
  peer.set_job(joined.job());
  peer.set_incarnation(incarnation);
  peer.set_map_version(joined.map_version());
  peer.set_shard(shard);
  peer.set_shards(shards);
  peer.set_worker(joined.worker());
  peer.set_generation(joined.generation());
  return peer;
}

// One request for each shard, with its ids.
inline std::vector<PullRequest> SplitIds(const std::vector<uint64_t>& ids, uint32_t shards) {
  std::vector<PullRequest> requests(shards);
  for (const uint64_t id : ids) AppendPacked<uint64_t>({&id, 1}, requests[ShardOf(PartitionOf(id), shards)].mutable_ids());
  return requests;
}

// Per shard: gradients of its ids, which are functions of the values that were read.
inline std::vector<Gradients> Compute(const std::vector<PullRequest>& pulls, const std::vector<PullReply>& values, uint64_t rows, bool count) {
  std::vector<Gradients> all(pulls.size());
  for (size_t shard = 0; shard < pulls.size(); ++shard) {
    const auto ids = PackedView<uint64_t>(pulls[shard].ids(), "ids").value();
    const auto read = PackedView<float>(values[shard].values(), "values").value();
    all[shard].set_rows(rows);
    for (size_t i = 0; i < ids.size(); ++i) {
      const uint32_t one = 1;
      const float gradient = count ? -1.0f : 0.7f * read[i] - UniformFloat(Mix64(ids[i]));
      AppendPacked<uint64_t>({&ids[i], 1}, all[shard].mutable_ids());
      AppendPacked<uint32_t>({&one, 1}, all[shard].mutable_counts());
      AppendPacked<float>({&gradient, 1}, all[shard].mutable_values());
    }
  }
  return all;
}

}  // namespace tessera
