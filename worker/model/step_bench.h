// How fast a training step is on this machine, held against the matrix products it cannot do without.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "proto/plan.pb.h"
#include "worker/batch/batch.h"
#include "worker/compute/backend.h"
#include "worker/model/model.h"

namespace tessera {

// The parameter servers as the bench sees them: embedded, or somewhere else.
struct StepBenchStore {
  // The values a batch needs; they live until the next call.
  std::function<absl::StatusOr<ModelValues>(const Batch& batch)> pull;
  // Applies the gradients of the batch that was pulled last.
  std::function<absl::Status(const Batch& batch, const ModelGradients& gradients)> push;
};

struct StepBenchOptions {
  uint32_t rows = 4096;  // of a batch
  uint32_t pairs = 20;   // steps measured, each beside its products
};

// Milliseconds are medians over the pairs; a ratio is the median of the pairs' ratios, so that the machine's drift falls out.
struct StepBenchResult {
  uint32_t rows = 0;
  uint32_t unique_ids = 0;
  double batch_ms = 0;  // making ids unique
  double pull_ms = 0;
  double train_ms = 0;  // forward and backward
  double push_ms = 0;
  double step_ms = 0;  // all of them
  double products_ms = 0;
  double step_ratio = 0;   // products / step
  double train_ratio = 0;  // products / train
  double examples_per_second = 0;
};

// The plan of the bench: 26 categorical fields with vocabularies like Criteo's, 13 scaled numerics, embeddings of 16, MLP 400-400-400. Open
// the servers with its table and variables.
absl::StatusOr<Plan> StepBenchPlan();

// Alternates whole steps with their matrix products alone (the same backend, the same shapes, nothing in between). Ids are Zipf(1.05).
absl::StatusOr<StepBenchResult> RunStepBench(const Plan& plan, const StepBenchStore& store, const StepBenchOptions& options,
                                             Backend* backend);

}  // namespace tessera
