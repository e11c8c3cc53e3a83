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

// Whether a row is held out of training: a function of (seed, row key), so the same rows in every epoch.
bool IsHeldOut(const Plan& plan, uint64_t row_key);

// Rows in training order. Reads and parses ahead on threads of its own, at most a window beyond the one in use. Owned by one thread.
//
// The stream is cut into windows of ceil(shuffle / shares) rows (a task: of `shuffle` rows), and each is shuffled by itself, by
// (seed, epoch, share or task, its beginning). Only rows that are trained on count, in windows and in positions: Position.block is an
// index into the share's own blocks, Position.row the number of trained rows of that block before the window, Position.offset the number
// of rows of the shuffled window that are used. A stream resumed at any `next` gives the very rows the first one went on to give.
class RowStream {
 public:
  // Share `share` of `shares` in an epoch (blocks share, share + shares, ... of its order), from `position` on (block 0, row 0, offset 0 =
  // the beginning). REQUIRES: `plan` is complete (seed, shuffle, block_bytes); `input` is opened on plan.train. `plan` is copied.
  static absl::StatusOr<std::unique_ptr<RowStream>> ForShare(const Plan& plan, std::shared_ptr<Input> input, uint32_t share, uint32_t shares,
                                                             const Position& position);
  // Blocks [first, last) of the epoch's order, shuffled by (seed, epoch, task).
  static absl::StatusOr<std::unique_ptr<RowStream>> ForTask(const Plan& plan, std::shared_ptr<Input> input, uint32_t epoch, uint64_t task,
                                                            uint64_t first, uint64_t last);
  virtual ~RowStream() = default;

  // Replaces `rows` by the next min(rows_max, what is left) rows, and `next` by the position after them: next->end tells that no row
  // follows. Held-out rows are passed over. An empty answer means the stream had ended before. A row that cannot be read is an error,
  // at the latest where its window begins; DATA_LOSS tells that the data has fewer rows than the position speaks of.
  virtual absl::Status Next(uint64_t rows_max, Rows* rows, Position* next) = 0;
};

}  // namespace tessera
