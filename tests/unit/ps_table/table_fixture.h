// Tables, ids and folders for the tests of ps/table.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "common/thread_pool.h"
#include "ps/table/row_store.h"
#include "ps/table/tiered_row_store.h"

namespace tessera {

// A first-order weight that starts at 0 and an embedding that starts random, as DeepFM has them.
inline TableSpec MakeTable(uint32_t embedding_dim, const Optimizer& optimizer) {
  TableSpec table;
  table.set_name("rows");
  Segment* weight = table.add_segments();
  weight->set_name("weight");
  weight->set_dim(1);
  weight->mutable_initializer()->set_constant(0);
  *weight->mutable_optimizer() = optimizer;
  Segment* embedding = table.add_segments();
  embedding->set_name("embedding");
  embedding->set_dim(embedding_dim);
  embedding->mutable_initializer()->set_normal_stddev(0.1f);
  *embedding->mutable_optimizer() = optimizer;
  return table;
}

inline Optimizer Sgd() {
  Optimizer optimizer;
  optimizer.mutable_sgd();
  return optimizer;
}
inline Optimizer Adagrad() {
  Optimizer optimizer;
  optimizer.mutable_adagrad();
  return optimizer;
}
inline Optimizer Adam() {
  Optimizer optimizer;
  optimizer.mutable_adam();
  return optimizer;
}

inline std::shared_ptr<const RowLayout> MakeLayout(uint32_t embedding_dim, const Optimizer& optimizer, uint64_t seed = 7) {
  return RowLayout::Make(MakeTable(embedding_dim, optimizer), seed).value();
}

inline std::vector<float> ReadRows(RowStore& store, const std::vector<uint64_t>& ids, UnknownRow unknown = UnknownRow::kInitial) {
  std::vector<float> values(ids.size() * store.layout().dim(), -12345.0f);
  EXPECT_TRUE(store.Read(PartitionedIds(ids), ids, unknown, values.data(), nullptr).ok());
  return values;
}

// Gradients with the grouping they need.
struct TestGradients {
  TestGradients(std::vector<uint64_t> ids_in, std::vector<float> sums_in)
      : ids(std::move(ids_in)), sums(std::move(sums_in)), grouped(ids) {}
  RowGradients View() const { return {&grouped, ids, sums, {}, &sighted, sighted_ids, sighted_counts}; }
  // Seen without a gradient, twice each.
  void SetSighted(std::vector<uint64_t> ids_in) {
    sighted_ids = std::move(ids_in);
    sighted_counts.assign(sighted_ids.size(), 2);
    sighted = PartitionedIds(sighted_ids);
  }
  std::vector<uint64_t> ids;
  std::vector<float> sums;
  PartitionedIds grouped;
  std::vector<uint64_t> sighted_ids;
  std::vector<uint32_t> sighted_counts;
  PartitionedIds sighted;
};

// All rows and what is known of partitions, in a database.
inline absl::Status WriteAll(RowStore& store) {
  return store.WriteBack(RowStore::kNothingDirty, RowStore::kNothingDirty, [](uint64_t) { return absl::OkStatus(); }).status();
}

inline UpdateRule Rule(double rate, uint64_t step, double divisor = 1) {
  UpdateRule rule;
  rule.learning_rate = rate;
  rule.optimizer_step = step;
  rule.divisor = divisor;
  rule.step = step;
  rule.lsn = step;
  return rule;
}

// A fresh folder, removed at the end.
class TestFolder {
 public:
  explicit TestFolder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / absl::StrCat("tessera_", name, "_", ::getpid())) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  const std::filesystem::path path_;
};

}  // namespace tessera
