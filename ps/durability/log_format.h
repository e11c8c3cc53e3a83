// The bytes of a segment, as README.md has them. Only log_segment.cc and segment_scan.cc include this.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/random.h"
#include "ps/durability/log_segment.h"
#define XXH_INLINE_ALL  // compiled for this machine, which the library of the system is not: half the time for a record
#include <xxhash.h>

namespace tessera {

inline constexpr size_t kMagicBytes = 8;
inline constexpr char kSegmentMagic[kMagicBytes + 1] = "TSSALOG2";  // its last byte is the version of the format
inline constexpr uint32_t kRecordMagic = 0x43455254u;               // "TREC"
inline constexpr size_t kRecordAlignment = 8;

struct SegmentHeader {
  char magic[kMagicBytes];
  uint64_t number;
  uint64_t log;
  uint64_t first_lsn;
  uint64_t checksum;  // of the fields above
};
struct RecordHeader {
  uint32_t magic;
  uint32_t kind;
  uint64_t lsn;
  uint64_t durable_lsn;
  uint64_t body_bytes;
  uint64_t checksum;   // of the fields above, then the body; seeded with the segment's key
};
static_assert(sizeof(SegmentHeader) == 40 && sizeof(RecordHeader) == 40);

inline size_t PaddingOf(uint64_t bytes) { return (kRecordAlignment - bytes % kRecordAlignment) % kRecordAlignment; }

inline uint64_t ChecksumOfHeader(const SegmentHeader& header) { return XXH3_64bits_withSeed(&header, offsetof(SegmentHeader, checksum), 0); }

inline uint64_t ChecksumOfRecord(SegmentKey key, const RecordHeader& header, absl::Span<const absl::string_view> pieces) {
  XXH3_state_t state;
  // Without it a reset would believe a seed that some earlier call left on the stack, but not the rest of that state.
  XXH3_INITSTATE(&state);
  XXH3_64bits_reset_withSeed(&state, MixKey(key.log, key.number));
  XXH3_64bits_update(&state, &header, offsetof(RecordHeader, checksum));
  for (absl::string_view piece : pieces) XXH3_64bits_update(&state, piece.data(), piece.size());
  return XXH3_64bits_digest(&state);
}

}  // namespace tessera
