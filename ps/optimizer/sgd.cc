// Stochastic gradient descent: w -= rate * (g + l2 * w). No state.
#include "ps/optimizer/optimizers.h"

namespace tessera {
namespace {

struct SgdRule : PlainRule {
  float l2;

  size_t StateFloats(size_t) const { return 0; }
  auto Kernel(const StepFactors& factors) const {
    return [rate = factors.rate, l2 = l2](float sum, float& value) { value -= rate * (sum + l2 * value); };
  }
};

}  // namespace

OptimizerOr MakeSgd(const Sgd& spec, Constants constants) { return constants.Make(SgdRule{{}, constants.NotNegative("l2", spec.l2())}); }

}  // namespace tessera
