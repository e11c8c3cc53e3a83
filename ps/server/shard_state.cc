#include "ps/server/shard_state.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/partition.h"
#include "common/status_macros.h"
#include "ps/table/memory_row_store.h"
#include "ps/table/saved_shards.h"
#include "ps/table/shard_format.h"

namespace tessera {

absl::StatusOr<std::unique_ptr<ShardState>> ShardState::Make(const OpenRequest& request, const std::string& folder, ThreadPool* pool) {
  std::unique_ptr<ShardState> state(new ShardState(request, folder));
  const Peer& peer = request.peer();
  TESSERA_ASSIGN_OR_RETURN(std::shared_ptr<const RowLayout> layout, RowLayout::Make(request.table(), request.seed()));
  state->rows_ = std::make_unique<MemoryRowStore>(layout, pool);
  const uint32_t first = PartitionBegin(peer.shard(), peer.shards());
  const uint32_t last = PartitionBegin(peer.shard() + 1, peer.shards());
  TESSERA_ASSIGN_OR_RETURN(state->dense_, DenseStore::Make(request.variables(), request.seed(), first, last, pool));
  state->shape_ = {layout->dim(), first, last, {}};
  for (uint32_t k = 0; k < state->dense_->slices(); ++k) state->shape_.dense_slices.push_back(state->dense_->slice_floats(k));
  if (!request.restore_from().empty()) TESSERA_RETURN_IF_ERROR(state->Restore(pool));
  if (!folder.empty()) {
    TESSERA_ASSIGN_OR_RETURN(state->db_, StateDb::Create(folder));
  }
  return state;
}

absl::Status ShardState::Restore(ThreadPool* pool) {
  TESSERA_ASSIGN_OR_RETURN(const SavedShards saved, SavedShards::Open(opened_.restore_from()));
  TESSERA_RETURN_IF_ERROR(saved.CheckSame(opened_));
  const uint32_t first = shape_.first_partition;
  const uint32_t last = shape_.last_partition;
  TESSERA_RETURN_IF_ERROR(saved.ReadRows(first, last, pool, [&](const SavedRow& row) { return rows_->Load(row); }));
  TESSERA_RETURN_IF_ERROR(saved.ReadChunks(first, last, [&](const SavedChunk& chunk) { return dense_->Load(chunk); }));
  if (absl::Status status = dense_->CheckAllLoaded(); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat(opened_.restore_from(), ": ", status.message()));
  }
  restored_step_ = saved.step();
  lsn_ = saved.lsn();
  return absl::OkStatus();
}

uint64_t ShardState::CountRows() const {
  uint64_t rows = 0;
  for (uint64_t count : rows_->CountRows()) rows += count;
  return rows;
}

absl::Status ShardState::Apply(absl::Span<const CheckedGradients* const> sources, double sparse_learning_rate, double dense_learning_rate,
                               UpdateRule rule) {
  std::vector<RowGradients> rows;
  std::vector<std::vector<absl::Span<const float>>> dense(dense_->slices());
  for (const CheckedGradients* source : sources) {
    if (!source->ids.empty()) rows.push_back({&source->grouped, source->ids, source->values});
    if (!source->dense.empty()) dense[source->dense_slice].push_back(source->dense);
  }
  rule.lsn = lsn_.fetch_add(1) + 1;
  rule.learning_rate = sparse_learning_rate;
  TESSERA_RETURN_IF_ERROR(rows_->Apply(rows, rule));
  rule.learning_rate = dense_learning_rate;
  for (uint32_t slice = 0; slice < dense.size(); ++slice) dense_->Apply(slice, dense[slice], rule);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SavedFile>> ShardState::Save(const std::string& directory, uint64_t step) {
  if (folder_.empty()) return absl::FailedPreconditionError("this server was started without a state directory and cannot save");
  if (db_ == nullptr) {
    TESSERA_ASSIGN_OR_RETURN(db_, StateDb::Create(folder_));
    rows_->ForgetWritten();
    dense_->ForgetWritten();
  }
  absl::StatusOr<std::vector<SavedFile>> files = WriteAndLink(directory, step);
  // What of it was written is not known any more.
  if (!files.ok()) db_.reset();
  return files;
}

absl::StatusOr<std::vector<SavedFile>> ShardState::WriteAndLink(const std::string& directory, uint64_t step) {
  TESSERA_RETURN_IF_ERROR(rows_->WriteBack(db_.get()));
  TESSERA_RETURN_IF_ERROR(dense_->WriteBack(db_.get()));
  ShardMeta meta;
  meta.step = step;
  meta.lsn = lsn_;
  meta.rows = rows_->CountRows();
  meta.opened = opened_;
  meta.opened.clear_restore_from();
  TESSERA_RETURN_IF_ERROR(db_->Put(MetaKey(), EncodeMeta(meta)));
  return db_->Checkpoint(directory);
}

}  // namespace tessera
