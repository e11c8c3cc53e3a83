#include "common/sightings.h"

#include <algorithm>
#include <cassert>

#include "absl/strings/str_cat.h"
#include "common/partition.h"
#include "common/random.h"

namespace tessera {
namespace {

constexpr uint32_t kRows = 4;                       // counters of an id
constexpr uint64_t kSalt = 0x5851f42d4c957f2dull;   // the partition is made of Mix64(id) itself

// Where the k-th counter of a hash is: byte within the line and the shift of its half. 7 bits of the hash for each.
struct Place {
  size_t byte;
  uint32_t shift;
};
Place PlaceOf(uint64_t hash, size_t line, uint32_t k) {
  const uint64_t bits = (hash >> (36 + 7 * k)) & 127;
  return {line + (bits >> 1), static_cast<uint32_t>(bits & 1) * 4};
}

}  // namespace

size_t Sightings::BytesPerPartition(uint64_t memory_bytes) {
  size_t bytes = kBytesMin;
  while (2 * bytes <= memory_bytes / kPartitions) bytes *= 2;
  return bytes;
}

void Sightings::Add(uint64_t id, uint32_t count) {
  const uint64_t hash = Mix64(id ^ kSalt);
  const size_t line = (hash & (counters_.size() / kBytesMin - 1)) * kBytesMin;
  for (uint32_t k = 0; k < kRows; ++k) {
    const Place place = PlaceOf(hash, line, k);
    // Two of an id's counters may be one: it is added to once.
    bool again = false;
    for (uint32_t j = 0; j < k; ++j) {
      const Place other = PlaceOf(hash, line, j);
      again |= other.byte == place.byte && other.shift == place.shift;
    }
    if (again) continue;
    const uint8_t byte = static_cast<uint8_t>(counters_[place.byte]);
    const uint32_t sum = std::min<uint64_t>(kCountMax, uint64_t{(byte >> place.shift) & 15u} + count);
    counters_[place.byte] = static_cast<char>((byte & ~(15u << place.shift)) | (sum << place.shift));
  }
}

uint32_t Sightings::Count(uint64_t id) const {
  const uint64_t hash = Mix64(id ^ kSalt);
  const size_t line = (hash & (counters_.size() / kBytesMin - 1)) * kBytesMin;
  uint32_t count = kCountMax;
  for (uint32_t k = 0; k < kRows; ++k) {
    const Place place = PlaceOf(hash, line, k);
    count = std::min(count, (static_cast<uint8_t>(counters_[place.byte]) >> place.shift) & 15u);
  }
  return count;
}

absl::Status Sightings::Load(absl::string_view bytes) {
  if (bytes.size() != counters_.size()) {
    return absl::InvalidArgumentError(absl::StrCat("sighting counters of a partition have ", bytes.size(), " bytes, ", counters_.size(),
                                                   " are wanted: admission.memory differs"));
  }
  counters_.assign(bytes.data(), bytes.size());
  return absl::OkStatus();
}

}  // namespace tessera
