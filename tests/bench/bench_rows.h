// The table of the benchmarks: rows of 1 + 16 floats with Adagrad, so 17 + 17, and where their files go.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "ps/table/tiered_row_store.h"
#include "tests/bench/pairs.h"

namespace tessera {

inline constexpr size_t kDim = 17;
inline constexpr size_t kRowFloats = 2 * kDim;
inline constexpr size_t kBatchIds = 4096;

inline std::shared_ptr<const RowLayout> BenchLayout() {
  TableSpec table;
  table.set_name("rows");
  for (uint32_t dim : {1u, 16u}) {
    Segment* segment = table.add_segments();
    segment->set_name(absl::StrCat("segment ", dim));
    segment->set_dim(dim);
    segment->mutable_initializer()->set_normal_stddev(0.1f);
    segment->mutable_optimizer()->mutable_adagrad()->set_initial_accumulator(0.1);
  }
  return Check(RowLayout::Make(table, 7));
}

// Ids as a hash of raw features leaves them: anywhere in 64 bits.
inline uint64_t BenchId(uint64_t row) { return MixKey(1, row); }

// One gradient for each of `ids`, which makes the rows that are not there.
inline void Train(TieredRowStore* store, const std::vector<uint64_t>& ids, uint64_t lsn) {
  const PartitionedIds grouped(ids);
  std::vector<float> sums(ids.size() * kDim);
  for (size_t i = 0; i < sums.size(); ++i) sums[i] = UniformFloat(MixKey(lsn, i)) - 0.5f;
  UpdateRule rule;
  rule.learning_rate = 0.01;
  rule.step = rule.lsn = lsn;
  RowGradients gradients{};
  gradients.grouped = &grouped;
  gradients.ids = ids;
  gradients.sums = sums;
  Check(store->Update({&gradients, 1}, rule));
}

// A batch's ids in the order in which a worker sends them: by partition.
inline std::vector<uint64_t> BenchBatch(uint64_t rows, RandomSequence* random) {
  std::vector<uint64_t> ids(kBatchIds);
  for (uint64_t& id : ids) id = BenchId(random->Below(rows));
  std::stable_sort(ids.begin(), ids.end(), [](uint64_t a, uint64_t b) { return PartitionOf(a) < PartitionOf(b); });
  return ids;
}

inline void OnThreads(int threads, absl::FunctionRef<void(int)> body) {
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back([&, t] { body(t); });
  body(0);
  for (std::thread& thread : others) thread.join();
}

// A folder of this process below `parent`, removed at the end.
class BenchFolder {
 public:
  explicit BenchFolder(const std::string& parent) : path_(absl::StrCat(parent, "/tessera_bench_", ::getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~BenchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return absl::StrCat(path_, "/", name); }

 private:
  const std::string path_;
};

}  // namespace tessera
