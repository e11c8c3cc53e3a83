// Stochastic gradient descent: w -= rate * g. No state.
#pragma once

#include "ps/optimizer/optimizer.h"

namespace tessera {

class SgdOptimizer : public ValueOptimizer {
 public:
  uint32_t StateFloats() const override { return 0; }
  void InitialState(absl::Span<float> state) const override;
  StepFactors Prepare(double learning_rate, uint64_t step) const override;
  void Apply(const StepFactors& factors, float scale, absl::Span<const float> sums, absl::Span<float> state,
             absl::Span<float> values) const override;
};

}  // namespace tessera
