// DeepFM's losses and gradients against the plain reference in double.
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/partition.h"
#include "common/thread_pool.h"
#include "gtest/gtest.h"
#include "tests/unit/model/model_case.h"
#include "tests/unit/model/remote_backend.h"
#include "worker/compute/cpu/cpu_backend.h"

namespace tessera {
namespace {

constexpr StepKey kKey{.seed = 5, .step = 9, .first_row = uint64_t{3} << 32};

ModelGradients Train(const ModelCase& c, Backend* backend, const StepKey& key = kKey) {
  auto model = CtrModel::Create(c.plan, backend);
  EXPECT_TRUE(model.ok()) << model.status();
  ModelGradients gradients;
  EXPECT_TRUE((*model)->Train(c.batch, c.values(), key, &gradients).ok());
  return gradients;
}

std::vector<CaseOptions> Options() {
  std::vector<CaseOptions> all;
  for (bool runs : {false, true}) {
    for (bool scaled : {false, true}) {
      for (double dropout : {0.0, 0.4}) all.push_back({.rows = 9, .dense = 2, .dropout = dropout, .scaled = scaled, .runs = runs});
    }
    for (uint32_t dim : {1, 2, 3, 5, 7, 10, 17, 50, 129}) all.push_back({.rows = 4, .dim = dim, .hidden = {33, 1}, .runs = runs});
    all.push_back({.rows = 6, .dense = 3, .hidden = {}, .scaled = true, .runs = runs});
    all.push_back({.rows = 1, .fields = 1, .dim = 1, .hidden = {1}, .runs = runs});
  }
  all.push_back({.rows = 5, .fields = 0, .dense = 4, .dim = 3});
  return all;
}

// Central differences of the reference; ReLU has a kink, and a case that stands on one proves nothing.
void ExpectGradients(ModelCase c, const ModelGradients& got, const std::string& what) {
  double kink = 1;
  for (size_t i = 0; i < c.batch.size(); ++i) ReferenceLogit(c, i, &kKey, &kink);
  ASSERT_GT(kink, 1e-5) << what << ": choose another seed";
  EXPECT_NEAR(got.loss, ReferenceLoss(c, &kKey), 1e-5 * (1 + got.loss)) << what;
  struct Part {
    std::vector<float>* values;
    const std::vector<float>* gradients;
  };
  for (const Part& part : {Part{&c.rows, &got.rows}, Part{&c.dense, &got.dense}}) {
    ASSERT_EQ(part.values->size(), part.gradients->size()) << what;
    for (size_t k = 0; k < part.values->size(); k += 1 + part.values->size() / 300) {
      float& value = (*part.values)[k];
      const float start = value, step = 0x1.0p-22f * std::max(1.0f, std::abs(start));
      const float up = start + step, down = start - step;
      value = up;
      const double above = ReferenceLoss(c, &kKey);
      value = down;
      const double below = ReferenceLoss(c, &kKey);
      value = start;
      const double want = (above - below) / (double{up} - down);
      ASSERT_NEAR((*part.gradients)[k], want, 2e-5 * (1 + std::abs(want))) << what << ", element " << k;
    }
  }
}

TEST(DeepFmTest, GradientsEqualFiniteDifferences) {
  ThreadPool pool(2);
  const auto backend = MakeCpuBackend(&pool);
  int number = 0;
  for (const CaseOptions& options : Options()) {
    const ModelCase c = MakeCase(options);
    ExpectGradients(c, Train(c, backend.get()), absl::StrCat("case ", number++, ", dim ", options.dim));
  }
}

TEST(DeepFmTest, TheSameKeyDropsTheSameUnits) {
  ThreadPool pool(2);
  const auto backend = MakeCpuBackend(&pool);
  const ModelCase c = MakeCase({.rows = 20, .dropout = 0.5});
  const ModelGradients first = Train(c, backend.get());
  EXPECT_EQ(Train(c, backend.get()).dense, first.dense);
  for (const StepKey& other : {StepKey{6, 9, kKey.first_row}, StepKey{5, 10, kKey.first_row}, StepKey{5, 9, kKey.first_row + 1}}) {
    EXPECT_NE(Train(c, backend.get(), other).dense, first.dense);
  }
}

TEST(DeepFmTest, ABatchOfNoRowsHasZeroGradients) {
  ThreadPool pool(2);
  const auto backend = MakeCpuBackend(&pool);
  for (bool runs : {false, true}) {
    const ModelCase c = MakeCase({.rows = 0, .dense = 2, .runs = runs});
    const ModelGradients got = Train(c, backend.get());
    EXPECT_TRUE(got.rows.empty());
    EXPECT_EQ(got.dense, std::vector<float>(c.dense.size(), 0.0f));
    EXPECT_EQ(got.loss, 0);
  }
}

TEST(DeepFmTest, BitsDoNotDependOnTheNumberOfThreads) {
  for (bool runs : {false, true}) {
    const ModelCase c =
        MakeCase({.rows = 2500, .fields = 6, .dense = 3, .dim = 10, .hidden = {50, 33}, .dropout = 0.2, .scaled = true, .runs = runs});
    ThreadPool one(1);
    const ModelGradients want = Train(c, MakeCpuBackend(&one).get());
    for (int threads : {2, 3, 8}) {
      ThreadPool pool(threads);
      const ModelGradients got = Train(c, MakeCpuBackend(&pool).get());
      EXPECT_EQ(got.rows, want.rows) << threads;
      EXPECT_EQ(got.dense, want.dense) << threads;
      EXPECT_EQ(got.loss, want.loss) << threads;
    }
  }
}

TEST(DeepFmTest, ABackendWithMemoryOfItsOwnGivesTheSame) {
  ThreadPool pool(2);
  const auto cpu = MakeCpuBackend(&pool);
  RemoteBackend remote(cpu.get());
  auto model = CtrModel::Create(MakePlanFor({.dense = 2, .dropout = 0.3}), &remote);
  ASSERT_TRUE(model.ok());
  // One model, batches that grow and shrink: buffers are used again.
  for (uint32_t rows : {20, 300, 0, 7}) {
    for (bool runs : {false, true}) {
      const ModelCase c = MakeCase({.rows = rows, .dense = 2, .dropout = 0.3, .scaled = true, .runs = runs});
      ModelGradients got;
      ASSERT_TRUE((*model)->Train(c.batch, c.values(), kKey, &got).ok());
      const ModelGradients want = Train(c, cpu.get());
      EXPECT_EQ(got.rows, want.rows);
      EXPECT_EQ(got.dense, want.dense);
      EXPECT_EQ(got.loss, want.loss);
      auto direct = CtrModel::Create(c.plan, cpu.get());
      std::vector<float> logits, want_logits;
      ASSERT_TRUE((*model)->Predict(c.batch, c.values(), &logits).ok());
      ASSERT_TRUE((*direct)->Predict(c.batch, c.values(), &want_logits).ok());
      EXPECT_EQ(logits, want_logits);
    }
  }
}

TEST(DeepFmTest, ADeviceThatIsFullIsAnErrorAndSmallerBatchesStillWork) {
  ThreadPool pool(1);
  const auto cpu = MakeCpuBackend(&pool);
  RemoteBackend remote(cpu.get());
  const ModelCase large = MakeCase({.rows = 500}), small = MakeCase({.rows = 5});
  auto model = CtrModel::Create(small.plan, &remote);
  ModelGradients gradients;
  std::vector<float> logits;
  remote.set_allocation_max(4096);
  EXPECT_EQ((*model)->Train(large.batch, large.values(), kKey, &gradients).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ((*model)->Predict(large.batch, large.values(), &logits).code(), absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE((*model)->Train(small.batch, small.values(), kKey, &gradients).ok());
  EXPECT_EQ(gradients.dense, Train(small, cpu.get()).dense);
}

TEST(DeepFmTest, WrongSizesAreRefused) {
  ThreadPool pool(1);
  const auto backend = MakeCpuBackend(&pool);
  ModelCase c = MakeCase({});
  auto model = CtrModel::Create(c.plan, backend.get());
  ModelGradients gradients;
  c.rows.pop_back();
  EXPECT_EQ((*model)->Train(c.batch, c.values(), kKey, &gradients).code(), absl::StatusCode::kInvalidArgument);
  c = MakeCase({});
  c.dense.push_back(0);
  EXPECT_EQ((*model)->Train(c.batch, c.values(), kKey, &gradients).code(), absl::StatusCode::kInvalidArgument);
  c = MakeCase({.fields = 4});
  EXPECT_EQ((*model)->Train(c.batch, c.values(), kKey, &gradients).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera
