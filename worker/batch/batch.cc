#include "worker/batch/batch.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/partition.h"

namespace tessera {
namespace {

// A look-up so far behind its prefetch finds its slot in cache: memory answers in the time of about so many others.
constexpr size_t kIdsAhead = 16;
constexpr size_t kSlotsMin = size_t{1} << 12;

// A slot belongs to the batch whose number it carries: nothing is cleared between batches, and no id is needed to mean "empty".
struct Slot {
  uint64_t id;
  uint32_t index;
  uint32_t batch;
};

// Numbers ids in the order of their first occurrence. Open addressing with linear probing, at most half full. Owned by one thread.
class IdTable {
 public:
  void Begin() {
    if (++batch_ == 0 || slots_.empty()) {
      slots_.assign(std::max(slots_.size(), kSlotsMin), Slot{0, 0, 0});
      batch_ = 1;
    }
    mask_ = slots_.size() - 1;
    ids_.clear();
    counts_.clear();
  }

  void Prefetch(uint64_t id) const { __builtin_prefetch(&slots_[Mix64(id) & mask_], 1); }

  // Adds to the id's occurrences.
  uint32_t Count(uint64_t id, uint32_t occurrences = 1) {
    for (size_t i = Mix64(id) & mask_;; i = (i + 1) & mask_) {
      Slot& slot = slots_[i];
      if (slot.batch != batch_) {
        const uint32_t index = static_cast<uint32_t>(ids_.size());
        slot = {id, index, batch_};
        ids_.push_back(id);
        counts_.push_back(occurrences);
        if (ids_.size() * 2 > slots_.size()) Grow();
        return index;
      }
      if (slot.id == id) {
        counts_[slot.index] += occurrences;
        return slot.index;
      }
    }
  }

  const std::vector<uint64_t>& ids() const { return ids_; }
  const std::vector<uint32_t>& counts() const { return counts_; }

 private:
  void Grow() {
    slots_.assign(slots_.size() * 4, Slot{0, 0, 0});
    mask_ = slots_.size() - 1;
    batch_ = 1;
    for (uint32_t index = 0; index < ids_.size(); ++index) {
      size_t i = Mix64(ids_[index]) & mask_;
      while (slots_[i].batch == batch_) i = (i + 1) & mask_;
      slots_[i] = {ids_[index], index, batch_};
    }
  }

  std::vector<Slot> slots_;  // a power of two
  size_t mask_ = 0;
  uint32_t batch_ = 0;
  std::vector<uint64_t> ids_;
  std::vector<uint32_t> counts_;
};

// Orders the ids by partition (stable) and lays out where each id's occurrences begin. `place` maps first-occurrence order to it.
void OrderByPartition(const IdTable& table, Batch* batch, std::vector<uint32_t>* place) {
  const std::vector<uint64_t>& ids = table.ids();
  batch->partition_begin.assign(kPartitions + 1, 0);
  for (const uint64_t id : ids) ++batch->partition_begin[PartitionOf(id) + 1];
  for (uint32_t p = 0; p < kPartitions; ++p) batch->partition_begin[p + 1] += batch->partition_begin[p];

  std::vector<uint32_t> next(batch->partition_begin.begin(), batch->partition_begin.end() - 1);
  batch->unique_ids.resize(ids.size());
  batch->occurrence_begin.assign(ids.size() + 1, 0);
  place->resize(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    const uint32_t to = next[PartitionOf(ids[i])]++;
    (*place)[i] = to;
    batch->unique_ids[to] = ids[i];
    batch->occurrence_begin[to + 1] = table.counts()[i];
  }
  for (size_t i = 0; i < ids.size(); ++i) batch->occurrence_begin[i + 1] += batch->occurrence_begin[i];
}

}  // namespace

absl::Status CheckOccurrences(uint64_t rows, uint64_t occurrences) {
  constexpr uint64_t kMax = std::numeric_limits<uint32_t>::max();
  if (occurrences < kMax) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a batch of ", rows, " rows has ", occurrences, " feature values, and fewer than ", kMax,
                                                 " can be looked up at once; take at most ", kMax / (occurrences / rows + 1), " rows"));
}

Batch MakeBatch(Rows rows, absl::Span<const uint64_t> rare_ids) {
  thread_local IdTable table;
  thread_local std::vector<uint32_t> place;
  thread_local std::vector<uint32_t> next;

  Batch batch;
  batch.rows = std::move(rows);
  const std::vector<uint64_t>& ids = batch.rows.ids;
  assert(CheckOccurrences(batch.rows.size(), ids.size()).ok());
  batch.inverse.resize(ids.size());
  table.Begin();
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i + kIdsAhead < ids.size()) table.Prefetch(ids[i + kIdsAhead]);
    batch.inverse[i] = table.Count(ids[i]);
  }

  for (const uint64_t id : rare_ids) batch.rare.push_back(table.Count(id, 0));

  OrderByPartition(table, &batch, &place);
  for (uint32_t& rare : batch.rare) rare = place[rare];

  next.assign(batch.occurrence_begin.begin(), batch.occurrence_begin.end() - 1);
  batch.occurrences.resize(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    const uint32_t unique = place[batch.inverse[i]];
    batch.inverse[i] = unique;
    batch.occurrences[next[unique]++] = static_cast<uint32_t>(i);
  }
  return batch;
}

}  // namespace tessera
