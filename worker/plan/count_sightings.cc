#include "worker/plan/count_sightings.h"

#include <memory>
#include <utility>
#include <vector>

#include "common/mutex.h"
#include "common/partition.h"
#include "common/sightings.h"
#include "common/status_macros.h"
#include "worker/batch/append_rows.h"
#include "worker/batch/batch.h"
#include "worker/batch/row_stream.h"
#include "worker/data/input.h"

namespace tessera {
namespace {

// Additions commute, so the order in which blocks come does not matter.
struct PartitionCounts {
  explicit PartitionCounts(size_t bytes) : sightings(bytes) {}
  Mutex mutex;
  Sightings sightings ABSL_GUARDED_BY(mutex);
};
using AllCounts = std::vector<std::unique_ptr<PartitionCounts>>;

absl::Status CountBlock(const Plan& plan, Input* input, uint64_t block, const AllCounts& counts) {
  Rows rows, trained;
  TESSERA_RETURN_IF_ERROR(input->ReadBlock(block, &rows));
  std::vector<RowRef> refs;
  for (uint32_t i = 0; i < rows.size(); ++i) {
    if (!IsHeldOut(plan, rows.keys[i])) refs.push_back({&rows, i});
  }
  if (refs.size() < rows.size()) {
    AppendRows(refs, &trained);
  } else {
    trained = std::move(rows);
  }
  TESSERA_RETURN_IF_ERROR(CheckOccurrences(trained.size(), trained.ids.size()));
  const Batch batch = MakeBatch(std::move(trained));
  for (uint32_t k = 0; k < kPartitions; ++k) {
    const uint32_t p = static_cast<uint32_t>((block * 37 + k) % kPartitions);  // threads begin in different places
    MutexLock lock(&counts[p]->mutex);
    for (uint32_t i = batch.partition_begin[p]; i < batch.partition_begin[p + 1]; ++i) {
      counts[p]->sightings.Add(batch.unique_ids[i], batch.occurrence_begin[i + 1] - batch.occurrence_begin[i]);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> CountSightings(const Plan& plan, ThreadPool* pool, const std::atomic<bool>* stopping) {
  TESSERA_ASSIGN_OR_RETURN(const std::unique_ptr<Input> input, Input::Open(plan, plan.train(), ReadOptions()));
  const size_t bytes = Sightings::BytesPerPartition(plan.job().admission().memory().bytes());
  AllCounts counts;
  for (uint32_t p = 0; p < kPartitions; ++p) counts.push_back(std::make_unique<PartitionCounts>(bytes));
  const uint64_t blocks = input->block_count();
  std::vector<absl::Status> results(blocks);
  std::atomic<bool> failed = false;
  pool->ParallelFor(static_cast<int64_t>(blocks), [&](int64_t block) {
    if (failed || (stopping != nullptr && stopping->load(std::memory_order_relaxed))) return;
    results[block] = CountBlock(plan, input.get(), static_cast<uint64_t>(block), counts);
    if (!results[block].ok()) failed = true;
  });
  if (stopping != nullptr && stopping->load(std::memory_order_relaxed)) return absl::CancelledError("stopped by a signal");
  for (const absl::Status& result : results) TESSERA_RETURN_IF_ERROR(result);
  std::string all;
  for (const auto& partition : counts) {
    MutexLock lock(&partition->mutex);
    all.append(partition->sightings.bytes().data(), partition->sightings.bytes().size());
  }
  return all;
}

}  // namespace tessera
