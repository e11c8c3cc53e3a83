#include "worker/model/step_bench.h"

#include "common/partition.h"
#include "common/thread_pool.h"
#include "gtest/gtest.h"
#include "worker/compute/cpu/cpu_backend.h"

namespace tessera {
namespace {

TEST(StepBenchTest, MeasuresAWholeStepBesideItsProducts) {
  ThreadPool pool(2);
  const auto backend = MakeCpuBackend(&pool);
  auto plan = StepBenchPlan();
  ASSERT_TRUE(plan.ok()) << plan.status();
  size_t variable_floats = 0;
  for (const VariableSpec& variable : plan->variables()) variable_floats += ElementCount(variable);
  std::vector<float> rows, dense(variable_floats, 0.001f);
  int pushes = 0;
  StepBenchStore store;
  store.pull = [&](const Batch& batch) -> absl::StatusOr<ModelValues> {
    rows.assign(batch.unique_ids.size() * RowDim(plan->table()), 0.01f);
    return ModelValues{rows, dense};
  };
  store.push = [&](const Batch& batch, const ModelGradients& gradients) {
    EXPECT_EQ(gradients.rows.size(), batch.unique_ids.size() * RowDim(plan->table()));
    EXPECT_EQ(FindNonFinite(*plan, batch, gradients), "");
    ++pushes;
    return absl::OkStatus();
  };
  auto result = RunStepBench(*plan, store, {.rows = 64, .pairs = 2}, backend.get());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->rows, 64u);
  EXPECT_EQ(pushes, 5);
  EXPECT_GT(result->unique_ids, 300u);
  EXPECT_GT(result->step_ms, 0);
  EXPECT_GT(result->products_ms, 0);
  store.push = [](const Batch&, const ModelGradients&) { return absl::UnavailableError("away"); };
  EXPECT_EQ(RunStepBench(*plan, store, {.rows = 8, .pairs = 1}, backend.get()).status().message(), "away");
}

}  // namespace
}  // namespace tessera
