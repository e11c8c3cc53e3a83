// Adagrad (Duchi, Hazan, Singer 2011): g += l2 * w; a += g * g; w -= rate * g / (sqrt(a) + epsilon). State: a.
// Row-wise it has one accumulator for all values handed in, a row's run of them: a += mean(g * g).
#include "ps/optimizer/optimizers.h"

namespace tessera {
namespace {

struct AdagradConstants : PlainRule {
  float initial_accumulator;
  float epsilon;
  float l2;

  float Start() const { return initial_accumulator; }
};

struct AdagradRule : AdagradConstants {
  size_t StateFloats(size_t count) const { return count; }
  auto Kernel(const StepFactors& factors) const {
    return [rate = factors.rate, epsilon = epsilon, l2 = l2](float sum, float& value, float& accumulator) {
      const float gradient = sum + l2 * value;
      const float total = accumulator + gradient * gradient;
      accumulator = total;
      value -= rate * gradient / (std::sqrt(total) + epsilon);
    };
  }
};

struct RowwiseAdagradRule : AdagradConstants {
  size_t StateFloats(size_t) const { return 1; }
  void UpdateRow(const StepFactors& factors, float scale, size_t count, const float* __restrict sum, float* __restrict state,
                 float* __restrict value) const {
    const float rate = factors.rate;
    const float l2 = this->l2;
    float squares = 0;  // in order: the same bits whatever the vector width
    for (size_t i = 0; i < count; ++i) {
      const float gradient = sum[i] * scale + l2 * value[i];
      squares += gradient * gradient;
    }
    state[0] += squares / static_cast<float>(count);
    const float root = std::sqrt(state[0]) + epsilon;
#pragma omp simd
    for (size_t i = 0; i < count; ++i) value[i] -= rate * (sum[i] * scale + l2 * value[i]) / root;
  }
};

// `spec` is a message of either kind.
template <class Rule, class Spec>
OptimizerOr MakeEitherAdagrad(const Spec& spec, Constants constants) {
  Rule rule;
  rule.initial_accumulator = constants.NotNegative("initial_accumulator", spec.initial_accumulator());
  rule.epsilon = constants.Positive("epsilon", spec.has_epsilon() ? spec.epsilon() : 1e-10);
  rule.l2 = constants.NotNegative("l2", spec.l2());
  return constants.Make(rule);
}

}  // namespace

OptimizerOr MakeAdagrad(const Adagrad& spec, Constants constants) { return MakeEitherAdagrad<AdagradRule>(spec, std::move(constants)); }

OptimizerOr MakeRowwiseAdagrad(const RowwiseAdagrad& spec, Constants constants) {
  return MakeEitherAdagrad<RowwiseAdagradRule>(spec, std::move(constants));
}

}  // namespace tessera
