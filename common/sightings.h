// How often ids were seen, in bounded memory: a count-min sketch (Cormode, Muthukrishnan 2005) of 4-bit counters, one per partition, so
// that counts do not depend on the number of servers. Part of the wire and disk contract: golden values stand in the test.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tessera {

// The four counters of an id stand in one cache line: an addition or a look-up costs one access to memory. Counters stop at 15. Never
// counts too few below 15; counts too many when all four are shared with other ids. Additions commute. Thread-compatible.
class Sightings {
 public:
  static constexpr uint32_t kCountMax = 15;
  static constexpr size_t kBytesMin = 64;
  // Bytes of one partition's counters where all of a job's may take `memory_bytes`: a power of two, at least kBytesMin.
  static size_t BytesPerPartition(uint64_t memory_bytes);

  // REQUIRES: bytes is a power of two, at least kBytesMin.
  explicit Sightings(size_t bytes) : counters_(bytes, '\0') {}

  void Add(uint64_t id, uint32_t count);
  uint32_t Count(uint64_t id) const;
  absl::string_view bytes() const { return counters_; }
  // Takes counters written before. INVALID_ARGUMENT when they are of another size.
  absl::Status Load(absl::string_view bytes);

 private:
  std::string counters_;
};

}  // namespace tessera
