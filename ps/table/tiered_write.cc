// Write-back: rows that changed go to disk in atomic batches, each with what its partitions then hold on disk.
#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

#include "common/random.h"
#include "common/status_macros.h"
#include "ps/table/prefetch.h"
#include "ps/table/shard_format.h"
#include "ps/table/tiered_row_store.h"

namespace tessera {
namespace {

// Large enough that a batch's fixed cost vanishes, small enough to stay in cache.
constexpr size_t kRowsPerWrite = 4096;
// Rows made ready under one lock: about 0.1 ms, so that no pull waits longer for it.
constexpr size_t kRowsPerLock = 512;
// Of one partition's rows while a checkpoint is loaded; times 256 partitions.
constexpr size_t kLoadBytes = 64u << 10;

}  // namespace

// Of one partition within one call.
struct TieredRowStore::TakeProgress {
  uint64_t rows = 0;
  size_t at = 0;  // TakeCold
  uint64_t lsn_max = 0;
};

struct TieredRowStore::Taken {
  uint32_t partition;
  RowPartition::DirtyRow dirty;
  uint64_t old_digest;
  bool was_on_disk;
};

absl::StatusOr<uint64_t> TieredRowStore::WriteBack(uint64_t lsn_max, uint64_t rows_max, BeforeWrite before) {
  return WriteRows(rows_max, before, [lsn_max](RowPartition& memory, TakeProgress*, RowPartition::DirtyRow* dirty) {
    return memory.TakeDirty(lsn_max, dirty);
  });
}

absl::StatusOr<uint64_t> TieredRowStore::WriteLeaving(uint64_t rows_max, BeforeWrite before) {
  return WriteRows(rows_max, before, [](RowPartition& memory, TakeProgress*, RowPartition::DirtyRow* dirty) { return memory.TakeLeaving(dirty); });
}

absl::StatusOr<uint64_t> TieredRowStore::WriteCold(uint64_t rows_max, BeforeWrite before) {
  const double share = static_cast<double>(rows_max) / static_cast<double>(std::max<uint64_t>(1, dirty_rows()));
  return WriteRows(rows_max, before, [share](RowPartition& memory, TakeProgress* progress, RowPartition::DirtyRow* dirty) {
    if (progress->at == 0) progress->lsn_max = memory.LastChanged(share);
    return memory.TakeCold(progress->lsn_max, &progress->at, dirty);
  });
}

absl::StatusOr<uint64_t> TieredRowStore::WriteRows(uint64_t rows_max, BeforeWrite before, TakeRow take) {
  if (db_ == nullptr) return 0;
  const uint32_t owned = options_.last_partition - options_.first_partition;
  const uint64_t quota = rows_max / owned + 1;
  uint64_t written = 0;
  StateDb::Batch batch;
  std::vector<Taken> taken;
  TakeProgress progress;
  for (uint32_t i = 0; i < owned && written < rows_max;) {
    uint64_t lsn = 0;
    absl::Status status;
    // Several partitions with few rows, or a part of one with many.
    while (i < owned && taken.size() < kRowsPerWrite) {
      const uint32_t p = options_.first_partition + (next_written_partition_ + i) % owned;
      const size_t had = taken.size();
      status = TakeBatch(p, std::min<uint64_t>(kRowsPerLock, quota - progress.rows), take, &progress, &batch, &taken, &lsn);
      if (!status.ok()) break;
      progress.rows += taken.size() - had;
      if (taken.size() == had || progress.rows >= quota) ++i, progress = TakeProgress();
    }
    if (taken.empty()) break;
    // After all rows: each step away from the rows' keys and back costs a memory table as much as a hundred rows.
    PutSummaries(taken, &batch);
    if (status.ok()) status = before(lsn);
    if (status.ok()) status = db_->Write(&batch);
    FinishBatch(taken, status.ok());
    TESSERA_RETURN_IF_ERROR(status);
    written += taken.size();
    taken.clear();
    batch.Clear();
  }
  next_written_partition_ = (next_written_partition_ + 1) % owned;
  written_rows_.fetch_add(written, std::memory_order_relaxed);
  return written;
}

absl::Status TieredRowStore::TakeBatch(uint32_t p, size_t rows_max, TakeRow take, TakeProgress* progress, StateDb::Batch* batch,
                                       std::vector<Taken>* taken, uint64_t* lsn) {
  Partition& partition = partitions_[p];
  WriterMutexLock lock(&partition.mutex);
  RowPartition::DirtyRow dirty;
  std::vector<MemoryRow*> rows;
  rows.reserve(rows_max);
  while (rows.size() < rows_max && take(partition.memory, progress, &dirty)) {
    MemoryRow* const row = partition.memory.At(dirty.row);
    PrefetchRow(row, sizeof(MemoryRow) + layout_->floats() * sizeof(float));
    rows.push_back(row);
    taken->push_back({p, dirty, row->digest, row->Is(MemoryRow::kOnDisk)});
    *lsn = std::max(*lsn, row->header.lsn);
  }
  // In the order of their keys, in which a memory table finds the place of each beside the one before.
  std::sort(rows.begin(), rows.end(), [](const MemoryRow* a, const MemoryRow* b) { return a->id < b->id; });
  std::string key, value;
  for (MemoryRow* const row : rows) TESSERA_RETURN_IF_ERROR(PutRow(&partition, row, &key, &value, batch));
  return absl::OkStatus();
}

absl::Status TieredRowStore::PutRow(Partition* partition, MemoryRow* row, std::string* key, std::string* value, StateDb::Batch* batch) {
  const SavedRow saved = {row->id, row->header, absl::MakeSpan(row->floats(), layout_->floats())};
  if (!row->Is(MemoryRow::kGone)) TESSERA_RETURN_IF_ERROR(EncodeRow(saved, key, value));
  partition->disk_lsn = std::max(partition->disk_lsn, row->header.lsn);
  if (row->Is(MemoryRow::kOnDisk)) {
    partition->disk_digest -= row->digest;
    --partition->disk_rows;
  }
  if (row->Is(MemoryRow::kGone)) {
    batch->Delete(RowKey(row->id));
    row->Clear(MemoryRow::kOnDisk);
    row->digest = 0;
    return absl::OkStatus();
  }
  row->digest = ContentHash(*key, saved.floats);
  row->Set(MemoryRow::kOnDisk);
  partition->disk_digest += row->digest;
  ++partition->disk_rows;
  batch->Put(*key, *value);
  return absl::OkStatus();
}

void TieredRowStore::PutSummary(const Partition& partition, uint32_t p, StateDb::Batch* batch) {
  batch->Put(KeyBound(RecordKind::kSummary, p), EncodeSummary(p, {partition.disk_rows, partition.disk_digest, partition.disk_lsn}));
}

void TieredRowStore::PutSummaries(absl::Span<const Taken> taken, StateDb::Batch* batch) {
  for (size_t i = 0; i < taken.size(); ++i) {
    const uint32_t p = taken[i].partition;
    if (i + 1 < taken.size() && taken[i + 1].partition == p) continue;
    const Partition& partition = partitions_[p];
    ReaderMutexLock lock(&partition.mutex);
    PutSummary(partition, p, batch);
  }
}

void TieredRowStore::FinishBatch(absl::Span<const Taken> taken, bool written) {
  for (size_t i = 0; i < taken.size(); ++i) {
    // What was not written becomes the oldest again: the last one first.
    const Taken& one = written ? taken[i] : taken[taken.size() - 1 - i];
    Partition& partition = partitions_[one.partition];
    WriterMutexLock lock(&partition.mutex);
    if (written) {
      partition.memory.Written(one.dirty);
      continue;
    }
    MemoryRow* const row = partition.memory.At(one.dirty.row);
    const bool on_disk = row->Is(MemoryRow::kOnDisk);
    partition.disk_digest += (one.was_on_disk ? one.old_digest : 0) - (on_disk ? row->digest : 0);
    partition.disk_rows += (one.was_on_disk ? 1 : 0) - (on_disk ? 1 : 0);
    row->digest = one.old_digest;
    one.was_on_disk ? row->Set(MemoryRow::kOnDisk) : row->Clear(MemoryRow::kOnDisk);
    partition.memory.NotWritten(one.dirty);
  }
}

absl::Status TieredRowStore::Load(const SavedRow& row) {
  if (row.floats.size() != layout_->floats()) {
    return absl::InvalidArgumentError(absl::StrCat("row ", row.id, " of table ", layout_->table(), " has ", row.floats.size(), " floats, ",
                                                   layout_->floats(), " are wanted"));
  }
  const uint64_t hash = Mix64(row.id);
  const uint32_t p = PartitionOf(row.id);
  Partition& partition = partitions_[p];
  WriterMutexLock lock(&partition.mutex);
  if (partition.memory.Find(row.id, hash) != RowPartition::kNone) {
    return absl::AlreadyExistsError(absl::StrCat("row ", row.id, " of table ", layout_->table(), " is there twice"));
  }
  ++partition.rows;
  if (db_ != nullptr) {
    std::string key, value;
    TESSERA_RETURN_IF_ERROR(EncodeRow(row, &key, &value));
    if (partition.load == nullptr) partition.load = std::make_unique<StateDb::Batch>();
    partition.load->Put(key, value);
    ++partition.disk_rows;
    partition.disk_digest += ContentHash(key, row.floats);
    partition.disk_lsn = std::max(partition.disk_lsn, row.header.lsn);
    if (partition.load->bytes() >= kLoadBytes) {
      TESSERA_RETURN_IF_ERROR(db_->Write(partition.load.get()));
      partition.load->Clear();
    }
  }
  // As much as fits, so that training does not start with cold memory.
  const uint32_t number = partition.memory.Insert(row.id, hash, /*must=*/db_ == nullptr);
  if (number == RowPartition::kNone) return absl::OkStatus();
  MemoryRow* const memory = partition.memory.At(number);
  memory->header = row.header;
  if (db_ != nullptr) {
    memory->Set(MemoryRow::kOnDisk);
    memory->digest = ContentHash(RowKey(row.id), row.floats);
  }
  std::memcpy(memory->floats(), row.floats.data(), row.floats.size() * sizeof(float));
  return absl::OkStatus();
}

absl::Status TieredRowStore::FinishLoad() {
  if (db_ == nullptr) return absl::OkStatus();
  for (uint32_t p = options_.first_partition; p < options_.last_partition; ++p) {
    Partition& partition = partitions_[p];
    WriterMutexLock lock(&partition.mutex);
    if (partition.load == nullptr) continue;
    PutSummary(partition, p, partition.load.get());
    TESSERA_RETURN_IF_ERROR(db_->Write(partition.load.get()));
    partition.load.reset();
  }
  return absl::OkStatus();
}

}  // namespace tessera
