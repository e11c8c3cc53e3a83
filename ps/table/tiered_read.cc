// Reading: what is in memory under each partition's lock, then all that is missing with sorted look-ups in the database, without any.
#include <algorithm>
#include <cassert>
#include <cstring>

#include "common/random.h"
#include "common/status_macros.h"
#include "ps/table/prefetch.h"
#include "ps/table/shard_format.h"
#include "ps/table/tiered_misses.h"
#include "ps/table/tiered_row_store.h"

namespace tessera {
namespace {

// Keys of one look-up: enough that neighbours share blocks, few enough that several threads have work.
constexpr size_t kKeysPerLookUp = 512;

}  // namespace

struct TieredRowStore::ReadCall {
  const PartitionedIds& grouped;
  absl::Span<const uint64_t> ids;
  UnknownRow unknown;
  bool heat;  // rows that are read are kept in memory before others
  float* values;
  std::vector<uint8_t>* absent;
};

absl::Status TieredRowStore::Read(const PartitionedIds& grouped, absl::Span<const uint64_t> ids, UnknownRow unknown, float* values,
                                  std::vector<uint8_t>* absent) {
  assert(grouped.size() == ids.size());
  if (absent != nullptr) absent->assign(ids.size(), 0);
  Misses misses;
  const bool training = unknown == UnknownRow::kInitial;
  const ReadCall call = {grouped, ids, unknown, training && options_.memory_bytes_max > 0, values, absent};
  ForPartitions(ids.size(), kPartitionsPerGate, [&](uint32_t first, uint32_t last) {
    if (grouped.begin(first) < grouped.begin(last)) ReadPartitions(first, last, call, &misses);
  });
  if (training) {
    hits_.fetch_add(ids.size() - misses.size(), std::memory_order_relaxed);
    misses_.fetch_add(misses.size(), std::memory_order_relaxed);
  }
  if (misses.size() == 0) return absl::OkStatus();
  const size_t dim = layout_->dim();
  return ReadMisses(ids, misses, training, /*must=*/false, [&](const Miss& miss, const SavedRow* row) {
    float* const out = values + miss.position * dim;
    if (row != nullptr) {
      std::memcpy(out, row->floats.data(), dim * sizeof(float));
      return;
    }
    const Partition& partition = partitions_[PartitionOf(ids[miss.position])];
    ReaderMutexLock lock(&partition.mutex);
    ReadUnknown(partition, ids[miss.position], unknown, out, absent == nullptr ? nullptr : &(*absent)[miss.position]);
  });
}

void TieredRowStore::ReadUnknown(const Partition& partition, uint64_t id, UnknownRow unknown, float* out, uint8_t* absent) {
  if (unknown == UnknownRow::kInitial) {
    layout_->InitialValue(id, out);
  } else {
    std::memset(out, 0, layout_->dim() * sizeof(float));
  }
  if (absent == nullptr) return;
  *absent = unknown == UnknownRow::kZeros || (admits() && partition.sightings->Count(id) < options_.admit_at) ? 1 : 0;
}

void TieredRowStore::ReadPartitions(uint32_t first, uint32_t last, const ReadCall& call, Misses* misses) {
  // All at once: a batch may have only a few ids for each partition, too few to be asked for ahead.
  ReadGate& gate = GateOf(first);
  gate.EnterReader();
  uint64_t hashes[kAheadRows];
  MemoryRow* rows[kAheadRows];
  const size_t row_bytes = sizeof(MemoryRow) + layout_->dim() * sizeof(float);
  const uint32_t end = call.grouped.begin(last);
  for (uint32_t begin = call.grouped.begin(first); begin < end; begin += kAheadRows) {
    const uint32_t count = std::min<uint32_t>(kAheadRows, end - begin);
    for (uint32_t i = 0; i < count; ++i) {
      hashes[i] = Mix64(call.ids[call.grouped.position(begin + i)]);
      partitions_[PartitionOfHash(hashes[i])].memory.index().Prefetch(hashes[i]);
    }
    for (uint32_t i = 0; i < count; ++i) {
      // Whose hash bits agree: nearly always the row itself, so its memory is asked for without looking at it.
      const RowPartition& memory = partitions_[PartitionOfHash(hashes[i])].memory;
      const uint32_t row = memory.index().Find(hashes[i], [](uint32_t) { return true; });
      rows[i] = row == RowPartition::kNone ? nullptr : memory.At(row);
      if (rows[i] != nullptr) PrefetchRow(rows[i], row_bytes);
    }
    for (uint32_t i = 0; i < count; ++i) CopyRow(call, call.grouped.position(begin + i), hashes[i], rows[i], misses);
  }
  gate.LeaveReader();
}

void TieredRowStore::CopyRow(const ReadCall& call, uint32_t position, uint64_t hash, MemoryRow* row, Misses* misses) {
  const Partition& partition = partitions_[PartitionOfHash(hash)];
  const uint64_t id = call.ids[position];
  if (row != nullptr && row->id != id) {
    const uint32_t found = partition.memory.Find(id, hash);
    row = found == RowPartition::kNone ? nullptr : partition.memory.At(found);
  }
  if (row == nullptr && partition.spilled()) {
    misses->Add(PartitionOfHash(hash), position, partition.updates);
    return;
  }
  float* const out = call.values + position * layout_->dim();
  if (row == nullptr || row->Is(MemoryRow::kGone)) {
    ReadUnknown(partition, id, call.unknown, out, call.absent == nullptr ? nullptr : &(*call.absent)[position]);
    return;
  }
  if (call.heat) RowPartition::Heat(row);
  CopyFloats(row->floats(), layout_->dim(), out);
}

absl::Status TieredRowStore::ReadMisses(absl::Span<const uint64_t> ids, const Misses& misses, bool fill, bool must,
                                        absl::FunctionRef<void(const Miss&, const SavedRow*)> body) {
  const std::vector<Miss> sorted = misses.Sorted(ids);
  const size_t pieces = (sorted.size() + kKeysPerLookUp - 1) / kKeysPerLookUp;
  std::vector<absl::Status> results(pieces);
  pool_->ParallelFor(static_cast<int64_t>(pieces), [&](int64_t piece) {
    const size_t begin = static_cast<size_t>(piece) * kKeysPerLookUp;
    const absl::Span<const Miss> part = absl::MakeConstSpan(sorted).subspan(begin, kKeysPerLookUp);
    std::string keys;
    for (const Miss& miss : part) keys += RowKey(ids[miss.position]);
    std::vector<uint8_t> found(part.size());
    std::vector<float> floats;
    const auto take = [&](size_t i, absl::string_view value) {
      SavedRow row;
      TESSERA_RETURN_IF_ERROR(DecodeStored(absl::string_view(keys).substr(i * kKeyBytes, kKeyBytes), value, &floats, &row));
      found[i] = 1;
      body(part[i], &row);
      if (!fill) return absl::OkStatus();
      Partition& partition = partitions_[PartitionOf(row.id)];
      WriterMutexLock lock(&partition.mutex);
      if (partition.updates == part[i].updates) Fill(partition, row, Mix64(row.id), must);
      return absl::OkStatus();
    };
    size_t failed = 0;
    results[piece] = db_->MultiGet(keys.data(), kKeyBytes, part.size(), take, &failed);
    if (!results[piece].ok()) {
      results[piece] = NameRow(results[piece], ids[part[failed].position]);
      return;
    }
    for (size_t i = 0; i < part.size(); ++i) {
      if (found[i] == 0) body(part[i], nullptr);
    }
  });
  for (const absl::Status& result : results) TESSERA_RETURN_IF_ERROR(result);
  return absl::OkStatus();
}

absl::Status TieredRowStore::DecodeStored(absl::string_view key, absl::string_view value, std::vector<float>* floats, SavedRow* row) const {
  absl::Status status = DecodeRow(key, value, floats, row);
  if (status.ok() && row->floats.size() != layout_->floats()) {
    status = absl::DataLossError(absl::StrCat("has ", row->floats.size(), " floats, ", layout_->floats(), " are wanted"));
  }
  return status.ok() ? status : absl::Status(status.code(), absl::StrCat(db_->folder(), ": ", status.message()));
}

absl::StatusOr<bool> TieredRowStore::ReadStored(uint64_t id, std::vector<float>* floats, SavedRow* row) const {
  const absl::StatusOr<std::string> value = db_->Get(RowKey(id));
  if (absl::IsNotFound(value.status())) return false;
  const absl::Status status = value.ok() ? DecodeStored(RowKey(id), *value, floats, row) : value.status();
  if (!status.ok()) return NameRow(status, id);
  return true;
}

absl::Status TieredRowStore::NameRow(const absl::Status& status, uint64_t id) const {
  return absl::Status(status.code(), absl::StrCat("row ", id, " of table ", layout_->table(), ": ", status.message()));
}

void TieredRowStore::Fill(Partition& partition, const SavedRow& row, uint64_t hash, bool must) {
  if (partition.memory.Find(row.id, hash) != RowPartition::kNone) return;
  const uint32_t number = partition.memory.Insert(row.id, hash, must);
  if (number == RowPartition::kNone) return;  // memory is full of rows that are not on disk yet: this one was read through
  MemoryRow* const memory = partition.memory.At(number);
  memory->header = row.header;
  memory->Set(MemoryRow::kOnDisk);
  memory->digest = ContentHash(RowKey(row.id), row.floats);
  std::memcpy(memory->floats(), row.floats.data(), row.floats.size() * sizeof(float));
}

absl::Status TieredRowStore::FindMissing(const PartitionedIds& grouped, absl::Span<const uint64_t> ids, Misses* misses) {
  if (db_ == nullptr) return absl::OkStatus();
  ForEachPartition(ids.size(), [&](uint32_t p) {
    if (grouped.begin(p) == grouped.begin(p + 1)) return;
    const Partition& partition = partitions_[p];
    ReaderMutexLock lock(&partition.mutex);
    if (!partition.spilled()) return;
    for (uint32_t k = grouped.begin(p); k < grouped.begin(p + 1); ++k) {
      const uint32_t position = grouped.position(k);
      if (partition.memory.Find(ids[position], Mix64(ids[position])) == RowPartition::kNone) {
        misses->Add(p, position, partition.updates);
      }
    }
  });
  return absl::OkStatus();
}

absl::Status TieredRowStore::Warm(const PartitionedIds& grouped, absl::Span<const uint64_t> ids) {
  Misses misses;
  TESSERA_RETURN_IF_ERROR(FindMissing(grouped, ids, &misses));
  return ReadMisses(ids, misses, /*fill=*/true, /*must=*/false, [](const Miss&, const SavedRow*) {});
}

}  // namespace tessera
