// SGD with heavy-ball momentum, as PyTorch has it: g += l2 * w; b = momentum * b + g; w -= rate * b. State: b.
#pragma once

#include "ps/optimizer/optimizer.h"

namespace tessera {

class MomentumOptimizer : public ValueOptimizer {
 public:
  MomentumOptimizer(float momentum, float l2) : momentum_(momentum), l2_(l2) {}

  size_t StateFloats(size_t count) const override { return count; }
  void InitialState(absl::Span<float> state) const override;
  StepFactors Prepare(double learning_rate, uint64_t step) const override;
  void Apply(const StepFactors& factors, float scale, absl::Span<const float> sums, absl::Span<float> state,
             absl::Span<float> values) const override;

 private:
  const float momentum_;
  const float l2_;
};

}  // namespace tessera
