// How a gradient changes values: the optimisers of a job, on plain spans, without locks and without I/O.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/job.pb.h"

namespace tessera {

// What an optimiser derives once from (learning rate, step) for all values of the step.
struct StepFactors {
  float rate = 0;          // learning rate, with the bias correction of the first moment where there is one
  float second_scale = 1;  // corrects the root of the second moment
  float keep = 1;          // part of a value that weight decay leaves
};

// One optimiser with its constants. Every value is updated by itself: the bits of a result depend neither on where the value stands in
// a span nor on the span's length. State of n values is StateFloats(n) floats: first all of the first kind, then all of the second.
// Row-wise Adagrad alone sees the values handed in as one row.
// Thread-safe: constant after construction.
class ValueOptimizer {
 public:
  virtual ~ValueOptimizer() = default;

  virtual size_t StateFloats(size_t count) const = 0;  // of `count` values
  // The state of values that no gradient has touched yet.
  virtual void InitialState(absl::Span<float> state) const = 0;
  // REQUIRES: step >= 1.
  virtual StepFactors Prepare(double learning_rate, uint64_t step) const = 0;
  // Applies the gradients `sums` * `scale` in place. Without L2 and weight decay, a gradient of 0 on untouched
  // state changes nothing.
  // REQUIRES: sums and values of one size, state of StateFloats(size); nothing overlaps; everything finite.
  virtual void Apply(const StepFactors& factors, float scale, absl::Span<const float> sums, absl::Span<float> state,
                     absl::Span<float> values) const = 0;
};

// INVALID_ARGUMENT when no kind is set or a constant is outside its range; `owner` says whose optimiser it is ("table rows, segment
// embedding"). The learning rate of the message is not used here: every step brings its own.
absl::StatusOr<std::unique_ptr<ValueOptimizer>> MakeOptimizer(const Optimizer& optimizer, absl::string_view owner);

}  // namespace tessera
