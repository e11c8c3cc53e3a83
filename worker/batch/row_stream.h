// The order in which rows are trained on, as a pure function of (plan, seed, epoch, share or task): PROTOCOL.md section 2.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/parameter_server.pb.h"
#include "proto/plan.pb.h"
#include "worker/data/input.h"

namespace tessera {

// All blocks of the training input in the epoch's order: a permutation that depends on (seed, epoch) only.
std::vector<uint64_t> EpochBlocks(const Plan& plan, uint64_t block_count, uint32_t epoch);

// Whether a row is held out of training: a function of (seed, row key), so the same rows in every epoch.
bool IsHeldOut(const Plan& plan, uint64_t row_key);

// Rows in training order. Reads and parses ahead on a thread of its own into a bounded queue. Owned by one thread.
class RowStream {
 public:
  // Share `share` of `shares` in an epoch, from `position` on (block 0, row 0, offset 0 = the beginning).
  static absl::StatusOr<std::unique_ptr<RowStream>> ForShare(const Plan& plan, std::shared_ptr<Input> input, uint32_t share, uint32_t shares,
                                                             const Position& position);
  // Blocks [first, last) of the epoch's order, shuffled by (seed, epoch, task).
  static absl::StatusOr<std::unique_ptr<RowStream>> ForTask(const Plan& plan, std::shared_ptr<Input> input, uint32_t epoch, uint64_t task,
                                                            uint64_t first, uint64_t last);
  virtual ~RowStream() = default;

  // Replaces `rows` by the next min(rows_max, what is left) rows, and `next` by the position after them: next->end tells that no row
  // follows. Held-out rows are passed over. An empty answer means the stream had ended before.
  virtual absl::Status Next(uint64_t rows_max, Rows* rows, Position* next) = 0;
};

}  // namespace tessera
