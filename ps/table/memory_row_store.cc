#include "ps/table/memory_row_store.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "ps/table/shard_format.h"
#include "ps/table/state_db.h"

namespace tessera {
namespace {

// Ids looked up together: the slots of all are on their way before the first is read, then the rows of all. Far enough ahead to hide
// memory's latency (16 is where it is hidden), few enough that the rows of 64 stay in the first-level cache.
constexpr size_t kAhead = 64;
constexpr size_t kLineBytes = 64;
constexpr size_t kPrefetchBytesMax = 8 * kLineBytes;  // beyond, the hardware has seen the pattern
// Batches below this are not worth waking threads for.
constexpr size_t kParallelIds = 1024;

size_t RoundUp(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

// Gradient sums of one partition, in order of first occurrence. One per thread, so that no commit allocates.
struct MemoryRowStore::Sums {
  std::vector<uint32_t> rows;
  std::vector<float> values;
};

MemoryRowStore::MemoryRowStore(std::shared_ptr<const RowLayout> layout, ThreadPool* pool)
    : layout_(std::move(layout)),
      pool_(pool),
      partitions_(new Partition[kPartitions]),
      // Whole cache lines: fewer per row, and two threads never write to one.
      slabs_(RoundUp(sizeof(MemoryRow) + layout_->floats() * sizeof(float), kLineBytes)) {}

void MemoryRowStore::Prefetch(const MemoryRow* row, size_t bytes) const {
  const char* line = reinterpret_cast<const char*>(row);
  for (const char* end = line + std::min(bytes, kPrefetchBytesMax); line < end; line += kLineBytes) __builtin_prefetch(line);
}

uint32_t MemoryRowStore::Find(const Partition& partition, uint64_t id, uint64_t hash) const {
  return partition.index.Find(hash, [&](uint32_t row) { return RowAt(row)->id == id; });
}

uint32_t MemoryRowStore::Insert(Partition& partition, uint64_t id, uint64_t hash) {
  if (partition.next_row == partition.extent_end) {
    partition.next_row = slabs_.TakeExtent();
    partition.extent_end = partition.next_row + RowSlabs::kExtentRows;
  }
  const uint32_t row = partition.next_row++;
  RowAt(row)->id = id;
  partition.index.Insert(hash, row);
  return row;
}

void MemoryRowStore::MarkDirty(Partition& partition, uint32_t row) {
  MemoryRow* const memory = RowAt(row);
  if (memory->dirty) return;
  memory->dirty = 1;
  partition.dirty.push_back(row);
}

void MemoryRowStore::ForEachPartition(size_t ids, absl::FunctionRef<void(uint32_t)> body) {
  if (ids < kParallelIds) {
    for (uint32_t p = 0; p < kPartitions; ++p) body(p);
  } else {
    pool_->ParallelFor(kPartitions, [&](int64_t p) { body(static_cast<uint32_t>(p)); });
  }
}

absl::Status MemoryRowStore::Read(const PartitionedIds& grouped, absl::Span<const uint64_t> ids, UnknownRow unknown, float* values) {
  assert(grouped.size() == ids.size());
  ForEachPartition(ids.size(), [&](uint32_t p) {
    if (grouped.begin(p) < grouped.begin(p + 1)) ReadPartition(p, grouped, ids, unknown, values);
  });
  return absl::OkStatus();
}

void MemoryRowStore::ReadPartition(uint32_t p, const PartitionedIds& grouped, absl::Span<const uint64_t> ids, UnknownRow unknown,
                                   float* values) {
  const Partition& partition = partitions_[p];
  const size_t dim = layout_->dim();
  uint64_t hashes[kAhead];
  MemoryRow* rows[kAhead];
  ReaderMutexLock lock(&partition.mutex);
  const uint32_t end = grouped.begin(p + 1);
  for (uint32_t begin = grouped.begin(p); begin < end; begin += kAhead) {
    const uint32_t count = std::min<uint32_t>(kAhead, end - begin);
    for (uint32_t i = 0; i < count; ++i) {
      hashes[i] = Mix64(ids[grouped.position(begin + i)]);
      partition.index.Prefetch(hashes[i]);
    }
    for (uint32_t i = 0; i < count; ++i) {
      // Whose hash bits agree: nearly always the row itself, so its memory is asked for without looking at it.
      const uint32_t row = partition.index.Find(hashes[i], [](uint32_t) { return true; });
      rows[i] = row == RowIndex::kNone ? nullptr : RowAt(row);
      if (rows[i] != nullptr) Prefetch(rows[i], sizeof(MemoryRow) + dim * sizeof(float));
    }
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t position = grouped.position(begin + i);
      MemoryRow* row = rows[i];
      if (row != nullptr && row->id != ids[position]) {
        const uint32_t found = Find(partition, ids[position], hashes[i]);
        row = found == RowIndex::kNone ? nullptr : RowAt(found);
      }
      float* const out = values + position * dim;
      if (row != nullptr) {
        std::memcpy(out, row->floats(), dim * sizeof(float));
      } else if (unknown == UnknownRow::kInitial) {
        layout_->InitialValue(ids[position], out);
      } else {
        std::memset(out, 0, dim * sizeof(float));
      }
    }
  }
}

absl::Status MemoryRowStore::Apply(absl::Span<const RowGradients> sources, const UpdateRule& rule) {
  size_t ids = 0;
  for (const RowGradients& source : sources) {
    assert(source.grouped->size() == source.ids.size() && source.sums.size() == source.ids.size() * layout_->dim());
    ids += source.ids.size();
  }
  if (ids == 0) return absl::OkStatus();
  const RowLayout::Update update(*layout_, rule);
  ForEachPartition(ids, [&](uint32_t p) {
    for (const RowGradients& source : sources) {
      if (source.grouped->begin(p) == source.grouped->begin(p + 1)) continue;
      ApplyPartition(p, sources, update, rule);
      return;
    }
  });
  return absl::OkStatus();
}

void MemoryRowStore::ApplyPartition(uint32_t p, absl::Span<const RowGradients> sources, const RowLayout::Update& update,
                                    const UpdateRule& rule) {
  thread_local Sums sums;
  sums.rows.clear();
  sums.values.clear();
  Partition& partition = partitions_[p];
  const size_t dim = layout_->dim();
  const size_t row_bytes = slabs_.row_bytes();
  WriterMutexLock lock(&partition.mutex);
  for (const RowGradients& source : sources) AddSource(partition, p, source, &sums);
  for (size_t i = 0; i < sums.rows.size(); ++i) {
    if (i + 16 < sums.rows.size()) Prefetch(RowAt(sums.rows[i + 16]), row_bytes);
    MemoryRow* const row = RowAt(sums.rows[i]);
    update.Apply(sums.values.data() + i * dim, row->floats());
    row->header.lsn = rule.lsn;
    row->header.last_step = rule.step;
    row->touched = 0;
    MarkDirty(partition, sums.rows[i]);
  }
}

void MemoryRowStore::AddSource(Partition& partition, uint32_t p, const RowGradients& source, Sums* sums) {
  const size_t dim = layout_->dim();
  const size_t row_bytes = slabs_.row_bytes();
  uint64_t hashes[kAhead];
  uint32_t rows[kAhead];
  const uint32_t end = source.grouped->begin(p + 1);
  for (uint32_t begin = source.grouped->begin(p); begin < end; begin += kAhead) {
    const uint32_t count = std::min<uint32_t>(kAhead, end - begin);
    for (uint32_t i = 0; i < count; ++i) {
      hashes[i] = Mix64(source.ids[source.grouped->position(begin + i)]);
      partition.index.Prefetch(hashes[i]);
    }
    for (uint32_t i = 0; i < count; ++i) {
      rows[i] = partition.index.Find(hashes[i], [](uint32_t) { return true; });
      if (rows[i] != RowIndex::kNone) Prefetch(RowAt(rows[i]), row_bytes);
    }
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t position = source.grouped->position(begin + i);
      const uint64_t id = source.ids[position];
      // A row may have come in since, when an id stands here twice.
      if (rows[i] == RowIndex::kNone || RowAt(rows[i])->id != id) rows[i] = Find(partition, id, hashes[i]);
      if (rows[i] == RowIndex::kNone) {
        rows[i] = Insert(partition, id, hashes[i]);
        layout_->InitialFloats(id, RowAt(rows[i])->floats());
      }
      MemoryRow* const row = RowAt(rows[i]);
      const float* const gradient = source.sums.data() + position * dim;
      if (row->touched == 0) {
        sums->rows.push_back(rows[i]);
        sums->values.insert(sums->values.end(), gradient, gradient + dim);
        row->touched = static_cast<uint32_t>(sums->rows.size()) & 0x7fffffffu;
      } else {
        float* const sum = sums->values.data() + (row->touched - 1) * dim;
        for (size_t k = 0; k < dim; ++k) sum[k] += gradient[k];
      }
    }
  }
}

absl::Status MemoryRowStore::Load(const SavedRow& row) {
  if (row.floats.size() != layout_->floats()) {
    return absl::InvalidArgumentError(absl::StrCat("row ", row.id, " of table ", layout_->table(), " has ", row.floats.size(), " floats, ",
                                                   layout_->floats(), " are wanted"));
  }
  const uint64_t hash = Mix64(row.id);
  Partition& partition = partitions_[PartitionOf(row.id)];
  WriterMutexLock lock(&partition.mutex);
  if (Find(partition, row.id, hash) != RowIndex::kNone) {
    return absl::AlreadyExistsError(absl::StrCat("row ", row.id, " of table ", layout_->table(), " is there twice"));
  }
  const uint32_t number = Insert(partition, row.id, hash);
  MemoryRow* const memory = RowAt(number);
  memory->header = row.header;
  std::memcpy(memory->floats(), row.floats.data(), row.floats.size() * sizeof(float));
  MarkDirty(partition, number);
  return absl::OkStatus();
}

absl::Status MemoryRowStore::WriteBack(StateDb* db) {
  std::string key, value;
  for (uint32_t p = 0; p < kPartitions; ++p) {
    Partition& partition = partitions_[p];
    WriterMutexLock lock(&partition.mutex);
    for (uint32_t number : partition.dirty) {
      MemoryRow* const row = RowAt(number);
      const SavedRow saved = {row->id, row->header, absl::MakeSpan(row->floats(), layout_->floats())};
      TESSERA_RETURN_IF_ERROR(EncodeRow(saved, &key, &value));
      TESSERA_RETURN_IF_ERROR(db->Put(key, value));
      const uint64_t digest = ContentHash(key, saved.floats);
      partition.digest += digest - row->digest;
      row->digest = digest;
    }
    for (uint32_t number : partition.dirty) RowAt(number)->dirty = 0;
    partition.dirty.clear();
  }
  return absl::OkStatus();
}

void MemoryRowStore::ForgetWritten() {
  for (uint32_t p = 0; p < kPartitions; ++p) {
    Partition& partition = partitions_[p];
    WriterMutexLock lock(&partition.mutex);
    partition.index.ForEach([&](uint32_t row) ABSL_NO_THREAD_SAFETY_ANALYSIS { MarkDirty(partition, row); });
  }
}

PartitionCounts MemoryRowStore::CountRows() const {
  PartitionCounts counts;
  for (uint32_t p = 0; p < kPartitions; ++p) {
    ReaderMutexLock lock(&partitions_[p].mutex);
    counts[p] = partitions_[p].index.size();
  }
  return counts;
}

uint64_t MemoryRowStore::ContentDigest() const {
  uint64_t digest = 0;
  for (uint32_t p = 0; p < kPartitions; ++p) {
    ReaderMutexLock lock(&partitions_[p].mutex);
    digest += partitions_[p].digest;
  }
  return digest;
}

uint64_t MemoryRowStore::MemoryBytes() const {
  uint64_t bytes = 0;
  for (uint32_t p = 0; p < kPartitions; ++p) {
    ReaderMutexLock lock(&partitions_[p].mutex);
    bytes += partitions_[p].index.bytes() + partitions_[p].index.size() * slabs_.row_bytes();
  }
  return bytes;
}

}  // namespace tessera
