// A model: what its table and dense variables look like, and how gradients and predictions are computed from pulled values.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/plan.pb.h"
#include "worker/batch/batch.h"
#include "worker/compute/backend.h"

namespace tessera {

// Fills plan->table and plan->variables from plan->job (model, optimizers, with all defaults set) and plan->schema. Fails with the key
// path of what cannot be built.
absl::Status DescribeModel(Plan* plan);

// Values as pulled. Spans are host memory and live through the call.
struct ModelValues {
  absl::Span<const float> rows;   // unique ids x RowDim, in the order of Batch::unique_ids
  absl::Span<const float> dense;  // every dense variable, flattened, in plan order, back to back
};

// Gradient sums over a batch's rows (not divided by them). Vectors are reused between calls.
struct ModelGradients {
  std::vector<float> rows;   // unique ids x RowDim
  std::vector<float> dense;  // as ModelValues::dense
  double loss = 0;           // sum of the rows' logloss
};

// Names a row within its step, for counter-based dropout: row i of the batch is row first_row + i.
struct StepKey {
  uint64_t seed = 0;
  uint64_t step = 0;
  uint64_t first_row = 0;
};

// (proto/job.proto has a Model too: what a person asks for.)
// Owned by one thread. The same inputs give the same bits at any number of threads.
class CtrModel {
 public:
  // Builds the graph and checks its shapes. `backend` outlives the model.
  static absl::StatusOr<std::unique_ptr<CtrModel>> Create(const Plan& plan, Backend* backend);
  virtual ~CtrModel() = default;

  // Forward and backward. REQUIRES: labels are 0 or 1. A non-finite loss or gradient is returned as it is: the caller looks
  // (FindNonFinite).
  virtual absl::Status Train(const Batch& batch, const ModelValues& values, const StepKey& key, ModelGradients* gradients) = 0;
  // Forward without dropout: one logit per row. A row's logit does not depend, to the bit, on the rows it is batched with.
  virtual absl::Status Predict(const Batch& batch, const ModelValues& values, std::vector<float>* logits) = 0;
};

// "" if all gradients are finite, else which field (with a row that has it) or dense variable is not. `row`, if given, becomes the index in
// the batch of a row to look at: the first one where no single row is to blame.
std::string FindNonFinite(const Plan& plan, const Batch& batch, const ModelGradients& gradients, size_t* row = nullptr);

}  // namespace tessera
