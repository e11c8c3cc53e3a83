// The facts of an update, partition by partition.
#pragma once

#include <vector>

#include "ps/table/tiered_row_store.h"

namespace tessera {

// Ids ascend.
struct TieredRowStore::FactsOfPartition {
  uint64_t inserted = 0;
  uint64_t refused = 0;
  std::vector<uint64_t> refused_ids;
  std::vector<uint64_t> admitted_ids;
  std::vector<uint64_t> evicted_ids;
};

}  // namespace tessera
