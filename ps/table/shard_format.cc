#include "ps/table/shard_format.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/packed.h"
#include "common/status_macros.h"
#include <xxhash.h>

namespace tessera {
namespace {

constexpr size_t kRowHeaderBytes = 28;
constexpr size_t kChunkHeaderBytes = 20;
constexpr size_t kSummaryBytes = 24;
constexpr size_t kChecksumBytes = 4;

std::string MakeKey(RecordKind kind, uint32_t partition, uint64_t id) {
  std::string key(kKeyBytes, '\0');
  key[0] = static_cast<char>(kind);
  key[1] = static_cast<char>(partition >> 8);
  key[2] = static_cast<char>(partition);
  for (int i = 0; i < 8; ++i) key[3 + i] = static_cast<char>(id >> (56 - 8 * i));
  return key;
}

uint32_t PartitionOfKey(absl::string_view key) { return static_cast<uint8_t>(key[1]) << 8 | static_cast<uint8_t>(key[2]); }

uint64_t IdOfKey(absl::string_view key) {
  uint64_t id = 0;
  for (size_t i = 3; i < kKeyBytes; ++i) id = id << 8 | static_cast<uint8_t>(key[i]);
  return id;
}

template <class T>
void Append(T value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Reads at *bytes and moves on. REQUIRES: enough bytes.
template <class T>
T Take(const char** bytes) {
  T value;
  std::memcpy(&value, *bytes, sizeof value);
  *bytes += sizeof value;
  return value;
}

// The key is part of what is summed, so that a value under a wrong key is found too.
uint32_t ChecksumOf(absl::string_view key, absl::string_view body) {
  const uint64_t seed = XXH3_64bits(key.data(), key.size());
  return static_cast<uint32_t>(XXH3_64bits_withSeed(body.data(), body.size(), seed));
}

void AppendChecksum(absl::string_view key, std::string* value) { Append(ChecksumOf(key, *value), value); }

absl::Status CheckValue(absl::string_view what, absl::string_view key, absl::string_view value, size_t header_bytes) {
  if (value.size() < header_bytes + kChecksumBytes) {
    return absl::DataLossError(
        absl::StrCat(what, " has ", value.size(), " bytes, at least ", header_bytes + kChecksumBytes, " are needed"));
  }
  const absl::string_view body = value.substr(0, value.size() - kChecksumBytes);
  uint32_t stored;
  std::memcpy(&stored, body.data() + body.size(), sizeof stored);
  if (const uint32_t computed = ChecksumOf(key, body); computed != stored) {
    return absl::DataLossError(absl::StrCat(what, ": checksum ", absl::Hex(stored, absl::kZeroPad8), " is stored, its bytes have ",
                                            absl::Hex(computed, absl::kZeroPad8)));
  }
  return absl::OkStatus();
}

absl::Status CheckKey(absl::string_view key, RecordKind kind) {
  if (key.size() == kKeyBytes && key[0] == static_cast<char>(kind)) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("unknown record under key ", absl::BytesToHexString(key)));
}

absl::Status TakeFloats(absl::string_view what, const char* begin, const char* end, std::vector<float>* floats) {
  const size_t bytes = end - begin;
  if (bytes % sizeof(float) != 0) return absl::DataLossError(absl::StrCat(what, ": ", bytes, " bytes are no whole number of floats"));
  floats->resize(bytes / sizeof(float));
  if (bytes > 0) std::memcpy(floats->data(), begin, bytes);
  return absl::OkStatus();
}

bool AllFinite(absl::Span<const float> floats) {
  uint32_t bad = 0;
  for (float value : floats) bad |= (std::bit_cast<uint32_t>(value) & 0x7f800000u) == 0x7f800000u ? 1u : 0u;
  return bad == 0;
}

absl::Status NotFinite(absl::string_view what, absl::Span<const float> floats) {
  const auto at = std::find_if(floats.begin(), floats.end(), [](float value) { return !std::isfinite(value); });
  return absl::InternalError(
      absl::StrCat(what, " holds ", *at, " at float ", at - floats.begin(), " and is not saved; a smaller learning rate helps"));
}

std::string ChunkName(const SavedChunk& chunk) { return absl::StrCat("chunk ", chunk.number, " of variable ", chunk.variable); }

}  // namespace

std::string RowKey(uint64_t id) { return MakeKey(RecordKind::kRow, PartitionOf(id), id); }
std::string ChunkKey(const SavedChunk& chunk) {
  return MakeKey(RecordKind::kChunk, chunk.partition, static_cast<uint64_t>(chunk.variable) << 32 | chunk.number);
}
std::string MetaKey() { return MakeKey(RecordKind::kMeta, 0, 0); }
std::string KeyBound(RecordKind kind, uint32_t partition) { return MakeKey(kind, partition, 0); }

uint64_t ContentHash(absl::string_view key, absl::Span<const float> floats) {
  return XXH3_64bits_withSeed(floats.data(), floats.size() * sizeof(float), XXH3_64bits(key.data(), key.size()));
}

absl::Status EncodeRow(const SavedRow& row, std::string* key, std::string* value) {
  if (!AllFinite(row.floats)) return NotFinite(absl::StrCat("row ", row.id), row.floats);
  *key = RowKey(row.id);
  value->clear();
  value->reserve(kRowHeaderBytes + row.floats.size() * sizeof(float) + kChecksumBytes);
  Append(row.header.lsn, value);
  Append(row.header.last_step, value);
  Append(row.header.period, value);
  Append(row.header.show, value);
  Append(row.header.click, value);
  AppendPacked(row.floats, value);
  AppendChecksum(*key, value);
  return absl::OkStatus();
}

absl::Status DecodeRow(absl::string_view key, absl::string_view value, std::vector<float>* floats, SavedRow* row) {
  TESSERA_RETURN_IF_ERROR(CheckKey(key, RecordKind::kRow));
  row->id = IdOfKey(key);
  if (PartitionOfKey(key) != PartitionOf(row->id)) {
    return absl::DataLossError(
        absl::StrCat("row ", row->id, " is stored under partition ", PartitionOfKey(key), ", not ", PartitionOf(row->id)));
  }
  const std::string what = absl::StrCat("row ", row->id);
  TESSERA_RETURN_IF_ERROR(CheckValue(what, key, value, kRowHeaderBytes));
  const char* at = value.data();
  row->header.lsn = Take<uint64_t>(&at);
  row->header.last_step = Take<uint64_t>(&at);
  row->header.period = Take<uint32_t>(&at);
  row->header.show = Take<float>(&at);
  row->header.click = Take<float>(&at);
  TESSERA_RETURN_IF_ERROR(TakeFloats(what, at, value.data() + value.size() - kChecksumBytes, floats));
  row->floats = *floats;
  return absl::OkStatus();
}

absl::Status EncodeChunk(const SavedChunk& chunk, std::string* key, std::string* value) {
  if (!AllFinite(chunk.floats)) return NotFinite(ChunkName(chunk), chunk.floats);
  *key = ChunkKey(chunk);
  value->clear();
  Append(chunk.lsn, value);
  Append(chunk.last_step, value);
  Append(chunk.size, value);
  AppendPacked(chunk.floats, value);
  AppendChecksum(*key, value);
  return absl::OkStatus();
}

absl::Status DecodeChunk(absl::string_view key, absl::string_view value, std::vector<float>* floats, SavedChunk* chunk) {
  TESSERA_RETURN_IF_ERROR(CheckKey(key, RecordKind::kChunk));
  const uint64_t id = IdOfKey(key);
  chunk->variable = static_cast<uint32_t>(id >> 32);
  chunk->number = static_cast<uint32_t>(id);
  chunk->partition = PartitionOfKey(key);
  TESSERA_RETURN_IF_ERROR(CheckValue(ChunkName(*chunk), key, value, kChunkHeaderBytes));
  const char* at = value.data();
  chunk->lsn = Take<uint64_t>(&at);
  chunk->last_step = Take<uint64_t>(&at);
  chunk->size = Take<uint32_t>(&at);
  TESSERA_RETURN_IF_ERROR(TakeFloats(ChunkName(*chunk), at, value.data() + value.size() - kChecksumBytes, floats));
  chunk->floats = *floats;
  return absl::OkStatus();
}

std::string EncodeRecord(const ShardRecord& record) {
  std::string value;
  Append(kShardFormatVersion, &value);
  value += record.SerializeAsString();
  AppendChecksum(MetaKey(), &value);
  return value;
}

absl::Status DecodeRecord(absl::string_view value, ShardRecord* record) {
  if (value.size() < sizeof kShardFormatVersion) return absl::DataLossError("the description of the shard is cut off");
  const char* at = value.data();
  // Looked at before all else: another version may sum and lay out differently.
  if (const uint32_t version = Take<uint32_t>(&at); version != kShardFormatVersion) {
    return absl::FailedPreconditionError(absl::StrCat("shard format ", version, " is not known to this program, which reads format ",
                                                      kShardFormatVersion, "; use the release that wrote it"));
  }
  TESSERA_RETURN_IF_ERROR(CheckValue("the description of the shard", MetaKey(), value, sizeof kShardFormatVersion));
  if (!record->ParseFromArray(at, static_cast<int>(value.data() + value.size() - kChecksumBytes - at))) {
    return absl::DataLossError("the description of the shard does not name its table and variables");
  }
  return absl::OkStatus();
}

std::string EncodeSummary(uint32_t partition, const PartitionSummary& summary) {
  std::string value;
  Append(summary.rows, &value);
  Append(summary.digest, &value);
  Append(summary.lsn, &value);
  AppendChecksum(KeyBound(RecordKind::kSummary, partition), &value);
  return value;
}

absl::Status DecodeSummary(uint32_t partition, absl::string_view value, PartitionSummary* summary) {
  const std::string what = absl::StrCat("the summary of partition ", partition);
  TESSERA_RETURN_IF_ERROR(CheckValue(what, KeyBound(RecordKind::kSummary, partition), value, kSummaryBytes));
  const char* at = value.data();
  summary->rows = Take<uint64_t>(&at);
  summary->digest = Take<uint64_t>(&at);
  summary->lsn = Take<uint64_t>(&at);
  return absl::OkStatus();
}

std::string EncodeSightings(uint32_t partition, absl::string_view counters) {
  std::string value(counters);
  AppendChecksum(KeyBound(RecordKind::kSightings, partition), &value);
  return value;
}

absl::StatusOr<absl::string_view> DecodeSightings(uint32_t partition, absl::string_view value) {
  const std::string what = absl::StrCat("the sighting counters of partition ", partition);
  TESSERA_RETURN_IF_ERROR(CheckValue(what, KeyBound(RecordKind::kSightings, partition), value, 0));
  return value.substr(0, value.size() - kChecksumBytes);
}

}  // namespace tessera
