// FTRL-Proximal (McMahan et al. 2013), rate = alpha:
//   n' = n + g * g;  z += g - (sqrt(n') - sqrt(n)) / rate * w;  n = n'
//   w = 0 where |z| <= l1, else -(z - sign(z) l1) / ((beta + sqrt(n)) / rate + l2)
// A value starts where its initializer puts it, not at 0: while n is 0, z is taken to be what makes the last line give that value, so a
// gradient of 0 keeps it. From 0 this is the paper. State: all z, then all n.
#pragma once

#include "ps/optimizer/optimizer.h"

namespace tessera {

class FtrlOptimizer : public ValueOptimizer {
 public:
  // REQUIRES: beta, l1, l2 >= 0.
  FtrlOptimizer(float beta, float l1, float l2) : beta_(beta), l1_(l1), l2_(l2) {}

  size_t StateFloats(size_t count) const override { return 2 * count; }
  void InitialState(absl::Span<float> state) const override;
  StepFactors Prepare(double learning_rate, uint64_t step) const override;
  void Apply(const StepFactors& factors, float scale, absl::Span<const float> sums, absl::Span<float> state,
             absl::Span<float> values) const override;

 private:
  const float beta_;
  const float l1_;
  const float l2_;
};

}  // namespace tessera
