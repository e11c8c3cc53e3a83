// 200 steps of every optimiser against implementations that are not ours: tests/data/optimizers/make_golden.py says which.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "ps/optimizer/optimizer.h"

namespace tessera {
namespace {

// Of the larger of the value and where it started: 200 steps in single precision add up some 1e-6.
constexpr double kTolerance = 1e-5;

struct GoldenCase {
  std::string name;
  double rate = 0;
  Optimizer optimizer;
  std::vector<double> start;
  std::vector<std::pair<uint64_t, std::vector<double>>> after;  // steps, values
};

struct Golden {
  std::vector<std::vector<float>> gradients;  // of each step
  std::vector<GoldenCase> cases;
};

std::vector<double> GoldenNumbers(absl::string_view text) {
  std::vector<double> numbers;
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    numbers.push_back(std::strtod(std::string(word).c_str(), nullptr));
  }
  return numbers;
}

Golden ReadGolden() {
  Golden golden;
  std::ifstream in(std::string(TESSERA_SOURCE_DIR) + "/tests/data/optimizers/golden.txt");
  for (std::string line; std::getline(in, line);) {
    const std::pair<std::string, std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    const auto& [what, rest] = words;
    if (what == "gradient") {
      const std::vector<double> numbers = GoldenNumbers(rest);
      golden.gradients.emplace_back(numbers.begin(), numbers.end());
    } else if (what == "case") {
      const std::pair<std::string, std::string> name_rate = absl::StrSplit(rest, ' ');
      GoldenCase& next = golden.cases.emplace_back();
      next.name = name_rate.first;
      next.rate = GoldenNumbers(name_rate.second).at(0);
    } else if (what == "optimizer") {
      EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(rest, &golden.cases.back().optimizer)) << rest;
    } else if (what == "start") {
      golden.cases.back().start = GoldenNumbers(rest);
    } else if (what == "after") {
      const std::vector<double> numbers = GoldenNumbers(rest);
      golden.cases.back().after.emplace_back(static_cast<uint64_t>(numbers.at(0)), std::vector<double>(numbers.begin() + 1, numbers.end()));
    }
  }
  return golden;
}

TEST(GoldenTest, CoversEveryOptimizer) {
  std::set<int> kinds;
  for (const GoldenCase& golden : ReadGolden().cases) kinds.insert(golden.optimizer.kind_case());
  EXPECT_EQ(static_cast<int>(kinds.size()), Optimizer::descriptor()->oneof_decl(0)->field_count());
}

TEST(GoldenTest, EveryOptimizerFollowsAnotherImplementationFor200Steps) {
  const Golden golden = ReadGolden();
  ASSERT_EQ(golden.gradients.size(), 200u);
  for (const GoldenCase& expected : golden.cases) {
    SCOPED_TRACE(expected.name);
    ASSERT_EQ(expected.after.size(), 3u);
    const auto optimizer = MakeOptimizer(expected.optimizer, "golden").value();
    std::vector<float> values(expected.start.begin(), expected.start.end());
    std::vector<float> state(optimizer->StateFloats(values.size()));
    optimizer->InitialState(absl::MakeSpan(state));
    uint64_t step = 0;
    for (const auto& [steps, numbers] : expected.after) {
      while (step < steps) {
        ++step;
        optimizer->Apply(optimizer->Prepare(expected.rate, step), 1, golden.gradients[step - 1], absl::MakeSpan(state), absl::MakeSpan(values));
      }
      ASSERT_EQ(numbers.size(), values.size());
      for (size_t i = 0; i < values.size(); ++i) {
        const double size = std::max(std::fabs(numbers[i]), std::fabs(expected.start[i]));
        EXPECT_NEAR(values[i], numbers[i], kTolerance * size) << "value " << i << " after " << steps << " steps";
      }
    }
  }
}

}  // namespace
}  // namespace tessera
