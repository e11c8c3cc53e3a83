// The durable format of one server's state: keys and values of its RocksDB, byte for byte in README.md ("A saved shard").
// Numbers never change meaning; a change of layout is a new kShardFormatVersion.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/parameter_server.pb.h"
#include "ps/table/row_store.h"

namespace tessera {

inline constexpr uint32_t kShardFormatVersion = 1;

enum class RecordKind : uint8_t { kMeta = 0, kRow = 1, kChunk = 2 };

// A chunk of a dense variable as it is saved and loaded.
struct SavedChunk {
  uint32_t variable = 0;  // index into the plan's variables
  uint32_t number = 0;    // of the chunk within its variable
  uint32_t partition = 0;
  uint64_t lsn = 0;
  uint64_t last_step = 0;
  uint32_t size = 0;               // elements
  absl::Span<const float> floats;  // values, then state
};

// What a shard says about itself.
struct ShardMeta {
  uint64_t step = 0;
  uint64_t lsn = 0;   // the highest of any row or chunk
  PartitionCounts rows{};
  OpenRequest opened;  // job, incarnation, shard, seed, table and variables it was made with; restore_from is empty
};

// Keys sort by kind, partition, then id, all big-endian.
std::string RowKey(uint64_t id);
std::string ChunkKey(const SavedChunk& chunk);
std::string MetaKey();
// The first key of a kind and partition; REQUIRES: partition <= kPartitions.
std::string KeyBound(RecordKind kind, uint32_t partition);

// Encoding refuses floats that are not finite (INTERNAL, naming row or chunk): they must never reach a checkpoint.
absl::Status EncodeRow(const SavedRow& row, std::string* key, std::string* value);
absl::Status EncodeChunk(const SavedChunk& chunk, std::string* key, std::string* value);
std::string EncodeMeta(const ShardMeta& meta);

// What a row or chunk adds to the digest of a state: depends on its key, values and optimiser state, not on when or where it was saved.
uint64_t ContentHash(absl::string_view key, absl::Span<const float> floats);

// Decoding checks size and checksum: DATA_LOSS says what is wrong with which record. Floats are copied to `floats`, which the result
// points into.
absl::Status DecodeRow(absl::string_view key, absl::string_view value, std::vector<float>* floats, SavedRow* row);
absl::Status DecodeChunk(absl::string_view key, absl::string_view value, std::vector<float>* floats, SavedChunk* chunk);
// A newer version is refused by name.
absl::Status DecodeMeta(absl::string_view value, ShardMeta* meta);

}  // namespace tessera
