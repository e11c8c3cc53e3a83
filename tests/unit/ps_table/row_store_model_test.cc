// Random batches against a plain map with plain loops: values, rows and what a save holds must agree.
#include <cmath>
#include <unordered_map>

#include <gtest/gtest.h>

#include "ps/table/saved_shards.h"
#include "tests/unit/ps_table/table_fixture.h"

namespace tessera {
namespace {

struct ModelRow {
  std::vector<float> floats;
  uint64_t last_step = 0;
};

// The same arithmetic, one id after the other.
class ModelStore {
 public:
  explicit ModelStore(std::shared_ptr<const RowLayout> layout) : layout_(std::move(layout)) {}

  void Apply(const std::vector<TestGradients>& sources, const UpdateRule& rule) {
    const size_t dim = layout_->dim();
    std::unordered_map<uint64_t, std::vector<float>> sums;
    for (const TestGradients& source : sources) {
      for (size_t i = 0; i < source.ids.size(); ++i) {
        const float* gradient = &source.sums[i * dim];
        auto [it, fresh] = sums.try_emplace(source.ids[i], gradient, gradient + dim);
        for (size_t k = 0; k < dim && !fresh; ++k) it->second[k] += gradient[k];
      }
    }
    const RowLayout::Update update(*layout_, rule);
    for (const auto& [id, sum] : sums) {
      auto [it, fresh] = rows.try_emplace(id);
      if (fresh) {
        it->second.floats.resize(layout_->floats());
        layout_->InitialFloats(id, it->second.floats.data());
      }
      update.Apply(sum.data(), it->second.floats.data());
      it->second.last_step = rule.step;
    }
  }

  std::vector<float> Read(const std::vector<uint64_t>& ids, UnknownRow unknown) const {
    std::vector<float> values(ids.size() * layout_->dim());
    for (size_t i = 0; i < ids.size(); ++i) {
      float* out = &values[i * layout_->dim()];
      const auto it = rows.find(ids[i]);
      if (it != rows.end()) {
        std::copy_n(it->second.floats.begin(), layout_->dim(), out);
      } else if (unknown == UnknownRow::kInitial) {
        layout_->InitialValue(ids[i], out);
      }
    }
    return values;
  }

  std::unordered_map<uint64_t, ModelRow> rows;

 private:
  const std::shared_ptr<const RowLayout> layout_;
};

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
  std::vector<float> Gradients(size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = random_.Below(8) == 0 ? 0.0f : UniformFloat(random_.Next()) - 0.5f;
    return values;
  }
  uint64_t Below(uint64_t bound) { return random_.Below(bound); }

 private:
  RandomSequence random_;
};

class RowStoreModel : public ::testing::TestWithParam<uint64_t> {};

TEST_P(RowStoreModel, AgreesWithAPlainMap) {
  SCOPED_TRACE(absl::StrCat("seed ", GetParam()));
  RandomBatches random(GetParam());
  const uint32_t dims[] = {1, 3, 16, 129};
  const Optimizer optimizers[] = {Sgd(), Adagrad(), Adam()};
  const auto layout = MakeLayout(dims[random.Below(4)], optimizers[random.Below(3)]);
  ThreadPool pool(1 + static_cast<int>(random.Below(3)));
  MemoryRowStore store(layout, &pool);
  ModelStore model(layout);
  TestFolder folder(absl::StrCat("row_store_model_", GetParam()));
  auto db = StateDb::Create(folder / "db").value();
  for (uint64_t step = 1; step <= 25; ++step) {
    std::vector<TestGradients> sources;
    for (uint64_t i = random.Below(4); i > 0; --i) {
      std::vector<uint64_t> ids = random.Ids(random.Below(2) == 0 ? 60 : 2500);
      std::vector<float> sums = random.Gradients(ids.size() * layout->dim());
      sources.emplace_back(std::move(ids), std::move(sums));
    }
    std::vector<RowGradients> views;
    for (const TestGradients& source : sources) views.push_back(source.View());
    const UpdateRule rule = Rule(0.05, step, 1.0 + static_cast<double>(random.Below(5)));
    ASSERT_TRUE(store.Apply(views, rule).ok());
    model.Apply(sources, rule);
    const std::vector<uint64_t> ids = random.Ids(3000);
    const UnknownRow unknown = random.Below(2) == 0 ? UnknownRow::kInitial : UnknownRow::kZeros;
    ASSERT_EQ(ReadRows(store, ids, unknown), model.Read(ids, unknown)) << "step " << step;
    if (random.Below(5) == 0) {
      ASSERT_TRUE(store.WriteBack(db.get()).ok());
    }
  }

  // Whatever was written when, a save holds exactly the model's rows.
  ASSERT_TRUE(store.WriteBack(db.get()).ok());
  ASSERT_TRUE(db->Checkpoint(folder / "saved").ok());
  const auto saved = SavedState::Open(folder / "saved").value();
  size_t rows = 0;
  std::vector<float> floats;
  const absl::Status status = saved->ForEach(KeyBound(RecordKind::kRow, 0), KeyBound(RecordKind::kRow, kPartitions),
                                             [&](absl::string_view key, absl::string_view value) {
                                               SavedRow row;
                                               if (absl::Status s = DecodeRow(key, value, &floats, &row); !s.ok()) return s;
                                               const ModelRow& wanted = model.rows.at(row.id);
                                               EXPECT_EQ(floats, wanted.floats);
                                               EXPECT_EQ(row.header.last_step, wanted.last_step);
                                               EXPECT_EQ(row.header.lsn, wanted.last_step);
                                               ++rows;
                                               return absl::OkStatus();
                                             });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(rows, model.rows.size());
}

INSTANTIATE_TEST_SUITE_P(Seeds, RowStoreModel, ::testing::Range<uint64_t>(1, 9));

}  // namespace
}  // namespace tessera
