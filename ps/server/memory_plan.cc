#include "ps/server/memory_plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/partition.h"
#include "ps/table/tiered_row_store.h"

namespace tessera {
namespace {

constexpr uint64_t kMiB = 1u << 20;
constexpr uint64_t kDbBytesMax = 1024 * kMiB;
// With smaller write buffers it would merge small files all the time.
constexpr uint64_t kDbBytesMin = 64 * kMiB;
constexpr uint64_t kLogBytesDefault = 4096 * kMiB;
constexpr uint64_t kSegmentBytesMax = 64 * kMiB;

std::string InMiB(uint64_t bytes) { return absl::StrCat((bytes + kMiB - 1) / kMiB, "MiB"); }

// Ids of a step that this server gets at the very most: its part of them if all were different, and a fifth more for what chance does.
uint64_t StepIds(const OpenRequest& opened) {
  return opened.step_ids() / std::max<uint32_t>(1, opened.peer().shards()) * 6 / 5;
}

absl::Status CheckLog(const OpenRequest& opened, const RowLayout& layout, const DenseStore& dense) {
  if (opened.storage().durability() != Durability::process && opened.storage().durability() != Durability::power) return absl::OkStatus();
  // One attempt of every share: further ones may go beyond. An eighth of the log is kept free, another may be a segment that is just begun.
  const uint64_t step_bytes = StepIds(opened) * (12 + layout.dim() * sizeof(float)) + dense.floats() * sizeof(float);
  const uint64_t needed = step_bytes * 4 / 3;
  if (needed <= LogBytesMax(opened)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("storage.log_per_server is ", InMiB(LogBytesMax(opened)), ": a step may need ",
                                                 InMiB(needed), " on this server; give more, or take a smaller training.batch_size"));
}

}  // namespace

uint64_t LogBytesMax(const OpenRequest& opened) {
  const uint64_t bytes = opened.storage().log_per_server().bytes();
  return bytes > 0 ? bytes : kLogBytesDefault;
}

uint64_t LogSegmentBytes(const OpenRequest& opened) { return std::min(kSegmentBytesMax, LogBytesMax(opened) / 8); }

absl::StatusOr<MemoryPlan> PlanMemory(const OpenRequest& opened, const RowLayout& layout, const DenseStore& dense) {
  if (absl::Status status = CheckLog(opened, layout, dense); !status.ok()) return status;
  MemoryPlan plan;
  plan.db_bytes = kDbBytesMin;
  const uint64_t memory = opened.storage().memory_per_server().bytes();
  if (memory == 0) return plan;
  plan.db_bytes = std::clamp(memory / 4, kDbBytesMin, kDbBytesMax);
  const uint64_t fixed = std::min(memory / 4, plan.db_bytes) + dense.memory_bytes();
  plan.rows_bytes = memory > fixed ? memory - fixed : 0;
  plan.rows_max = TieredRowStore::RowsWithin(plan.rows_bytes, layout);
  const uint64_t wanted = std::max<uint64_t>(StepIds(opened) / 2, kPartitions);
  const uint64_t beside = StepIds(opened) == 0 ? plan.rows_max / 2 : std::clamp(wanted / 2, plan.rows_max / 8, plan.rows_max / 2);
  plan.dirty_rows_max = plan.rows_max - beside;
  if (plan.rows_max >= wanted) return plan;
  const uint64_t row_bytes = (uint64_t{1} << 30) / std::max<uint64_t>(1, TieredRowStore::RowsWithin(uint64_t{1} << 30, layout)) + 1;
  const uint64_t needed = std::max((fixed + wanted * row_bytes), (wanted * row_bytes + dense.memory_bytes()) * 4 / 3);
  return absl::InvalidArgumentError(
      absl::StrCat("storage.memory_per_server is ", InMiB(memory), ": the database takes ", InMiB(std::min(memory / 4, plan.db_bytes)), ", the dense variables ",
                   InMiB(dense.memory_bytes()), ", and the rest must hold two steps, ", wanted, " rows; ", InMiB(needed),
                   " would do, or a smaller training.batch_size"));
}

EvictionRule EvictionRuleOf(const Eviction& eviction, const std::string& table) {
  EvictionRule rule;
  if (std::find(eviction.protect().begin(), eviction.protect().end(), table) != eviction.protect().end()) return rule;
  rule.unused_steps = eviction.unused_steps();
  rule.unused_periods = eviction.unused_periods();
  rule.partition_rows = eviction.rows() > 0 ? std::max<uint64_t>(1, eviction.rows() / kPartitions) : 0;
  rule.norm = static_cast<float>(eviction.norm());
  return rule;
}

}  // namespace tessera
