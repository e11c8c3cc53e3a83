#include "ps/table/tiered_row_store.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "ps/table/prefetch.h"
#include "ps/table/shard_format.h"

namespace tessera {
namespace {

// Batches below this are not worth waking threads for.
constexpr size_t kParallelIds = 1024;
// Of a row in memory beside the row itself: its slot of an index that is half full (16), its place in a queue and the memory of one that
// left (8), and its entry in the list of dirty rows (16, of a quarter of the rows).
constexpr uint64_t kOverheadBytes = 28;

size_t RowBytes(const RowLayout& layout) {
  // Whole cache lines: fewer per row, and two threads never write to one.
  const size_t bytes = sizeof(MemoryRow) + layout.floats() * sizeof(float);
  return (bytes + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
}

}  // namespace

uint64_t TieredRowStore::RowsWithin(uint64_t memory_bytes, const RowLayout& layout) {
  return memory_bytes / (RowBytes(layout) + kOverheadBytes);
}

TieredRowStore::TieredRowStore(std::shared_ptr<const RowLayout> layout, ThreadPool* pool, StateDb* db, const TieredOptions& options)
    : layout_(std::move(layout)),
      pool_(pool),
      db_(db),
      options_(options),
      slabs_(RowBytes(*layout_)),
      partitions_(new Partition[kPartitions]) {
  const uint32_t owned = options_.last_partition - options_.first_partition;
  uint64_t rows_max = 0;
  if (db_ != nullptr && options_.memory_bytes_max > 0) {
    rows_max = std::clamp<uint64_t>(RowsWithin(options_.memory_bytes_max, *layout_) / owned, 1, std::numeric_limits<uint32_t>::max() / 2);
  }
  for (uint32_t p = 0; p < kPartitions; ++p) {
    partitions_[p].mutex.Join(&GateOf(p));
    WriterMutexLock lock(&partitions_[p].mutex);
    partitions_[p].memory.Init(p, &slabs_, &index_memory_, static_cast<uint32_t>(rows_max));
    const bool own = p >= options_.first_partition && p < options_.last_partition;
    if (admits() && own) partitions_[p].sightings = std::make_unique<Sightings>(options_.sighting_bytes);
  }
}

absl::Status TieredRowStore::Recover() {
  for (uint32_t p = options_.first_partition; p < options_.last_partition; ++p) {
    const absl::StatusOr<std::string> value = db_->Get(KeyBound(RecordKind::kSummary, p));
    if (absl::IsNotFound(value.status())) continue;
    TESSERA_RETURN_IF_ERROR(value.status());
    PartitionSummary summary;
    TESSERA_RETURN_IF_ERROR(DecodeSummary(p, *value, &summary));
    WriterMutexLock lock(&partitions_[p].mutex);
    partitions_[p].rows = summary.rows;
    partitions_[p].disk_rows = summary.rows;
    partitions_[p].disk_digest = summary.digest;
    partitions_[p].disk_lsn = summary.lsn;
  }
  return absl::OkStatus();
}

void TieredRowStore::SetAccounting(const RowAccounting& accounting, uint64_t lsn) {
  MutexLock lock(&accounting_mutex_);
  accounting_ = accounting;
  counted_lsn_ = lsn;
}

std::string TieredRowStore::SightingBytes() const {
  std::string bytes;
  for (uint32_t p = options_.first_partition; admits() && p < options_.last_partition; ++p) {
    ReaderMutexLock lock(&partitions_[p].mutex);
    bytes.append(partitions_[p].sightings->bytes().data(), partitions_[p].sightings->bytes().size());
  }
  return bytes;
}

absl::Status TieredRowStore::LoadSightings(uint32_t partition, absl::string_view bytes) {
  if (!admits() || partition < options_.first_partition || partition >= options_.last_partition) return absl::OkStatus();
  WriterMutexLock lock(&partitions_[partition].mutex);
  return partitions_[partition].sightings->Load(bytes);
}

void TieredRowStore::ForPartitions(size_t ids, uint32_t at_a_time, absl::FunctionRef<void(uint32_t, uint32_t)> body) {
  const uint32_t first = options_.first_partition;
  const uint32_t last = options_.last_partition;
  const auto piece = [&](int64_t i) {
    const uint32_t begin = first + static_cast<uint32_t>(i) * at_a_time;
    body(begin, std::min(last, begin + at_a_time));
  };
  const int64_t pieces = (last - first + at_a_time - 1) / at_a_time;
  if (ids >= kParallelIds) return pool_->ParallelFor(pieces, piece);
  for (int64_t i = 0; i < pieces; ++i) piece(i);
}

void TieredRowStore::ForEachPartition(size_t ids, absl::FunctionRef<void(uint32_t)> body) {
  ForPartitions(ids, 1, [&](uint32_t p, uint32_t) { body(p); });
}

uint64_t TieredRowStore::OldestDirty() const {
  uint64_t oldest = kNothingDirty;
  for (uint32_t p = options_.first_partition; p < options_.last_partition; ++p) {
    ReaderMutexLock lock(&partitions_[p].mutex);
    oldest = std::min(oldest, partitions_[p].memory.OldestDirty());
  }
  return oldest;
}

uint64_t TieredRowStore::dirty_rows() const {
  uint64_t rows = 0;
  for (uint32_t p = options_.first_partition; p < options_.last_partition; ++p) {
    ReaderMutexLock lock(&partitions_[p].mutex);
    rows += partitions_[p].memory.dirty();
  }
  return rows;
}

absl::StatusOr<FoundRow> TieredRowStore::Get(uint64_t id) {
  FoundRow found;
  const Partition& partition = partitions_[PartitionOf(id)];
  ReaderMutexLock lock(&partition.mutex);
  if (partition.sightings != nullptr) found.sightings = partition.sightings->Count(id);
  if (const uint32_t number = partition.memory.Find(id, Mix64(id)); number != RowPartition::kNone) {
    MemoryRow* const row = partition.memory.At(number);
    found.found = found.in_memory = !row->Is(MemoryRow::kGone);
    found.header = row->header;
    if (found.found) found.floats.assign(row->floats(), row->floats() + layout_->floats());
    return found;
  }
  if (db_ == nullptr || !partition.spilled()) return found;
  SavedRow row;
  TESSERA_ASSIGN_OR_RETURN(found.found, ReadStored(id, &found.floats, &row));
  if (found.found) found.header = row.header;
  return found;
}

PartitionCounts TieredRowStore::CountRows() const {
  PartitionCounts counts;
  for (uint32_t p = 0; p < kPartitions; ++p) {
    ReaderMutexLock lock(&partitions_[p].mutex);
    counts[p] = partitions_[p].rows;
  }
  return counts;
}

uint64_t TieredRowStore::ContentDigest() const {
  uint64_t digest = 0;
  for (uint32_t p = options_.first_partition; p < options_.last_partition; ++p) {
    ReaderMutexLock lock(&partitions_[p].mutex);
    digest += partitions_[p].disk_digest;
  }
  return digest;
}

RowAccounting TieredRowStore::accounting() const {
  RowAccounting accounting;
  {
    MutexLock lock(&accounting_mutex_);
    accounting = accounting_;
  }
  if (admits() || options_.eviction.any()) return accounting;
  // Nothing is decided about any id, so nothing was counted: every id that came is here.
  accounting.inserted = accounting.evicted + accounting.refused;
  for (uint64_t rows : CountRows()) accounting.inserted += rows;
  return accounting;
}

TieredStatus TieredRowStore::status() const {
  TieredStatus status;
  for (uint32_t p = options_.first_partition; p < options_.last_partition; ++p) {
    ReaderMutexLock lock(&partitions_[p].mutex);
    status.memory_rows += partitions_[p].memory.live();
    status.memory_bytes += partitions_[p].memory.bytes();
    status.disk_rows += partitions_[p].disk_rows;
    status.dirty_rows += partitions_[p].memory.dirty();
  }
  status.hits = hits_.load(std::memory_order_relaxed);
  status.misses = misses_.load(std::memory_order_relaxed);
  status.written_rows = written_rows_.load(std::memory_order_relaxed);
  return status;
}

uint64_t TieredRowStore::highest_disk_lsn() const {
  uint64_t lsn = 0;
  for (uint32_t p = options_.first_partition; p < options_.last_partition; ++p) {
    ReaderMutexLock lock(&partitions_[p].mutex);
    lsn = std::max(lsn, partitions_[p].disk_lsn);
  }
  return lsn;
}

bool TieredRowStore::spilled() const {
  if (db_ == nullptr) return false;
  for (uint32_t p = options_.first_partition; p < options_.last_partition; ++p) {
    ReaderMutexLock lock(&partitions_[p].mutex);
    if (partitions_[p].spilled()) return true;
  }
  return false;
}

}  // namespace tessera
