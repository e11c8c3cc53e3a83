// Stochastic gradient descent: w -= rate * (g + l2 * w). No state.
#pragma once

#include "ps/optimizer/optimizer.h"

namespace tessera {

class SgdOptimizer : public ValueOptimizer {
 public:
  explicit SgdOptimizer(float l2) : l2_(l2) {}

  size_t StateFloats(size_t) const override { return 0; }
  void InitialState(absl::Span<float> state) const override;
  StepFactors Prepare(double learning_rate, uint64_t step) const override;
  void Apply(const StepFactors& factors, float scale, absl::Span<const float> sums, absl::Span<float> state,
             absl::Span<float> values) const override;

 private:
  const float l2_;
};

}  // namespace tessera
