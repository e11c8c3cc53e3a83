// Ids grouped by partition, the unit of locking and of parallel work.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/partition.h"

namespace tessera {

// Ids in partition order, as batches have them, cost one pass and no memory; any other order is sorted (stably) by partition.
// Constant after construction.
class PartitionedIds {
 public:
  PartitionedIds() { begin_.fill(0); }
  // Keeps no reference to `ids`. REQUIRES: fewer than 2^32 ids.
  explicit PartitionedIds(absl::Span<const uint64_t> ids);

  // The ids of partition p are the grouped ids [begin(p), begin(p + 1)). REQUIRES: p <= kPartitions.
  uint32_t begin(uint32_t partition) const { return begin_[partition]; }
  // Where the k-th grouped id stands in the ids as given.
  uint32_t position(uint32_t k) const { return order_.empty() ? k : order_[k]; }
  size_t size() const { return begin_[kPartitions]; }

 private:
  std::array<uint32_t, kPartitions + 1> begin_;
  std::vector<uint32_t> order_;  // empty: as given
};

}  // namespace tessera
