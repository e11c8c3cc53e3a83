// Before an update: its rows come into memory, and what it admits and evicts is decided.
#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "ps/table/shard_format.h"
#include "ps/table/tiered_facts.h"
#include "ps/table/tiered_misses.h"
#include "ps/table/tiered_row_store.h"

namespace tessera {
namespace {

// An id of an update that has no row.
struct Newcomer {
  uint64_t sightings = 0;
  bool has_gradient = false;
};

bool HasSighted(absl::Span<const RowGradients> sources) {
  return std::any_of(sources.begin(), sources.end(), [](const RowGradients& source) { return !source.sighted_ids.empty(); });
}

float NormOf(const float* values, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  return static_cast<float>(std::sqrt(sum));
}

}  // namespace

absl::StatusOr<PreparedUpdate> TieredRowStore::Prepare(absl::Span<const RowGradients> sources, const UpdateRule& rule,
                                                       const RowFacts* logged) {
  PreparedUpdate update;
  update.sources.assign(sources.begin(), sources.end());
  TESSERA_RETURN_IF_ERROR(LoadForUpdate(&update));
  if (logged != nullptr) {
    update.facts = *logged;
  } else if (admits() || options_.eviction.any() || HasSighted(sources)) {
    TESSERA_RETURN_IF_ERROR(Decide(&update, rule));
  }
  return update;
}

absl::Status TieredRowStore::LoadForUpdate(PreparedUpdate* update) {
  update->not_on_disk.resize(2 * update->sources.size());
  for (size_t list = 0; list < update->not_on_disk.size(); ++list) {
    const RowGradients& source = update->sources[list / 2];
    const PartitionedIds* const grouped = list % 2 == 0 ? source.grouped : source.sighted;
    const absl::Span<const uint64_t> ids = list % 2 == 0 ? source.ids : source.sighted_ids;
    if (grouped == nullptr || ids.empty()) continue;
    Misses misses;
    TESSERA_RETURN_IF_ERROR(FindMissing(*grouped, ids, &misses));
    if (misses.size() == 0) continue;
    std::vector<uint8_t>& not_on_disk = update->not_on_disk[list];
    not_on_disk.assign(ids.size(), 0);
    TESSERA_RETURN_IF_ERROR(ReadMisses(ids, misses, /*fill=*/true, /*must=*/true, [&](const Miss& miss, const SavedRow* row) {
      if (row == nullptr) not_on_disk[miss.position] = 1;
    }));
  }
  return absl::OkStatus();
}

absl::Status TieredRowStore::Decide(PreparedUpdate* update, const UpdateRule& rule) {
  EvictionMoment moment;
  moment.step = rule.step;
  moment.period = rule.period;
  moment.new_period = rule.period > period();
  std::vector<FactsOfPartition> facts(kPartitions);
  std::vector<absl::Status> results(kPartitions);
  pool_->ParallelFor(options_.last_partition - options_.first_partition, [&](int64_t i) {
    const uint32_t p = options_.first_partition + static_cast<uint32_t>(i);
    results[p] = DecidePartition(p, *update, moment, &facts[p]);
  });
  for (const absl::Status& result : results) TESSERA_RETURN_IF_ERROR(result);
  const auto append = [](const std::vector<uint64_t>& from, std::vector<uint64_t>* to) { to->insert(to->end(), from.begin(), from.end()); };
  for (const FactsOfPartition& of_partition : facts) {
    update->facts.inserted += of_partition.inserted;
    update->facts.refused += of_partition.refused;
    append(of_partition.refused_ids, &update->facts.refused_ids);
    append(of_partition.admitted_ids, &update->facts.admitted_ids);
    append(of_partition.evicted_ids, &update->facts.evicted_ids);
  }
  return absl::OkStatus();
}

absl::Status TieredRowStore::DecidePartition(uint32_t p, const PreparedUpdate& update, const EvictionMoment& moment,
                                             FactsOfPartition* facts) {
  const Partition& partition = partitions_[p];
  absl::flat_hash_map<uint64_t, Newcomer> newcomers;
  absl::flat_hash_map<uint64_t, bool> touched;  // ids that have a row
  ReaderMutexLock lock(&partition.mutex);
  for (size_t list = 0; list < 2 * update.sources.size(); ++list) {
    const RowGradients& source = update.sources[list / 2];
    const bool has_gradient = list % 2 == 0;
    const PartitionedIds* const grouped = has_gradient ? source.grouped : source.sighted;
    if (grouped == nullptr) continue;
    const absl::Span<const uint64_t> ids = has_gradient ? source.ids : source.sighted_ids;
    const absl::Span<const uint32_t> counts = has_gradient ? source.counts : source.sighted_counts;
    const std::vector<uint8_t>& not_on_disk = update.not_on_disk[list];
    for (uint32_t k = grouped->begin(p); k < grouped->begin(p + 1); ++k) {
      const uint32_t position = grouped->position(k);
      TESSERA_ASSIGN_OR_RETURN(const bool present,
                               IsPresent(partition, ids[position], !not_on_disk.empty() && not_on_disk[position] != 0));
      if (present) {
        touched.try_emplace(ids[position], true);
        continue;
      }
      Newcomer& newcomer = newcomers[ids[position]];
      newcomer.sightings += counts.empty() ? 1 : counts[position];
      newcomer.has_gradient |= has_gradient;
    }
  }
  for (const auto& [id, newcomer] : newcomers) {
    ++facts->inserted;
    if (admits() && partition.sightings->Count(id) + newcomer.sightings < options_.admit_at) {
      ++facts->refused;
      if (newcomer.has_gradient) facts->refused_ids.push_back(id);
    } else if (!newcomer.has_gradient) {
      facts->admitted_ids.push_back(id);
    }
  }
  std::sort(facts->refused_ids.begin(), facts->refused_ids.end());
  std::sort(facts->admitted_ids.begin(), facts->admitted_ids.end());
  const uint64_t made = facts->inserted - facts->refused;
  if (!IsEvictionDue(options_.eviction, moment, p, partition.rows + made)) return absl::OkStatus();
  std::vector<EvictionRow> rows;
  TESSERA_RETURN_IF_ERROR(CollectRows(partition, p, [&](const EvictionRow& row) {
    if (!touched.contains(row.id)) rows.push_back(row);
  }));
  facts->evicted_ids = SelectEvicted(options_.eviction, moment, touched.size() + made, std::move(rows));
  return absl::OkStatus();
}

absl::StatusOr<bool> TieredRowStore::IsPresent(const Partition& partition, uint64_t id, bool not_on_disk) {
  if (const uint32_t row = partition.memory.Find(id, Mix64(id)); row != RowPartition::kNone) {
    return !partition.memory.At(row)->Is(MemoryRow::kGone);
  }
  if (not_on_disk || db_ == nullptr || !partition.spilled()) return false;
  const absl::Status status = db_->Get(RowKey(id)).status();
  if (absl::IsNotFound(status)) return false;
  return status.ok() ? absl::StatusOr<bool>(true) : status;
}

absl::Status TieredRowStore::CollectRows(const Partition& partition, uint32_t p, absl::FunctionRef<void(const EvictionRow&)> body) {
  const size_t dim = layout_->dim();
  const RowPartition& memory = partition.memory;
  // The lambdas run here, under the lock; the analysis does not see that.
  memory.index().ForEach([&](uint32_t number) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    MemoryRow* const row = memory.At(number);
    if (!row->Is(MemoryRow::kGone)) body({row->id, row->header.last_step, row->header.period, NormOf(row->floats(), dim)});
  });
  if (db_ == nullptr || !partition.spilled()) return absl::OkStatus();
  std::vector<float> floats;
  SavedRow row;
  const auto take = [&](absl::string_view key, absl::string_view value) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    TESSERA_RETURN_IF_ERROR(DecodeStored(key, value, &floats, &row));
    // What is in memory is newer, or gone.
    if (memory.Find(row.id, Mix64(row.id)) == RowPartition::kNone) {
      body({row.id, row.header.last_step, row.header.period, NormOf(floats.data(), dim)});
    }
    return absl::OkStatus();
  };
  return db_->ForEach(KeyBound(RecordKind::kRow, p), KeyBound(RecordKind::kRow, p + 1), take);
}

absl::StatusOr<std::vector<uint64_t>> TieredRowStore::FindEvicted(const EvictionRule& rule, const EvictionMoment& moment,
                                                                  uint32_t partition) {
  std::vector<EvictionRow> rows;
  const Partition& of = partitions_[partition];
  ReaderMutexLock lock(&of.mutex);
  TESSERA_RETURN_IF_ERROR(CollectRows(of, partition, [&](const EvictionRow& row) { rows.push_back(row); }));
  return SelectEvicted(rule, moment, 0, std::move(rows));
}

}  // namespace tessera
