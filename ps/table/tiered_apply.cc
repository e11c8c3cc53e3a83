// Applying an update: gradients summed in the order of their sources, one update per row, partition by partition.
#include <algorithm>
#include <cassert>
#include <cstring>

#include "common/random.h"
#include "common/status_macros.h"
#include "ps/table/prefetch.h"
#include "ps/table/shard_format.h"
#include "ps/table/tiered_facts.h"
#include "ps/table/tiered_row_store.h"

namespace tessera {

// Gradient sums of one partition, in order of first occurrence. One per thread, so that no commit allocates.
struct TieredRowStore::Sums {
  std::vector<uint32_t> rows;
  std::vector<uint32_t> counts;
  std::vector<float> values;
};

absl::Status TieredRowStore::Apply(const PreparedUpdate& update, const UpdateRule& rule) {
  size_t ids = 0;
  for (const RowGradients& source : update.sources) {
    assert(source.grouped->size() == source.ids.size() && source.sums.size() == source.ids.size() * layout_->dim());
    ids += source.ids.size() + source.sighted_ids.size();
  }
  const RowFacts& facts = update.facts;
  std::vector<FactsOfPartition> of_partition(kPartitions);
  for (uint64_t id : facts.refused_ids) of_partition[PartitionOf(id)].refused_ids.push_back(id);
  for (uint64_t id : facts.admitted_ids) of_partition[PartitionOf(id)].admitted_ids.push_back(id);
  for (uint64_t id : facts.evicted_ids) of_partition[PartitionOf(id)].evicted_ids.push_back(id);

  const RowLayout::Update optimizer(*layout_, rule);
  std::vector<absl::Status> results(kPartitions);
  ForEachPartition(ids, [&](uint32_t p) {
    bool touched = !of_partition[p].evicted_ids.empty();
    for (const RowGradients& source : update.sources) {
      touched |= source.grouped->begin(p) < source.grouped->begin(p + 1);
      touched |= source.sighted != nullptr && source.sighted->begin(p) < source.sighted->begin(p + 1);
    }
    if (touched) results[p] = ApplyPartition(p, update, of_partition[p], optimizer, rule);
  });
  for (const absl::Status& result : results) TESSERA_RETURN_IF_ERROR(result);
  if (rule.period > period()) SetPeriod(rule.period);
  MutexLock lock(&accounting_mutex_);
  if (rule.lsn > counted_lsn_) {
    accounting_.inserted += facts.inserted;
    accounting_.refused += facts.refused;
    accounting_.evicted += facts.evicted_ids.size();
  }
  return absl::OkStatus();
}

absl::Status TieredRowStore::ApplyPartition(uint32_t p, const PreparedUpdate& update, const FactsOfPartition& facts,
                                            const RowLayout::Update& optimizer, const UpdateRule& rule) {
  thread_local Sums sums;
  sums.rows.clear();
  sums.counts.clear();
  sums.values.clear();
  Partition& partition = partitions_[p];
  const size_t dim = layout_->dim();
  const size_t row_bytes = slabs_.row_bytes();
  const uint64_t first_lsn = rule.first_lsn > 0 ? rule.first_lsn : rule.lsn;
  WriterMutexLock lock(&partition.mutex);
  ++partition.updates;
  RowPartition& memory = partition.memory;
  for (size_t s = 0; s < update.sources.size(); ++s) {
    TESSERA_RETURN_IF_ERROR(AddSource(partition, p, update.sources[s], update.not_on_disk[2 * s], facts.refused_ids, rule, &sums));
  }
  for (size_t i = 0; i < sums.rows.size(); ++i) {
    if (i + 16 < sums.rows.size()) PrefetchRow(memory.At(sums.rows[i + 16]), row_bytes);
    MemoryRow* const row = memory.At(sums.rows[i]);
    optimizer.Apply(sums.values.data() + i * dim, row->floats());
    row->header.lsn = rule.lsn;
    row->header.last_step = std::max(row->header.last_step, rule.step);
    row->header.period = std::max(row->header.period, rule.period);
    row->header.show += static_cast<float>(sums.counts[i]);
    row->touched = 0;
  }
  for (uint64_t id : facts.admitted_ids) {
    TESSERA_ASSIGN_OR_RETURN(const uint32_t number, FindOrMake(partition, id, Mix64(id), /*not_on_disk=*/false, rule.lsn));
    if (number == RowPartition::kNone || memory.At(number)->header.lsn >= rule.lsn) continue;
    memory.At(number)->header.lsn = rule.lsn;
    memory.At(number)->header.last_step = rule.step;
    memory.At(number)->header.period = rule.period;
    if (db_ != nullptr) memory.MarkDirty(number, first_lsn);
  }
  for (uint64_t id : facts.evicted_ids) TESSERA_RETURN_IF_ERROR(EvictRow(partition, id, rule.lsn, first_lsn));
  if (admits()) CountSightings(partition, p, update, rule.lsn);
  return absl::OkStatus();
}

absl::Status TieredRowStore::AddSource(Partition& partition, uint32_t p, const RowGradients& source, const std::vector<uint8_t>& not_on_disk,
                                       absl::Span<const uint64_t> refused, const UpdateRule& rule, Sums* sums) {
  const size_t dim = layout_->dim();
  const size_t row_bytes = slabs_.row_bytes();
  RowPartition& memory = partition.memory;
  uint64_t hashes[kAheadRows];
  uint32_t rows[kAheadRows];
  const uint32_t end = source.grouped->begin(p + 1);
  for (uint32_t begin = source.grouped->begin(p); begin < end; begin += kAheadRows) {
    const uint32_t count = std::min<uint32_t>(kAheadRows, end - begin);
    for (uint32_t i = 0; i < count; ++i) {
      hashes[i] = Mix64(source.ids[source.grouped->position(begin + i)]);
      memory.index().Prefetch(hashes[i]);
    }
    for (uint32_t i = 0; i < count; ++i) {
      rows[i] = memory.index().Find(hashes[i], [](uint32_t) { return true; });
      if (rows[i] != RowPartition::kNone) PrefetchRow(memory.At(rows[i]), row_bytes);
    }
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t position = source.grouped->position(begin + i);
      const uint64_t id = source.ids[position];
      if (!refused.empty() && std::binary_search(refused.begin(), refused.end(), id)) continue;
      // A row may have come in since, when an id stands here twice; or have left, when others came in.
      if (rows[i] == RowPartition::kNone || !memory.At(rows[i])->Is(MemoryRow::kUsed) || memory.At(rows[i])->id != id ||
          memory.At(rows[i])->Is(MemoryRow::kGone)) {
        const bool absent = !not_on_disk.empty() && not_on_disk[position] != 0;
        TESSERA_ASSIGN_OR_RETURN(rows[i], FindOrMake(partition, id, hashes[i], absent, rule.lsn));
        if (rows[i] == RowPartition::kNone) continue;
      }
      MemoryRow* const row = memory.At(rows[i]);
      if (row->header.lsn >= rule.lsn) continue;  // replayed: this row has it already
      const float* const gradient = source.sums.data() + position * dim;
      const uint32_t shows = source.counts.empty() ? 1 : source.counts[position];
      if (row->touched == 0) {
        sums->rows.push_back(rows[i]);
        sums->counts.push_back(shows);
        sums->values.insert(sums->values.end(), gradient, gradient + dim);
        row->touched = static_cast<uint32_t>(sums->rows.size());
        // Now, not when it is changed: a clean row could make room for the next one that comes in.
        if (db_ != nullptr) memory.MarkDirty(rows[i], rule.first_lsn > 0 ? rule.first_lsn : rule.lsn);
      } else {
        sums->counts[row->touched - 1] += shows;
        float* const sum = sums->values.data() + (row->touched - 1) * dim;
        for (size_t k = 0; k < dim; ++k) sum[k] += gradient[k];
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> TieredRowStore::FindOrMake(Partition& partition, uint64_t id, uint64_t hash, bool not_on_disk, uint64_t lsn) {
  RowPartition& memory = partition.memory;
  uint32_t number = memory.Find(id, hash);
  if (number != RowPartition::kNone) {
    MemoryRow* const row = memory.At(number);
    if (!row->Is(MemoryRow::kGone)) return number;
    if (row->header.lsn >= lsn) return RowPartition::kNone;
    memory.Revive(number);
  } else {
    // Only where it left memory between Prepare and now.
    if (!not_on_disk && db_ != nullptr && partition.spilled()) {
      TESSERA_ASSIGN_OR_RETURN(const bool loaded, LoadRow(partition, id, hash));
      if (loaded) return memory.Find(id, hash);
    }
    number = memory.Insert(id, hash, /*must=*/true);
  }
  layout_->InitialFloats(id, memory.At(number)->floats());
  ++partition.rows;
  return number;
}

absl::StatusOr<bool> TieredRowStore::LoadRow(Partition& partition, uint64_t id, uint64_t hash) {
  std::vector<float> floats;
  SavedRow row;
  TESSERA_ASSIGN_OR_RETURN(const bool found, ReadStored(id, &floats, &row));
  if (found) Fill(partition, row, hash, /*must=*/true);
  return found;
}

absl::Status TieredRowStore::EvictRow(Partition& partition, uint64_t id, uint64_t lsn, uint64_t first_lsn) {
  const uint64_t hash = Mix64(id);
  uint32_t number = partition.memory.Find(id, hash);
  if (number == RowPartition::kNone && db_ != nullptr && partition.spilled()) {
    TESSERA_RETURN_IF_ERROR(LoadRow(partition, id, hash).status());
    number = partition.memory.Find(id, hash);
  }
  // Not there, or newer: replayed.
  if (number == RowPartition::kNone || partition.memory.At(number)->Is(MemoryRow::kGone)) return absl::OkStatus();
  if (partition.memory.At(number)->header.lsn >= lsn) return absl::OkStatus();
  partition.memory.Evict(number, hash, lsn, first_lsn);
  --partition.rows;
  return absl::OkStatus();
}

void TieredRowStore::CountSightings(Partition& partition, uint32_t p, const PreparedUpdate& update, uint64_t lsn) {
  {
    MutexLock lock(&accounting_mutex_);
    if (lsn <= counted_lsn_) return;
  }
  const auto add = [&](const PartitionedIds* grouped, absl::Span<const uint64_t> ids, absl::Span<const uint32_t> counts)
                       ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (grouped == nullptr) return;
    for (uint32_t k = grouped->begin(p); k < grouped->begin(p + 1); ++k) {
      const uint32_t position = grouped->position(k);
      partition.sightings->Add(ids[position], counts.empty() ? 1 : counts[position]);
    }
  };
  for (const RowGradients& source : update.sources) {
    add(source.grouped, source.ids, source.counts);
    add(source.sighted, source.sighted_ids, source.sighted_counts);
  }
}

}  // namespace tessera
