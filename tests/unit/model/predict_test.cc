// A row's logit does not depend, to the bit, on the rows it is batched with.
#include <cmath>
#include <numeric>

#include "common/random.h"
#include "common/thread_pool.h"
#include "gtest/gtest.h"
#include "tests/unit/model/model_case.h"
#include "worker/compute/cpu/cpu_backend.h"

namespace tessera {
namespace {

std::vector<float> Predict(const ModelCase& c, const Batch& batch, int threads) {
  ThreadPool pool(threads);
  const auto backend = MakeCpuBackend(&pool);
  auto model = CtrModel::Create(c.plan, backend.get());
  EXPECT_TRUE(model.ok()) << model.status();
  const std::vector<float> rows = ValuesOf(c.plan, batch);
  std::vector<float> logits;
  EXPECT_TRUE((*model)->Predict(batch, {rows, c.dense}, &logits).ok());
  return logits;
}

// Rows of `c` in random order, `size` of them, compared with their logits in `want`.
void ExpectSameBits(const ModelCase& c, size_t size, const std::vector<float>& want) {
  RandomSequence random(size);
  std::vector<size_t> picked(size);
  for (size_t& i : picked) i = random.Below(c.batch.size());
  const std::vector<float> got = Predict(c, PickRows(c, picked), 1 + static_cast<int>(size % 3));
  ASSERT_EQ(got.size(), size);
  for (size_t k = 0; k < size; ++k) ASSERT_EQ(got[k], want[picked[k]]) << "row " << picked[k] << " at " << k << " of " << size;
}

TEST(PredictTest, LogitsEqualTheReferenceWithoutDropout) {
  for (bool runs : {false, true}) {
    for (const std::vector<uint32_t>& hidden : {std::vector<uint32_t>{}, {1}, {33, 8}}) {
      const ModelCase c = MakeCase({.rows = 70, .dense = 2, .hidden = hidden, .dropout = 0.5, .scaled = true, .runs = runs});
      const std::vector<float> got = Predict(c, c.batch, 2);
      for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], ReferenceLogit(c, i, nullptr), 1e-5) << i;
    }
  }
}

TEST(PredictTest, ARowsLogitDependsNeitherOnBatchSizeNorPositionNorNeighbours) {
  for (bool runs : {false, true}) {
    const ModelCase c = MakeCase({.rows = 16281, .fields = 5, .dense = 1, .dim = 5, .hidden = {33, 16}, .scaled = true, .runs = runs});
    const std::vector<float> want = Predict(c, c.batch, 1);
    for (size_t size : {1, 2, 17, 64, 65, 1000, 16281}) ExpectSameBits(c, size, want);
  }
}

TEST(PredictTest, TheSameHoldsForEveryShape) {
  for (bool runs : {false, true}) {
    for (uint32_t dim : {1, 2, 3, 5, 7, 10, 17, 50, 129}) {
      for (const std::vector<uint32_t>& hidden : {std::vector<uint32_t>{1}, {33}, {400, 1, 33}}) {
        const ModelCase c = MakeCase({.rows = 150, .dense = dim % 2, .dim = dim, .hidden = hidden, .runs = runs});
        const std::vector<float> want = Predict(c, c.batch, 1);
        for (size_t size : {1, 2, 17, 64, 65, 1000}) ExpectSameBits(c, size, want);
      }
    }
  }
}

}  // namespace
}  // namespace tessera
