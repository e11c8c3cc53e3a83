// How a server's memory and log are shared out, from the job's storage keys.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "proto/parameter_server.pb.h"
#include "ps/table/dense_store.h"
#include "ps/table/eviction.h"
#include "ps/table/row_layout.h"

namespace tessera {

// A quarter of storage.memory_per_server, at most 1 GiB, is the database's, which takes 64 MiB where that is less; the dense variables take
// what they take; the rest is for rows.
struct MemoryPlan {
  uint64_t db_bytes = 0;
  uint64_t rows_bytes = 0;  // 0: no budget
  uint64_t rows_max = 0;
  uint64_t dirty_rows_max = 0;  // an ordinary step fits beside them; at least an eighth, at most half of the rows are left
};

// INVALID_ARGUMENT names storage.memory_per_server or storage.log_per_server where two steps do not fit, and says what would.
absl::StatusOr<MemoryPlan> PlanMemory(const OpenRequest& opened, const RowLayout& layout, const DenseStore& dense);
uint64_t LogBytesMax(const OpenRequest& opened);
// Eight of them make a log, so that an eighth of it can be dropped at a time.
uint64_t LogSegmentBytes(const OpenRequest& opened);
// The job's rule for a table; off where the table is protected. The budget of rows is cut into equal ones of partitions.
EvictionRule EvictionRuleOf(const Eviction& eviction, const std::string& table);

}  // namespace tessera
