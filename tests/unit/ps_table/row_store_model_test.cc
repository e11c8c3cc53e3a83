// Random batches against a plain map with plain loops: values, headers, admission, eviction, accounting and what is on disk must agree,
// whatever is in memory. Each run is of at least 10^6 operations on rows; seeds are printed.
#include <gtest/gtest.h>

#include "ps/table/shard_format.h"
#include "tests/unit/ps_table/model_store.h"

namespace tessera {
namespace {

constexpr uint64_t kOperations = 1000000;

class RandomBatches {
 public:
  explicit RandomBatches(uint64_t seed) : random_(seed) {}
  // Ids from a small world, so that batches meet; in partition order in half of the cases.
  std::vector<uint64_t> Ids(size_t count_max) {
    std::vector<uint64_t> ids;
    const size_t count = random_.Below(count_max + 1);
    for (size_t i = 0; i < count; ++i) ids.push_back(Mix64(random_.Below(20000)));
    if (random_.Below(2) == 0) {
      std::stable_sort(ids.begin(), ids.end(), [](uint64_t a, uint64_t b) { return PartitionOf(a) < PartitionOf(b); });
    }
    return ids;
  }
  std::vector<float> Values(size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = random_.Below(8) == 0 ? 0.0f : UniformFloat(random_.Next()) - 0.5f;
    return values;
  }
  uint64_t Below(uint64_t bound) { return random_.Below(bound); }

 private:
  RandomSequence random_;
};

// Everything the seed decides.
struct Setting {
  std::shared_ptr<const RowLayout> layout;
  TieredOptions options;
  bool on_disk = false;
};

Setting MakeSetting(uint64_t seed, RandomBatches* random) {
  const uint32_t dims[] = {1, 3, 17, 129};
  const Optimizer optimizers[] = {Sgd(), Adagrad(), Adam()};
  Setting setting;
  setting.layout = MakeLayout(dims[seed % 4], optimizers[random->Below(3)]);
  setting.on_disk = seed % 4 != 0;
  // From room for a few rows of a partition to room for most.
  setting.options.memory_bytes_max = (uint64_t{1} << (18 + random->Below(4))) * (seed % 4 == 3 ? 8 : 1);
  setting.options.sighting_bytes = 1024;
  if (random->Below(2) == 0) setting.options.admit_at = static_cast<uint32_t>(2 + random->Below(3));
  if (random->Below(3) == 0) setting.options.eviction.unused_steps = 5 + random->Below(30);
  if (random->Below(3) == 0) setting.options.eviction.unused_periods = 1 + static_cast<uint32_t>(random->Below(2));
  if (random->Below(3) == 0) setting.options.eviction.partition_rows = 16 + random->Below(40);
  if (random->Below(4) == 0) setting.options.eviction.norm = 0.05f;
  return setting;
}

class RowStoreModel : public ::testing::TestWithParam<uint64_t> {
 protected:
  void Open(bool existing) {
    store_.reset();
    db_.reset();
    if (setting_.on_disk) db_ = existing ? StateDb::Open(folder_ / "db").value() : StateDb::Create(folder_ / "db").value();
    store_ = std::make_unique<TieredRowStore>(setting_.layout, &pool_, db_.get(), setting_.options);
  }

  void Step(uint64_t step) {
    std::vector<TestGradients> sources;
    for (uint64_t i = random_.Below(4); i > 0; --i) {
      std::vector<uint64_t> ids = random_.Ids(random_.Below(2) == 0 ? 60 : 2500);
      std::vector<float> sums = random_.Values(ids.size() * setting_.layout->dim());
      operations_ += ids.size();
      sources.emplace_back(std::move(ids), std::move(sums));
      if (random_.Below(2) == 0) sources.back().SetSighted(random_.Ids(200));
    }
    std::vector<RowGradients> views;
    for (const TestGradients& source : sources) views.push_back(source.View());
    UpdateRule rule = Rule(0.05, step, 1.0 + static_cast<double>(random_.Below(5)));
    rule.period = static_cast<uint32_t>(step / 12);
    const absl::Status status = store_->Update(views, rule);
    ASSERT_TRUE(status.ok()) << status;
    model_.Apply(sources, rule);
  }

  void Compare() {
    const std::vector<uint64_t> ids = random_.Ids(6000);
    operations_ += ids.size();
    const UnknownRow unknown = random_.Below(2) == 0 ? UnknownRow::kInitial : UnknownRow::kZeros;
    std::vector<float> values(ids.size() * setting_.layout->dim(), -1.0f);
    std::vector<uint8_t> absent, model_absent;
    ASSERT_TRUE(store_->Read(PartitionedIds(ids), ids, unknown, values.data(), &absent).ok());
    const std::vector<float> wanted = model_.Read(ids, unknown, &model_absent);
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(values[i], wanted[i]) << "id " << ids[i / setting_.layout->dim()] << ", value " << i % setting_.layout->dim() << ", row "
                                      << model_.rows.count(ids[i / setting_.layout->dim()]);
    }
    ASSERT_EQ(absent, model_absent);
  }

  void CompareAll() {
    uint64_t rows = 0;
    for (uint64_t count : store_->CountRows()) rows += count;
    ASSERT_EQ(rows, model_.rows.size());
    for (const auto& [id, wanted] : model_.rows) {
      const FoundRow row = store_->Get(id).value();
      ASSERT_TRUE(row.found) << id;
      ASSERT_EQ(row.floats, wanted.floats) << id;
      ASSERT_EQ(row.header.lsn, wanted.header.lsn) << id;
      ASSERT_EQ(row.header.last_step, wanted.header.last_step) << id;
      ASSERT_EQ(row.header.period, wanted.header.period) << id;
      ASSERT_EQ(row.header.show, wanted.header.show) << id;
    }
    const RowAccounting accounting = store_->accounting();
    EXPECT_EQ(accounting.inserted, rows + accounting.evicted + accounting.refused);
    EXPECT_EQ(accounting.evicted, model_.accounting.evicted);
    EXPECT_EQ(accounting.refused, model_.accounting.refused);
  }

  // All is written, the process ends, another one begins.
  void Restart(uint64_t step) {
    ASSERT_TRUE(WriteAll(*store_).ok());
    ASSERT_EQ(store_->OldestDirty(), RowStore::kNothingDirty);
    ASSERT_TRUE(db_->Flush().ok());
    const RowAccounting accounting = store_->accounting();
    const std::string sightings = store_->SightingBytes();
    const uint32_t period = store_->period();
    uint64_t digest = 0;
    for (const auto& [id, row] : model_.rows) digest += ContentHash(RowKey(id), row.floats);
    ASSERT_EQ(store_->ContentDigest(), digest);
    Open(/*existing=*/true);
    ASSERT_TRUE(store_->Recover().ok());
    ASSERT_EQ(store_->ContentDigest(), digest);
    store_->SetAccounting(accounting, step);
    store_->SetPeriod(period);
    for (uint32_t p = 0; p < kPartitions && !sightings.empty(); ++p) {
      const size_t bytes = setting_.options.sighting_bytes;
      ASSERT_TRUE(store_->LoadSightings(p, absl::string_view(sightings).substr(p * bytes, bytes)).ok());
    }
  }

  RandomBatches random_{GetParam()};
  const Setting setting_ = MakeSetting(GetParam(), &random_);
  ThreadPool pool_{1 + static_cast<int>(GetParam() % 3)};
  ModelStore model_{setting_.layout, setting_.options};
  TestFolder folder_{absl::StrCat("row_store_model_", GetParam())};
  std::unique_ptr<StateDb> db_;
  std::unique_ptr<TieredRowStore> store_;
  uint64_t operations_ = 0;
};

TEST_P(RowStoreModel, AgreesWithAPlainMap) {
  const EvictionRule& rule = setting_.options.eviction;
  SCOPED_TRACE(absl::StrCat("seed ", GetParam(), ": on disk ", setting_.on_disk, ", memory ", setting_.options.memory_bytes_max,
                            ", admission at ", setting_.options.admit_at, ", eviction ", rule.unused_steps, " steps ", rule.unused_periods,
                            " periods ", rule.partition_rows, " rows, norm ", rule.norm));
  Open(/*existing=*/false);
  const uint64_t wanted = kOperations / (setting_.layout->dim() > 100 ? 4 : 1);
  for (uint64_t step = 1; operations_ < wanted; ++step) {
    SCOPED_TRACE(absl::StrCat("step ", step));
    ASSERT_NO_FATAL_FAILURE(Step(step));
    ASSERT_NO_FATAL_FAILURE(Compare());
    if (random_.Below(3) == 0) {
      const uint64_t rows = random_.Below(2) == 0 ? 1000 : RowStore::kNothingDirty;
      const bool fails = random_.Below(4) == 0;
      const auto before = [&](uint64_t) { return fails ? absl::UnavailableError("") : absl::OkStatus(); };
      const uint64_t which = random_.Below(3), lsn = step - random_.Below(3);
      const absl::StatusOr<uint64_t> written = which == 0   ? store_->WriteBack(lsn, rows, before)
                                               : which == 1 ? store_->WriteLeaving(rows, before)
                                                            : store_->WriteCold(rows, before);
      ASSERT_TRUE(written.ok() || (fails && absl::IsUnavailable(written.status()))) << written.status();
    }
    if (random_.Below(40) == 0) {
      ASSERT_NO_FATAL_FAILURE(CompareAll());
    }
    if (setting_.on_disk && random_.Below(40) == 0) {
      ASSERT_NO_FATAL_FAILURE(Restart(step));
    }
  }
  ASSERT_NO_FATAL_FAILURE(CompareAll());
  std::printf("seed %llu: %llu operations, %zu rows\n", static_cast<unsigned long long>(GetParam()),
              static_cast<unsigned long long>(operations_), model_.rows.size());
}

INSTANTIATE_TEST_SUITE_P(Seeds, RowStoreModel, ::testing::Range<uint64_t>(1, 13));

}  // namespace
}  // namespace tessera
