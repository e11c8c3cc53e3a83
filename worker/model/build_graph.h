// The graph of a plan's model: the one place that knows model types by name.
#pragma once

#include "absl/status/statusor.h"
#include "proto/plan.pb.h"
#include "worker/model/graph.h"

namespace tessera {

// Fails with the key path of what cannot be built. The graph's shapes are checked.
absl::StatusOr<Graph> BuildGraph(const Plan& plan);

}  // namespace tessera
