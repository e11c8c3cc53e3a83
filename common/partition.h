// Which partition an id or a chunk of a dense variable lives in, and which shard holds a partition. Part of the wire and disk contract:
// golden values stand in the test. Thread-safe: pure functions and constant data.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "common/random.h"
#include "proto/plan.pb.h"

namespace tessera {

// Logical slices of a job, fixed for its life. Servers hold ranges of them, so any number of servers can hold any job.
inline constexpr uint32_t kPartitions = 256;
// Floats of one chunk of a dense variable: 64 KiB, small enough to spread a layer over servers.
inline constexpr uint32_t kDenseChunkFloats = 16384;

// A server's dense values travel in slices of so many of its chunks: slice k is its chunks [128 k, 128 (k + 1)), at most 8 MiB.
inline constexpr uint32_t kDenseSliceChunks = 128;

// Of the hash of an id, which is Mix64 of it.
inline uint32_t PartitionOfHash(uint64_t hash) { return static_cast<uint32_t>(hash >> 56); }
inline uint32_t PartitionOf(uint64_t id) { return PartitionOfHash(Mix64(id)); }

// First partition of a shard; shard s holds [PartitionBegin(s, n), PartitionBegin(s + 1, n)). REQUIRES: shard <= shards <= 256.
inline uint32_t PartitionBegin(uint32_t shard, uint32_t shards) { return shard * kPartitions / shards; }
// The shard that holds a partition.
inline uint32_t ShardOf(uint32_t partition, uint32_t shards) { return ((partition + 1) * shards - 1) / kPartitions; }

// A fixed run of one dense variable (flattened row-major).
struct DenseChunk {
  uint32_t variable;   // index into the plan's variables
  uint64_t begin;      // first element
  uint32_t size;       // elements, at most kDenseChunkFloats
  uint32_t partition;
};

// All chunks in order: variable by variable, each from its first element. A server's dense bytes (PullReply.dense, Gradients.dense) are
// one slice of its own chunks in this order, back to back.
std::vector<DenseChunk> DenseChunks(const google::protobuf::RepeatedPtrField<VariableSpec>& variables);
uint64_t ElementCount(const VariableSpec& variable);
// Floats of all variables of a job: 256 GiB.
inline constexpr uint64_t kDenseFloatsMax = uint64_t{1} << 36;
// INVALID_ARGUMENT names the variable whose shape takes them beyond that. The functions above REQUIRE what this accepts.
absl::Status CheckVariables(const google::protobuf::RepeatedPtrField<VariableSpec>& variables);
// Floats of a row's value: the sum of its segments.
uint32_t RowDim(const TableSpec& table);

}  // namespace tessera
