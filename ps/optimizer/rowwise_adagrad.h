// Adagrad with one accumulator for all values handed in, a row's run of them:
//   g += l2 * w;  a += mean(g * g);  w -= rate * g / (sqrt(a) + epsilon). State: a.
#pragma once

#include "ps/optimizer/optimizer.h"

namespace tessera {

class RowwiseAdagradOptimizer : public ValueOptimizer {
 public:
  RowwiseAdagradOptimizer(float initial_accumulator, float epsilon, float l2)
      : initial_accumulator_(initial_accumulator), epsilon_(epsilon), l2_(l2) {}

  size_t StateFloats(size_t) const override { return 1; }
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
