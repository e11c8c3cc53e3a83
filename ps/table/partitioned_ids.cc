#include "ps/table/partitioned_ids.h"

#include <cassert>

namespace tessera {

PartitionedIds::PartitionedIds(absl::Span<const uint64_t> ids) {
  assert(ids.size() < (1ull << 32));
  begin_.fill(0);
  bool in_order = true;
  uint32_t previous = 0;
  for (uint64_t id : ids) {
    const uint32_t partition = PartitionOf(id);
    in_order &= partition >= previous;
    previous = partition;
    ++begin_[partition + 1];
  }
  for (uint32_t p = 0; p < kPartitions; ++p) begin_[p + 1] += begin_[p];
  if (in_order) return;
  order_.resize(ids.size());
  std::array<uint32_t, kPartitions + 1> next = begin_;
  for (uint32_t i = 0; i < ids.size(); ++i) order_[next[PartitionOf(ids[i])]++] = i;
}

}  // namespace tessera
