// Adam (Kingma, Ba 2015), lazy: moments change only where a gradient comes; bias correction by the step the update carries.
//   g += l2 * w;  w -= learning_rate * weight_decay * w (AdamW: Loshchilov, Hutter 2019)
//   m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g g;  w -= rate * (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon)
// State: all m, then all v.
#include "ps/optimizer/optimizers.h"

namespace tessera {
namespace {

struct AdamRule : PlainRule {
  double beta1;
  double beta2;
  float epsilon;
  float l2;
  double weight_decay;

  size_t StateFloats(size_t count) const { return 2 * count; }
  StepFactors Prepare(double learning_rate, uint64_t step) const {
    assert(step >= 1);
    const double t = static_cast<double>(step);
    return {static_cast<float>(learning_rate / (1 - std::pow(beta1, t))), static_cast<float>(1 / std::sqrt(1 - std::pow(beta2, t))),
            static_cast<float>(1 - learning_rate * weight_decay)};
  }
  auto Kernel(const StepFactors& factors) const {
    return [factors, epsilon = epsilon, l2 = l2, b1 = static_cast<float>(beta1), b2 = static_cast<float>(beta2),
            rest1 = static_cast<float>(1 - beta1),
            rest2 = static_cast<float>(1 - beta2)](float sum, float& value, float& first, float& second) {
      const float gradient = sum + l2 * value;
      const float m = b1 * first + rest1 * gradient;
      const float v = b2 * second + rest2 * gradient * gradient;
      first = m;
      second = v;
      value = value * factors.keep - factors.rate * m / (std::sqrt(v) * factors.second_scale + epsilon);
    };
  }
};

// `with` is a message of either kind.
template <class Spec>
AdamRule AdamRuleOf(const Spec& with, Constants* constants) {
  AdamRule rule = {};
  rule.beta1 = constants->BelowOne("beta1", with.has_beta1() ? with.beta1() : 0.9);
  rule.beta2 = constants->BelowOne("beta2", with.has_beta2() ? with.beta2() : 0.999);
  rule.epsilon = constants->Positive("epsilon", with.has_epsilon() ? with.epsilon() : 1e-8);
  return rule;
}

}  // namespace

OptimizerOr MakeAdam(const Adam& spec, Constants constants) {
  AdamRule rule = AdamRuleOf(spec, &constants);
  rule.l2 = constants.NotNegative("l2", spec.l2());
  return constants.Make(rule);
}

OptimizerOr MakeAdamW(const AdamW& spec, Constants constants) {
  AdamRule rule = AdamRuleOf(spec, &constants);
  rule.weight_decay = spec.has_weight_decay() ? spec.weight_decay() : 0.01;
  constants.NotNegative("weight_decay", rule.weight_decay);
  return constants.Make(rule);
}

}  // namespace tessera
