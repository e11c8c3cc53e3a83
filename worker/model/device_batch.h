// A batch and everything that belongs to it in a backend's memory, in buffers that are used again for the next batch.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "worker/compute/backend.h"
#include "worker/model/graph.h"
#include "worker/model/model.h"

namespace tessera {

// Owned by one thread. `graph` and `backend` outlive it.
class DeviceBatch {
 public:
  DeviceBatch(const Graph& graph, Backend* backend);

  // Whether sizes fit the graph; INVALID_ARGUMENT says which do not.
  absl::Status Check(const Batch& batch, const ModelValues& values) const;
  // Uploads ids, scales, dense inputs and values; labels and the lists of occurrences too when pass->training.
  absl::Status Bring(const Batch& batch, const ModelValues& values, Pass* pass);
  // Room for the values that `rows` rows make on their way through the graph, and for their gradients when pass->training.
  absl::Status Reserve(int64_t rows, Pass* pass);
  // Sizes `gradients` and makes them what the pass writes.
  absl::Status ReserveGradients(const Batch& batch, ModelGradients* gradients, Pass* pass);
  // Downloads what ReserveGradients made room for; complete after Backend::Finish.
  void TakeHome(const Pass& pass, ModelGradients* gradients);

 private:
  // One buffer for each array; those of values and gradients follow.
  enum Array {
    kInverse,
    kScales,
    kOffsets,
    kSlots,
    kBegin,
    kOrder,
    kRows,
    kDense,
    kLabels,
    kVariables,
    kRowGradient,
    kVariableGradients,
    kLoss,
    kLogits,
    kLogitGradient,
    kArrays
  };

  const Graph& graph_;
  Backend* const backend_;
  const int64_t row_dim_;
  int64_t variable_floats_ = 0;
  std::vector<Buffer> arrays_;
  std::vector<Buffer> values_;
  std::vector<Buffer> value_gradients_;
  DeviceSpan<float> variable_gradients_;  // of the last ReserveGradients, all in one
};

// Rows [begin, begin + count) of a pass that only goes forward.
Pass SliceRows(const Pass& pass, int64_t begin, int64_t count);

}  // namespace tessera
