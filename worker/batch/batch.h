// One share's rows of one step, ready for look-up and compute: ids made unique once, with the index that everything after it uses.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "worker/data/rows.h"

namespace tessera {

// Constant after MakeBatch, but for UseRareRows (rare_rows.h). Unique ids stand in partition order (common/partition.h), so those of one shard are one run; within a
// partition in the order of first occurrence.
struct Batch {
  Rows rows;                                // as read
  std::vector<uint64_t> unique_ids;
  std::vector<uint32_t> inverse;            // occurrence -> index into unique_ids
  std::vector<uint32_t> occurrence_begin;   // unique_ids + 1: where the occurrences of each id begin in `occurrences`
  std::vector<uint32_t> occurrences;        // grouped by unique id, ascending within each
  std::vector<uint32_t> partition_begin;    // kPartitions + 1: where each partition's ids begin in unique_ids
  std::vector<uint32_t> rare;               // fields: index of each one's rare row into unique_ids; empty where every id has a row
  std::vector<uint32_t> sighted;            // unique_ids: occurrences that use a rare row instead; empty where none does

  size_t size() const { return rows.size(); }
};

// A batch counts its occurrences with 32 bits. An error that says what to do where so many rows have more.
absl::Status CheckOccurrences(uint64_t rows, uint64_t occurrences);

// Takes the rows. One pass over the occurrences with a hash table sized for them; deterministic. `rare_ids` (RareIds) are among the unique
// ids too, in general without occurrences.
// REQUIRES: CheckOccurrences.
Batch MakeBatch(Rows rows, absl::Span<const uint64_t> rare_ids = {});

}  // namespace tessera
