// The payload of a stage or push, checked once when it arrives: what is kept can always be applied.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/thread_pool.h"
#include "proto/parameter_server.pb.h"
#include "ps/table/dense_store.h"
#include "ps/table/partitioned_ids.h"
#include "ps/table/row_store.h"

namespace tessera {

// What this server's gradients must look like.
struct GradientShape {
  uint32_t dim = 0;  // of a row
  uint32_t first_partition = 0;
  uint32_t last_partition = 0;
  std::vector<size_t> dense_slices;  // floats of each
  // For messages; they outlive this.
  const TableSpec* table = nullptr;
  const DenseStore* dense = nullptr;
};

enum class DensePart {
  kSlice,   // must be a whole slice of this server's chunks
  kAbsent,  // must be empty: a part beyond the last slice
  kEither,
};

// Views into the message that was checked: valid while it is unchanged.
struct CheckedGradients {
  PartitionedIds grouped;
  absl::Span<const uint64_t> ids;
  absl::Span<const float> values;
  absl::Span<const float> dense;
  uint32_t dense_slice = 0;
  absl::Span<const uint32_t> counts;
  PartitionedIds sighted;
  absl::Span<const uint64_t> sighted_ids;
  absl::Span<const uint32_t> sighted_counts;

  // Views the same payload where it stands now: after the message was copied or moved.
  void ViewOf(const Gradients& gradients);
  // Groups the ids; for a payload that was checked before it was logged.
  void Group();
  size_t id_count() const { return ids.size() + sighted_ids.size(); }
  RowGradients Rows() const { return {&grouped, ids, values, counts, &sighted, sighted_ids, sighted_counts}; }
};

// The row parts of those that have any, in their order.
std::vector<RowGradients> RowsOf(absl::Span<const CheckedGradients* const> sources);

// "push 5 of worker 1 generation 1, step 7": for messages.
std::string NameOf(const PushRequest& request);

// Worker and generation count from 1.
absl::Status CheckWorker(const Peer& peer, const std::string& sender);
// A stage's share has rows in its step by the decision it carries, where that assigns shares.
absl::Status CheckShare(const StageRequest& request, const std::string& sender);
// All of a push but its gradients: rates, divisor, step.
absl::Status CheckPush(const PushRequest& request, const std::string& sender);

// INVALID_ARGUMENT names `sender` ("stage of share 2 by worker 1 generation 1, step 7") and what is wrong: sizes, an id of another server,
// or a value that is not finite, with table, segment and id, or variable. Only the worker knows which field an id is of.
absl::StatusOr<CheckedGradients> CheckGradients(const Gradients& gradients, const GradientShape& shape, DensePart dense,
                                                const std::string& sender, ThreadPool* pool);
// CheckGradients of a stage, whose part k carries dense slice k.
absl::StatusOr<CheckedGradients> CheckStage(const StageRequest& request, const GradientShape& shape, const std::string& sender,
                                            ThreadPool* pool);
// The ids of a request for this server; INVALID_ARGUMENT as above.
absl::StatusOr<PartitionedIds> CheckIds(absl::Span<const uint64_t> ids, const GradientShape& shape, const std::string& sender);

}  // namespace tessera
