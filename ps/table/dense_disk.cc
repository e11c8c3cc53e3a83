// The disk side of dense chunks: write-back and recovery.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "ps/table/dense_store.h"

namespace tessera {
namespace {

// Chunks are large: a few of them make a batch.
constexpr size_t kDenseBatchBytes = 4u << 20;

}  // namespace

absl::Status DenseStore::Encode(Chunk* chunk, std::string* key, std::string* value) {
  SavedChunk saved;
  saved.variable = chunk->place.variable;
  saved.number = chunk->number;
  saved.partition = chunk->place.partition;
  saved.lsn = chunk->lsn;
  saved.last_step = chunk->last_step;
  saved.size = chunk->place.size;
  saved.floats = absl::MakeSpan(chunk->values, chunk->floats);
  if (absl::Status status = EncodeChunk(saved, key, value); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat("variable ", variables_[chunk->place.variable].name, ": ", status.message()));
  }
  chunk->digest = ContentHash(*key, saved.floats);
  return absl::OkStatus();
}

absl::Status DenseStore::WriteBack(StateDb* db, RowStore::BeforeWrite before) {
  StateDb::Batch batch;
  std::vector<Chunk*> taken;
  uint64_t lsn = 0;
  std::string key, value;
  absl::Status status;
  for (size_t i = 0; i < chunks_.size() && status.ok(); ++i) {
    Chunk* const chunk = chunks_[i].get();
    {
      MutexLock lock(&chunk->mutex);
      if (chunk->on_disk && chunk->dirty_lsn == RowStore::kNothingDirty) continue;
      status = Encode(chunk, &key, &value);
      if (!status.ok()) break;
      chunk->writing_lsn = std::exchange(chunk->dirty_lsn, RowStore::kNothingDirty);
      lsn = std::max(lsn, chunk->lsn);
    }
    batch.Put(key, value);
    taken.push_back(chunk);
    if (batch.bytes() < kDenseBatchBytes) continue;
    status = before(lsn);
    if (status.ok()) status = db->Write(&batch);
    FinishChunks(taken, status.ok());
    taken.clear();
    batch.Clear();
  }
  if (status.ok() && !taken.empty()) status = before(lsn);
  if (status.ok() && !taken.empty()) status = db->Write(&batch);
  FinishChunks(taken, status.ok());
  return status;
}

void DenseStore::FinishChunks(absl::Span<Chunk* const> chunks, bool written) {
  for (Chunk* chunk : chunks) {
    MutexLock lock(&chunk->mutex);
    const uint64_t writing_lsn = std::exchange(chunk->writing_lsn, RowStore::kNothingDirty);
    if (written) {
      chunk->on_disk = true;
    } else {
      chunk->dirty_lsn = std::min(chunk->dirty_lsn, writing_lsn);
    }
  }
}

uint64_t DenseStore::OldestDirty() const {
  uint64_t oldest = RowStore::kNothingDirty;
  for (const std::unique_ptr<Chunk>& chunk : chunks_) {
    MutexLock lock(&chunk->mutex);
    oldest = std::min({oldest, chunk->dirty_lsn, chunk->writing_lsn});
  }
  return oldest;
}

uint64_t DenseStore::highest_lsn() const {
  uint64_t lsn = 0;
  for (const std::unique_ptr<Chunk>& chunk : chunks_) {
    MutexLock lock(&chunk->mutex);
    lsn = std::max(lsn, chunk->lsn);
  }
  return lsn;
}

absl::Status DenseStore::Recover(const StateDb& db, uint32_t first_partition, uint32_t last_partition) {
  std::vector<float> floats;
  SavedChunk chunk;
  TESSERA_RETURN_IF_ERROR(db.ForEach(KeyBound(RecordKind::kChunk, first_partition), KeyBound(RecordKind::kChunk, last_partition),
                                     [&](absl::string_view key, absl::string_view value) {
                                       TESSERA_RETURN_IF_ERROR(DecodeChunk(key, value, &floats, &chunk));
                                       return Load(chunk);
                                     }));
  std::string key, value;
  for (const std::unique_ptr<Chunk>& one : chunks_) {
    MutexLock lock(&one->mutex);
    if (!one->loaded) continue;
    one->on_disk = true;
    TESSERA_RETURN_IF_ERROR(Encode(one.get(), &key, &value));
  }
  return absl::OkStatus();
}

}  // namespace tessera
