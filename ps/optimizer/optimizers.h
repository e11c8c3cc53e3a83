// What the optimisers share: constants checked as they are used, and the one loop over values. For the .cc files of this folder, one
// optimiser each, with its formula at the top.
//
// An optimiser is a small struct, its rule: the constants; StateFloats; Start, what state begins with; Prepare; and Kernel(factors), a
// function (gradient sum, value[, first state[, second state]]) that updates one value, or else UpdateRow, which sees all of them.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"
#include "ps/optimizer/optimizer.h"

namespace tessera {

using OptimizerOr = absl::StatusOr<std::unique_ptr<ValueOptimizer>>;

// What most rules say.
struct PlainRule {
  float Start() const { return 0; }
  StepFactors Prepare(double learning_rate, uint64_t) const { return {static_cast<float>(learning_rate)}; }
  bool Rests(const StepFactors&) const { return false; }  // the step changes nothing
};

template <class Kernel>
void ForEachValue(const Kernel& kernel, float scale, size_t count, const float* __restrict sum, float* __restrict state,
                  float* __restrict value) {
  if constexpr (std::is_invocable_v<Kernel, float, float&>) {
#pragma omp simd
    for (size_t i = 0; i < count; ++i) kernel(sum[i] * scale, value[i]);
  } else if constexpr (std::is_invocable_v<Kernel, float, float&, float&>) {
#pragma omp simd
    for (size_t i = 0; i < count; ++i) kernel(sum[i] * scale, value[i], state[i]);
  } else {
    float* __restrict second = state + count;
#pragma omp simd
    for (size_t i = 0; i < count; ++i) kernel(sum[i] * scale, value[i], state[i], second[i]);
  }
}

template <class Rule>
class RuleOptimizer : public ValueOptimizer {
 public:
  explicit RuleOptimizer(const Rule& rule) : rule_(rule) {}
  size_t StateFloats(size_t count) const override { return rule_.StateFloats(count); }
  void InitialState(absl::Span<float> state) const override { std::fill(state.begin(), state.end(), rule_.Start()); }
  StepFactors Prepare(double learning_rate, uint64_t step) const override { return rule_.Prepare(learning_rate, step); }
  void Apply(const StepFactors& factors, float scale, absl::Span<const float> sums, absl::Span<float> state,
             absl::Span<float> values) const override {
    assert(sums.size() == values.size() && state.size() == StateFloats(values.size()));
    if (rule_.Rests(factors)) return;
    if constexpr (requires { rule_.Kernel(factors); }) {
      ForEachValue(rule_.Kernel(factors), scale, values.size(), sums.data(), state.data(), values.data());
    } else {
      rule_.UpdateRow(factors, scale, values.size(), sums.data(), state.data(), values.data());
    }
  }

 private:
  const Rule rule_;
};

// The constants of one optimiser's message. Of those that are out of range the first is told: "OWNER: KIND.NAME is X, must be ...".
class Constants {
 public:
  Constants(absl::string_view owner, absl::string_view kind) : owner_(owner), kind_(kind) {}
  float NotNegative(absl::string_view name, double value);
  float Positive(absl::string_view name, double value);
  double BelowOne(absl::string_view name, double value);  // in [0, 1)

  template <class Rule>
  OptimizerOr Make(const Rule& rule) const {
    if (!status_.ok()) return status_;
    return std::make_unique<RuleOptimizer<Rule>>(rule);
  }

 private:
  void Refuse(absl::string_view name, double value, absl::string_view range);

  const std::string owner_;
  const std::string kind_;
  absl::Status status_;
};

OptimizerOr MakeSgd(const Sgd& spec, Constants constants);
OptimizerOr MakeMomentum(const Momentum& spec, Constants constants);
OptimizerOr MakeAdagrad(const Adagrad& spec, Constants constants);
OptimizerOr MakeRowwiseAdagrad(const RowwiseAdagrad& spec, Constants constants);
OptimizerOr MakeAdam(const Adam& spec, Constants constants);
OptimizerOr MakeAdamW(const AdamW& spec, Constants constants);
OptimizerOr MakeFtrl(const Ftrl& spec, Constants constants);

}  // namespace tessera
