// All that one server holds in one incarnation: rows, chunks of dense variables, and the database it saves them with.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/thread_pool.h"
#include "proto/parameter_server.pb.h"
#include "ps/server/gradients.h"
#include "ps/table/dense_store.h"
#include "ps/table/row_store.h"
#include "ps/table/state_db.h"

namespace tessera {

// Thread-safe but for Save, which must not overlap updates.
class ShardState {
 public:
  // Empty, or with this shard's part of the checkpoint `request.restore_from`, whatever the number of servers that saved it.
  // `folder` is where its database lives ("" if it will never save); what is there is removed. The pool outlives it.
  static absl::StatusOr<std::unique_ptr<ShardState>> Make(const OpenRequest& request, const std::string& folder, ThreadPool* pool);

  RowStore& rows() { return *rows_; }
  DenseStore& dense() { return *dense_; }
  const GradientShape& shape() const { return shape_; }
  uint64_t restored_step() const { return restored_step_; }
  uint64_t CountRows() const;
  // Of everything as of the last save; see SaveReply.content_digest.
  uint64_t ContentDigest() const { return rows_->ContentDigest() + dense_->ContentDigest(); }

  // One update from the gradients of `sources`, in their order. `sources` may be empty: nothing changes.
  absl::Status Apply(absl::Span<const CheckedGradients* const> sources, double sparse_learning_rate, double dense_learning_rate,
                     UpdateRule rule);
  // Writes what changed since the last save and links it into `directory`. After an error the next save writes everything.
  absl::StatusOr<std::vector<SavedFile>> Save(const std::string& directory, uint64_t step);

 private:
  ShardState(OpenRequest opened, std::string folder) : opened_(std::move(opened)), folder_(std::move(folder)) {}
  absl::Status Restore(ThreadPool* pool);
  absl::StatusOr<std::vector<SavedFile>> WriteAndLink(const std::string& directory, uint64_t step);

  const OpenRequest opened_;
  const std::string folder_;
  GradientShape shape_;
  uint64_t restored_step_ = 0;
  std::unique_ptr<RowStore> rows_;
  std::unique_ptr<DenseStore> dense_;
  std::atomic<uint64_t> lsn_{0};
  std::unique_ptr<StateDb> db_;  // null after an error
};

}  // namespace tessera
