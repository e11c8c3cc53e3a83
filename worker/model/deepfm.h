// DeepFM (Guo, Tang, Ye, Li, He 2017, arXiv 1703.04247): a factorisation machine and an MLP that share their embeddings.
#pragma once

#include "absl/status/statusor.h"
#include "proto/plan.pb.h"
#include "worker/model/graph.h"

namespace tessera {

// The graph of plan.job.model for plan.schema; plan.click_rate sets where the output bias starts. Fails with the key path of what cannot
// be built. Without hidden layers it is a plain factorisation machine; no job file says so yet: defaults fill in an absent `hidden`, and
// an empty list is refused.
absl::StatusOr<Graph> BuildDeepFm(const Plan& plan);

}  // namespace tessera
