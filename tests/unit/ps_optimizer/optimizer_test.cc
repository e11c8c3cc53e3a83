#include "ps/optimizer/optimizer.h"

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "tests/unit/ps_optimizer/every_optimizer.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

// An optimiser by its text, such as "adam {}".
Optimizer Spec(const std::string& text) {
  Optimizer spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << text;
  return spec;
}

// Values and state of one optimiser, changed by one call per step.
struct Trained {
  explicit Trained(const Optimizer& spec, std::vector<float> start) : values(std::move(start)) {
    optimizer = MakeOptimizer(spec, "test").value();
    state.resize(optimizer->StateFloats(values.size()));
    optimizer->InitialState(absl::MakeSpan(state));
  }
  void Step(double rate, uint64_t step, const std::vector<float>& sums, float scale = 1) {
    optimizer->Apply(optimizer->Prepare(rate, step), scale, sums, absl::MakeSpan(state), absl::MakeSpan(values));
  }
  std::unique_ptr<ValueOptimizer> optimizer;
  std::vector<float> values;
  std::vector<float> state;
};

TEST(SgdTest, SubtractsRateTimesGradient) {
  Trained t(Spec("sgd {}"), {1.0f, -2.0f});
  t.Step(0.5, 1, {2.0f, 4.0f}, 0.25f);
  EXPECT_EQ(t.values[0], 0.75f);  // 1 - 0.5 * 2 / 4
  EXPECT_EQ(t.values[1], -2.5f);
  EXPECT_TRUE(t.state.empty());
}

TEST(AdagradTest, FollowsTheNumbersWorkedOutByHand) {
  Trained t(Spec("adagrad {}"), {1.0f});
  t.Step(0.1, 1, {3.0f});
  EXPECT_FLOAT_EQ(t.state[0], 9.0f);
  EXPECT_FLOAT_EQ(t.values[0], 0.9f);  // 3 / sqrt(9) = 1
  t.Step(0.1, 2, {4.0f});
  EXPECT_FLOAT_EQ(t.state[0], 25.0f);
  EXPECT_FLOAT_EQ(t.values[0], 0.82f);  // 4 / sqrt(25) = 0.8
}

TEST(AdagradTest, TheFirstGradientOfAnySizeMovesByTheRate) {
  Trained t(Spec("adagrad {}"), {0.0f, 0.0f, 0.0f});
  t.Step(0.02, 1, {1e-6f, -1.0f, 1e6f});
  EXPECT_NEAR(t.values[0], -0.02f, 1e-5f);  // epsilon 1e-10 is felt from 1e-6 on, in the fourth digit
  EXPECT_FLOAT_EQ(t.values[1], 0.02f);
  EXPECT_FLOAT_EQ(t.values[2], -0.02f);
}

TEST(AdagradTest, StartsAtTheInitialAccumulator) {
  Trained t(Spec("adagrad { initial_accumulator: 0.75 }"), {0.0f});
  EXPECT_EQ(t.state[0], 0.75f);
  t.Step(1, 1, {0.5f});
  EXPECT_FLOAT_EQ(t.values[0], -0.5f);  // 0.5 / sqrt(0.75 + 0.25)
}

TEST(AdagradTest, EpsilonIsAddedToTheRoot) {
  Trained t(Spec("adagrad { epsilon: 1 }"), {0.0f});
  t.Step(1, 1, {3.0f});
  EXPECT_FLOAT_EQ(t.values[0], -0.75f);  // 3 / (3 + 1)
}

TEST(AdamTest, FollowsTheNumbersWorkedOutByHand) {
  Trained t(Spec("adam {}"), {1.0f});
  t.Step(0.001, 1, {2.0f});
  // m = 0.2, v = 0.004; corrected 2 and 4: the step is 0.001 * 2 / (2 + 1e-8).
  EXPECT_FLOAT_EQ(t.state[0], 0.2f);
  EXPECT_FLOAT_EQ(t.state[1], 0.004f);
  EXPECT_FLOAT_EQ(t.values[0], 0.999f);
  t.Step(0.001, 2, {-1.0f});
  // m = 0.18 - 0.1 = 0.08 -> / 0.19; v = 0.003996 + 0.001 = 0.004996 -> / 0.001999.
  EXPECT_FLOAT_EQ(t.state[0], 0.08f);
  EXPECT_FLOAT_EQ(t.state[1], 0.004996f);
  const double moved = 0.001 * (0.08 / 0.19) / (std::sqrt(0.004996 / 0.001999) + 1e-8);
  EXPECT_FLOAT_EQ(t.values[0], static_cast<float>(0.999 - moved));
}

TEST(AdamTest, CorrectsBiasByTheStepItIsGiven) {
  Trained t(Spec("adam {}"), {0.0f});
  t.Step(0.001, 1000, {1.0f});
  // First touch at step 1000: m / (1 - 0.9^1000) = 0.1, v / (1 - 0.999^1000) = 0.001 / 0.632305.
  const double v = 0.001 / (1 - std::pow(0.999, 1000));
  EXPECT_NEAR(t.values[0], -0.001 * 0.1 / (std::sqrt(v) + 1e-8), 1e-9);
}

TEST(AdamTest, KeepsAllFirstMomentsBeforeAllSecondOnes) {
  Trained t(Spec("adam {}"), {0.0f, 0.0f});
  t.Step(0.001, 1, {1.0f, 10.0f});
  EXPECT_FLOAT_EQ(t.state[0], 0.1f);
  EXPECT_FLOAT_EQ(t.state[1], 1.0f);
  EXPECT_FLOAT_EQ(t.state[2], 0.001f);
  EXPECT_FLOAT_EQ(t.state[3], 0.1f);
}

class AnyOptimizer : public ::testing::TestWithParam<Optimizer> {};

TEST_P(AnyOptimizer, ChangesNothingForAZeroGradientOnUntouchedState) {
  Trained t(GetParam(), {0.5f, -0.0f, 3e-20f});
  const Trained before(GetParam(), t.values);
  t.Step(0.1, 1, {0.0f, 0.0f, -0.0f});
  EXPECT_EQ(std::memcmp(t.values.data(), before.values.data(), sizeof(float) * 3), 0);
  for (float s : t.state) EXPECT_TRUE(std::isfinite(s));
}

// All but row-wise Adagrad, where a value's step depends on its row.
class ElementwiseOptimizer : public AnyOptimizer {};

TEST_P(ElementwiseOptimizer, GivesAValueTheSameBitsWhereverItStands) {
  constexpr size_t kCount = 67;  // whole vectors and a rest
  std::vector<float> start, sums;
  for (size_t i = 0; i < kCount; ++i) {
    start.push_back(0.01f * static_cast<float>(i) - 0.3f);
    sums.push_back(std::sin(static_cast<float>(i)) * 3.7f);
  }
  Trained together(GetParam(), start);
  std::vector<Trained> alone;
  for (size_t i = 0; i < kCount; ++i) alone.emplace_back(GetParam(), std::vector<float>{start[i]});
  for (uint64_t step = 1; step <= 5; ++step) {
    together.Step(0.013, step, sums, 1.0f / 3);
    for (size_t i = 0; i < kCount; ++i) {
      alone[i].Step(0.013, step, {sums[i]}, 1.0f / 3);
      ASSERT_EQ(together.values[i], alone[i].values[0]) << "value " << i << ", step " << step;
    }
  }
}

TEST_P(AnyOptimizer, ScalesTheSumsBeforeAllElse) {
  Trained scaled(GetParam(), {0.1f, 0.2f}), divided(GetParam(), {0.1f, 0.2f});
  scaled.Step(0.1, 1, {8.0f, -12.0f}, 0.25f);
  divided.Step(0.1, 1, {2.0f, -3.0f});
  EXPECT_EQ(scaled.values, divided.values);
  EXPECT_EQ(scaled.state, divided.state);
}

std::vector<Optimizer> Optimizers(bool elementwise) {
  std::vector<Optimizer> all = EveryOptimizer();
  for (Optimizer& spec : all) {
    if (spec.has_adamw()) spec.mutable_adamw()->set_weight_decay(0);  // decay moves a value without a gradient
  }
  if (elementwise) std::erase_if(all, [](const Optimizer& spec) { return spec.has_rowwise_adagrad(); });
  return all;
}
std::string KindOf(const ::testing::TestParamInfo<Optimizer>& info) { return NameOf(info.param); }
INSTANTIATE_TEST_SUITE_P(All, AnyOptimizer, ::testing::ValuesIn(Optimizers(false)), KindOf);
INSTANTIATE_TEST_SUITE_P(All, ElementwiseOptimizer, ::testing::ValuesIn(Optimizers(true)), KindOf);

TEST(MomentumTest, FollowsTheNumbersWorkedOutByHand) {
  Trained t(Spec("momentum {}"), {1.0f});
  t.Step(0.1, 1, {2.0f});
  EXPECT_FLOAT_EQ(t.values[0], 0.8f);
  t.Step(0.1, 2, {1.0f});  // b = 0.9 * 2 + 1 = 2.8
  EXPECT_FLOAT_EQ(t.values[0], 0.52f);
}

TEST(RowwiseAdagradTest, FollowsTheNumbersWorkedOutByHand) {
  Trained t(Spec("rowwise_adagrad {}"), {0.0f, 1.0f});
  ASSERT_EQ(t.state.size(), 1u);
  t.Step(0.1, 1, {1.0f, 7.0f});  // a = (1 + 49) / 2 = 25
  EXPECT_FLOAT_EQ(t.values[0], -0.02f);
  EXPECT_FLOAT_EQ(t.values[1], 0.86f);
  t.Step(0.1, 2, {12.0f, -12.0f});  // a = 25 + 144 = 169
  EXPECT_FLOAT_EQ(t.state[0], 169.0f);
  EXPECT_FLOAT_EQ(t.values[0], -0.02f - 1.2f / 13);
}

TEST(AdamWTest, DecaysTheValueByTheLearningRateTimesTheDecay) {
  Trained t(Spec("adamw { weight_decay: 0.5 }"), {1.0f});
  t.Step(0.1, 1, {2.0f});  // 1 * (1 - 0.05) - 0.1 * 2 / 2
  EXPECT_FLOAT_EQ(t.values[0], 0.85f);
}

TEST(FtrlTest, FollowsTheNumbersWorkedOutByHand) {
  Trained t(Spec("ftrl { l1: 1 }"), {0.0f, 0.0f});
  t.Step(0.5, 1, {3.0f, 0.5f});  // z = 3, n = 9: -(3 - 1) / ((1 + 3) / 0.5); the other stays within l1
  EXPECT_FLOAT_EQ(t.values[0], -0.25f);
  EXPECT_EQ(t.values[1], 0.0f);
  t.Step(0.5, 2, {4.0f, 0.0f});  // n = 25, sigma = 2 / 0.5: z = 3 + 4 + 4 * 0.25 = 8; -(8 - 1) / (6 / 0.5)
  EXPECT_FLOAT_EQ(t.values[0], -7.0f / 12);
}

TEST(L2Test, AddsToTheGradientOncePerStep) {
  Trained s(Spec("sgd { l2: 0.5 }"), {2.0f}), a(Spec("adagrad { l2: 0.5 }"), {2.0f});
  s.Step(0.1, 1, {3.0f});  // 3 + 0.5 * 2 = 4
  a.Step(0.1, 1, {3.0f});
  EXPECT_FLOAT_EQ(s.values[0], 1.6f);
  EXPECT_FLOAT_EQ(a.state[0], 16.0f);
}

TEST(MakeOptimizerTest, NamesTheOwnerAndWhatIsWrong) {
  const auto none = MakeOptimizer(Optimizer(), "table rows, segment embedding");
  EXPECT_EQ(none.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(none.status().message(), HasSubstr("table rows, segment embedding: has no optimizer"));

  const auto refused = [](const std::string& text) { return std::string(MakeOptimizer(Spec(text), "x").status().message()); };
  EXPECT_THAT(refused("adam { beta2: 1 }"), HasSubstr("x: adam.beta2 is 1, must be in [0, 1)"));
  EXPECT_THAT(refused("adam { beta1: -0.1 beta2: 1 }"), HasSubstr("adam.beta1 is -0.1")) << "the first";
  EXPECT_THAT(refused("adamw { weight_decay: -1 }"), HasSubstr("adamw.weight_decay is -1, must be 0 or more and fit a float"));
  EXPECT_THAT(refused("momentum { momentum: 1 }"), HasSubstr("momentum.momentum is 1, must be in [0, 1)"));
  EXPECT_THAT(refused("ftrl { l1: 1e60 }"), HasSubstr("ftrl.l1 is 1e+60"));
  EXPECT_THAT(refused("adagrad { initial_accumulator: -1 }"), HasSubstr("adagrad.initial_accumulator is -1"));
  EXPECT_THAT(refused("rowwise_adagrad { epsilon: inf }"), HasSubstr("rowwise_adagrad.epsilon is inf, must be above 0 and fit a float"));
  // 0 as a float: a first gradient of 0 would give 0 / 0
  EXPECT_THAT(refused("adagrad { epsilon: 1e-60 }"), HasSubstr("adagrad.epsilon"));
}

}  // namespace
}  // namespace tessera
