// Adagrad (Duchi, Hazan, Singer 2011): g += l2 * w; a += g * g; w -= rate * g / (sqrt(a) + epsilon). State: a.
#pragma once

#include "ps/optimizer/optimizer.h"

namespace tessera {

class AdagradOptimizer : public ValueOptimizer {
 public:
  // REQUIRES: initial_accumulator >= 0, epsilon > 0.
  AdagradOptimizer(float initial_accumulator, float epsilon, float l2)
      : initial_accumulator_(initial_accumulator), epsilon_(epsilon), l2_(l2) {}

  size_t StateFloats(size_t count) const override { return count; }
  void InitialState(absl::Span<float> state) const override;
  StepFactors Prepare(double learning_rate, uint64_t step) const override;
  void Apply(const StepFactors& factors, float scale, absl::Span<const float> sums, absl::Span<float> state,
             absl::Span<float> values) const override;

 private:
  const float initial_accumulator_;
  const float epsilon_;
  const float l2_;
};

}  // namespace tessera
