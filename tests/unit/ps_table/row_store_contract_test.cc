// What every row store must do; each implementation runs the whole suite.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/ps_table/table_fixture.h"

namespace tessera {
namespace {

using ::testing::Each;

// A store and what it needs below.
struct Implementation {
  std::string name;
  bool on_disk;
  uint64_t memory_bytes;  // 0: no budget
  bool eager;             // everything is written back after every update, so that rows leave memory at once
  int threads;
};

class TestStore : public TieredRowStore {
 public:
  TestStore(std::shared_ptr<const RowLayout> layout, ThreadPool* pool, std::unique_ptr<StateDb> db, const TieredOptions& options, bool eager)
      : TieredRowStore(std::move(layout), pool, db.get(), options), eager_(eager), db_(std::move(db)) {}
  absl::Status Apply(const PreparedUpdate& update, const UpdateRule& rule) override {
    if (absl::Status status = TieredRowStore::Apply(update, rule); !status.ok() || !eager_) return status;
    return WriteAll(*this);
  }

 private:
  const bool eager_;
  const std::unique_ptr<StateDb> db_;
};

class RowStoreContract : public ::testing::TestWithParam<Implementation> {
 protected:
  std::unique_ptr<RowStore> Make(uint32_t embedding_dim, const Optimizer& optimizer) {
    std::unique_ptr<StateDb> db;
    if (GetParam().on_disk) db = StateDb::Create(folder_ / absl::StrCat("db", made_++)).value();
    TieredOptions options;
    options.memory_bytes_max = GetParam().memory_bytes;
    return std::make_unique<TestStore>(MakeLayout(embedding_dim, optimizer), &pool_, std::move(db), options, GetParam().eager);
  }
  TestFolder folder_{"row_store_contract"};
  int made_ = 0;
  ThreadPool pool_{GetParam().threads};
};

// Enough for many per partition, so that lookups run through whole blocks and their rests.
std::vector<uint64_t> ManyIds(size_t count, uint64_t salt) {
  std::vector<uint64_t> ids;
  for (size_t i = 0; i < count; ++i) ids.push_back(Mix64(salt * 1000003 + i));
  return ids;
}

TEST_P(RowStoreContract, AnUnknownIdReadsAsItsInitialValueOrAsZeros) {
  const auto store = Make(16, Adagrad());
  const std::vector<uint64_t> ids = ManyIds(3000, 1);
  const std::vector<float> values = ReadRows(*store, ids);
  std::vector<float> wanted(17);
  for (size_t i = 0; i < ids.size(); ++i) {
    store->layout().InitialValue(ids[i], wanted.data());
    ASSERT_EQ(std::memcmp(wanted.data(), &values[i * 17], 17 * sizeof(float)), 0) << "id " << i;
    ASSERT_EQ(values[i * 17], 0);      // first-order weight
    ASSERT_NE(values[i * 17 + 1], 0);  // embedding
  }
  EXPECT_THAT(ReadRows(*store, ids, UnknownRow::kZeros), Each(0.0f));
}

TEST_P(RowStoreContract, ReadingMakesNoRow) {
  const auto store = Make(3, Adagrad());
  ReadRows(*store, ManyIds(2000, 2));
  const PartitionCounts counts = store->CountRows();
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), uint64_t{0}), 0u);
}

TEST_P(RowStoreContract, AnUpdateChangesTheRowsItNamesAndNoOther) {
  const auto store = Make(1, Sgd());
  const TestGradients gradients({1, 2}, {10, 20, 30, 40});
  const std::vector<float> before = ReadRows(*store, {1, 2, 3});
  ASSERT_TRUE(store->Update({{gradients.View()}}, Rule(0.5, 1, 10)).ok());
  const std::vector<float> after = ReadRows(*store, {1, 2, 3});
  for (size_t i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(after[i], before[i] - 0.5f * gradients.sums[i] / 10);
  EXPECT_EQ(after[4], before[4]);
  EXPECT_EQ(after[5], before[5]);
  EXPECT_THAT(ReadRows(*store, {3}, UnknownRow::kZeros), Each(0.0f));
  EXPECT_NE(ReadRows(*store, {1}, UnknownRow::kZeros)[0], 0);
}

TEST_P(RowStoreContract, AnIdWithSeveralGradientsGetsOneUpdateWithTheirSum) {
  const auto store = Make(1, Adagrad());
  const auto once = Make(1, Adagrad());
  const TestGradients first({8, 9}, {1, 2, 3, 4}), second({9, 10}, {0.5f, 0.25f, 7, 8});
  ASSERT_TRUE(store->Update({first.View(), second.View()}, Rule(0.1, 1)).ok());
  const TestGradients sum({8, 9, 10}, {1, 2, 3.5f, 4.25f, 7, 8});
  ASSERT_TRUE(once->Update({{sum.View()}}, Rule(0.1, 1)).ok());
  EXPECT_EQ(ReadRows(*store, {8, 9, 10}), ReadRows(*once, {8, 9, 10}));
  // The same within one source.
  const auto twice = Make(1, Adagrad());
  const TestGradients repeated({9, 8, 9, 10}, {3, 4, 1, 2, 0.5f, 0.25f, 7, 8});
  ASSERT_TRUE(twice->Update({{repeated.View()}}, Rule(0.1, 1)).ok());
  EXPECT_EQ(ReadRows(*twice, {8, 9, 10}), ReadRows(*once, {8, 9, 10}));
}

TEST_P(RowStoreContract, SumsFollowTheOrderOfTheSources) {
  // In another order these floats have another sum.
  const std::vector<float> terms = {1e8f, 1.0f, -1e8f, 0.5f};
  const auto store = Make(1, Sgd());
  std::vector<TestGradients> sources;
  for (float term : terms) sources.emplace_back(std::vector<uint64_t>{5}, std::vector<float>{term, term});
  std::vector<RowGradients> views;
  for (const TestGradients& source : sources) views.push_back(source.View());
  ASSERT_TRUE(store->Update(views, Rule(1, 1)).ok());
  float sum = 0;
  for (float term : terms) sum += term;
  EXPECT_EQ(ReadRows(*store, {5})[0], -sum);
}

TEST_P(RowStoreContract, AnyOrderOfIdsGivesTheSameBits) {
  std::vector<uint64_t> ids = ManyIds(5000, 3);
  std::vector<float> sums(ids.size() * 4);
  for (size_t i = 0; i < sums.size(); ++i) sums[i] = std::sin(static_cast<float>(i));
  const auto store = Make(3, Adam());
  const TestGradients as_made(ids, sums);
  ASSERT_TRUE(store->Update({{as_made.View()}}, Rule(0.01, 1, 3)).ok());

  std::vector<size_t> order(ids.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return PartitionOf(ids[a]) < PartitionOf(ids[b]); });
  std::vector<uint64_t> sorted_ids;
  std::vector<float> sorted_sums;
  for (size_t i : order) {
    sorted_ids.push_back(ids[i]);
    sorted_sums.insert(sorted_sums.end(), sums.begin() + i * 4, sums.begin() + i * 4 + 4);
  }
  const auto other = Make(3, Adam());
  const TestGradients sorted(sorted_ids, sorted_sums);
  ASSERT_TRUE(other->Update({{sorted.View()}}, Rule(0.01, 1, 3)).ok());
  EXPECT_EQ(ReadRows(*store, ids), ReadRows(*other, ids));
  const std::vector<float> in_order = ReadRows(*store, sorted_ids), as_given = ReadRows(*store, ids);
  for (size_t i = 0; i < order.size(); ++i) ASSERT_EQ(in_order[i * 4 + 1], as_given[order[i] * 4 + 1]);
}

TEST_P(RowStoreContract, EveryIdMayBeUsed) {
  const auto store = Make(2, Sgd());
  const uint64_t top = std::numeric_limits<uint64_t>::max();
  // The id whose hash is 0, and one whose low 32 bits are: values a table might keep for itself.
  const std::vector<uint64_t> ids = {0, 1, top, top - 1, 1ull << 63, 0x9e3779b97f4a7c15ull, 0 - 0x9e3779b97f4a7c15ull};
  std::vector<float> sums(ids.size() * 3);
  std::iota(sums.begin(), sums.end(), 1.0f);
  const TestGradients gradients(ids, sums);
  const std::vector<float> before = ReadRows(*store, ids);
  ASSERT_TRUE(store->Update({{gradients.View()}}, Rule(1, 1)).ok());
  const std::vector<float> after = ReadRows(*store, ids);
  for (size_t i = 0; i < sums.size(); ++i) EXPECT_FLOAT_EQ(after[i], before[i] - sums[i]);
  const PartitionCounts counts = store->CountRows();
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), uint64_t{0}), ids.size());
}

TEST_P(RowStoreContract, EmptyBatchesAreNothing) {
  const auto store = Make(2, Sgd());
  EXPECT_TRUE(ReadRows(*store, {}).empty());
  EXPECT_TRUE(store->Update({}, Rule(1, 1)).ok());
  const TestGradients none({}, {});
  EXPECT_TRUE(store->Update({{none.View()}}, Rule(1, 1)).ok());
}

TEST_P(RowStoreContract, RowsOfAnySizeTrain) {
  for (uint32_t dim : {1u, 3u, 17u, 129u}) {
    for (const Optimizer& optimizer : {Sgd(), Adagrad(), Adam()}) {
      const auto store = Make(dim, optimizer);
      const std::vector<uint64_t> ids = ManyIds(1500, dim);
      const std::vector<float> before = ReadRows(*store, ids);
      const TestGradients gradients(ids, std::vector<float>(ids.size() * (dim + 1), 0.5f));
      for (uint64_t step = 1; step <= 3; ++step) ASSERT_TRUE(store->Update({{gradients.View()}}, Rule(0.125, step)).ok());
      const std::vector<float> after = ReadRows(*store, ids);
      for (size_t i = 0; i < after.size(); ++i) ASSERT_LT(after[i], before[i] - 0.1f) << "dim " << dim;
    }
  }
}

TEST_P(RowStoreContract, ALoadedRowReadsAsItWasAndIsLoadedOnce) {
  const auto store = Make(1, Adagrad());
  const std::vector<float> floats = {1, 2, 3, 4};
  SavedRow row;
  row.id = 77;
  row.floats = floats;
  ASSERT_TRUE(store->Load(row).ok());
  EXPECT_EQ(ReadRows(*store, {77}), (std::vector<float>{1, 2}));
  EXPECT_EQ(store->Load(row).code(), absl::StatusCode::kAlreadyExists);
  row.id = 78;
  row.floats = absl::MakeSpan(floats).subspan(0, 3);
  EXPECT_EQ(store->Load(row).code(), absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Stores, RowStoreContract,
                         ::testing::Values(Implementation{"Memory", false, 0, false, 1},
                                           Implementation{"MemoryOnThreeThreads", false, 0, false, 3},
                                           Implementation{"Tiered", true, 64u << 20, true, 1},
                                           // Two rows of a partition fit.
                                           Implementation{"TieredAndFull", true, 128u << 10, true, 3},
                                           Implementation{"TieredFullOfDirtyRows", true, 128u << 10, false, 1}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tessera
