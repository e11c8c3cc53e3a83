// The batches of this worker's shares, from whatever position the coordinator names.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "proto/parameter_server.pb.h"
#include "proto/plan.pb.h"
#include "worker/batch/rare_rows.h"
#include "worker/data/input.h"
#include "worker/train/batch_ahead.h"

namespace tessera {

// Keeps a share's stream open as long as its positions follow on from step to step, and opens it anew where they do not (a new epoch, a
// share taken over, a restart). Owned by one thread.
class ShareBatches {
 public:
  // `on_next`: as BatchAhead calls it, from the threads of several shares.
  ShareBatches(const Plan& plan, std::shared_ptr<Input> input, std::function<void(const Batch&)> on_next)
      : plan_(plan), rare_ids_(RareIds(plan)), input_(std::move(input)), on_next_(std::move(on_next)) {}

  // The assignment's rows. Empty where the share has none.
  absl::Status Next(const Assignment& share, TrainingBatch* out);
  // Closes the streams of all other shares.
  void KeepOnly(const google::protobuf::RepeatedPtrField<Assignment>& shares);

 private:
  struct Stream {
    Position position;  // of its next row
    uint64_t rows_max = 0;
    std::unique_ptr<BatchAhead> batches;
  };

  const Plan& plan_;
  const std::vector<uint64_t> rare_ids_;
  const std::shared_ptr<Input> input_;
  const std::function<void(const Batch&)> on_next_;
  absl::flat_hash_map<uint32_t, Stream> streams_;
};

}  // namespace tessera
