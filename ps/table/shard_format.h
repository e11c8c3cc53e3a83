// The durable format of one server's state: keys and values of its RocksDB, byte for byte in README.md ("A saved shard").
// Numbers never change meaning; a change of layout is a new kShardFormatVersion.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "absl/status/statusor.h"
#include "proto/shard.pb.h"
#include "ps/table/row_store.h"

namespace tessera {

inline constexpr uint32_t kShardFormatVersion = 2;
inline constexpr size_t kKeyBytes = 11;

enum class RecordKind : uint8_t { kMeta = 0, kRow = 1, kChunk = 2, kSummary = 3, kSightings = 4 };

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

// What is on disk of one partition's rows; written in the batch that changes it.
struct PartitionSummary {
  uint64_t rows = 0;
  uint64_t digest = 0;  // sum of ContentHash
  uint64_t lsn = 0;     // the highest that any row ever written had
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
std::string EncodeRecord(const ShardRecord& record);
std::string EncodeSummary(uint32_t partition, const PartitionSummary& summary);
// Sighting counters of a partition.
std::string EncodeSightings(uint32_t partition, absl::string_view counters);

// What a row or chunk adds to the digest of a state: depends on its key, values and optimiser state, not on when or where it was saved.
uint64_t ContentHash(absl::string_view key, absl::Span<const float> floats);

// Decoding checks size and checksum: DATA_LOSS says what is wrong with which record. Floats are copied to `floats`, which the result
// points into.
absl::Status DecodeRow(absl::string_view key, absl::string_view value, std::vector<float>* floats, SavedRow* row);
absl::Status DecodeChunk(absl::string_view key, absl::string_view value, std::vector<float>* floats, SavedChunk* chunk);
// Another version is refused by name.
absl::Status DecodeRecord(absl::string_view value, ShardRecord* record);
absl::Status DecodeSummary(uint32_t partition, absl::string_view value, PartitionSummary* summary);
// Points into `value`.
absl::StatusOr<absl::string_view> DecodeSightings(uint32_t partition, absl::string_view value);

}  // namespace tessera
