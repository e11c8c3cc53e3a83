// Ids of a batch that are not in memory, collected by several threads.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "ps/table/tiered_row_store.h"

namespace tessera {

struct TieredRowStore::Miss {
  uint32_t position;  // in the ids
  uint64_t updates;   // of its partition when it was missed
};

// Each partition is added to by one thread at a time.
class TieredRowStore::Misses {
 public:
  void Add(uint32_t partition, uint32_t position, uint64_t updates) {
    of_partition_[partition].push_back({position, updates});
    count_.fetch_add(1, std::memory_order_relaxed);
  }
  size_t size() const { return count_.load(std::memory_order_relaxed); }
  // In the order of keys.
  std::vector<Miss> Sorted(absl::Span<const uint64_t> ids) const {
    std::vector<Miss> all;
    all.reserve(size());
    for (const std::vector<Miss>& misses : of_partition_) {
      const size_t begin = all.size();
      all.insert(all.end(), misses.begin(), misses.end());
      std::sort(all.begin() + static_cast<std::ptrdiff_t>(begin), all.end(),
                [&](const Miss& a, const Miss& b) { return ids[a.position] < ids[b.position]; });
    }
    return all;
  }

 private:
  std::array<std::vector<Miss>, kPartitions> of_partition_;
  std::atomic<size_t> count_{0};
};

}  // namespace tessera
