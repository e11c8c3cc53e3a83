// bench_store [ROWS [PAIRS]]: batched reads of rows in memory, against absl::flat_hash_map over a slab, with prefetch by hand and without.
#include <immintrin.h>

#include <array>
#include <cstring>

#include "common/heap.h"
#include "absl/container/flat_hash_map.h"
#include "ps/table/huge_buffer.h"
#include "tests/bench/bench_rows.h"

namespace tessera {
namespace {

// Read once by each run: together their rows are far larger than the caches.
constexpr size_t kBatches = 256;
// As far ahead as is best for it.
constexpr size_t kSlotsAhead = 12;
constexpr size_t kRowsAhead = 16;

struct Request {
  std::vector<uint64_t> ids;
  PartitionedIds grouped;
};

class RawStore {
 public:
  explicit RawStore(uint64_t rows) : slab_(rows * kRowFloats * sizeof(float)) { map_.reserve(rows); }

  void Put(uint64_t id, const float* values) {
    const auto [it, fresh] = map_.try_emplace(id, static_cast<uint32_t>(map_.size()));
    if (fresh) std::memcpy(Row(it->second), values, kDim * sizeof(float));
  }
  void ReadNaive(absl::Span<const uint64_t> ids, float* out) const {
    for (size_t i = 0; i < ids.size(); ++i) std::memcpy(out + i * kDim, Row(map_.find(ids[i])->second), kDim * sizeof(float));
  }
  void ReadPrefetched(absl::Span<const uint64_t> ids, float* out) const {
    std::array<uint32_t, kBatchIds> rows;
    for (size_t i = 0; i < ids.size(); ++i) {
      if (i + kSlotsAhead < ids.size()) map_.prefetch(ids[i + kSlotsAhead]);
      rows[i] = map_.find(ids[i])->second;
    }
    for (size_t i = 0; i < ids.size(); ++i) {
      if (i + kRowsAhead < ids.size()) {
        const char* const row = reinterpret_cast<const char*>(Row(rows[i + kRowsAhead]));
        _mm_prefetch(row, _MM_HINT_T0);
        _mm_prefetch(row + 64, _MM_HINT_T0);
      }
      std::memcpy(out + i * kDim, Row(rows[i]), kDim * sizeof(float));
    }
  }

 private:
  float* Row(uint32_t row) const { return reinterpret_cast<float*>(slab_.data()) + static_cast<size_t>(row) * kRowFloats; }

  absl::flat_hash_map<uint64_t, uint32_t> map_;
  HugeBuffer slab_;
};

class Bench {
 public:
  Bench(uint64_t rows, int pairs) : rows_(rows), pairs_(pairs), raw_(rows) {
    RandomSequence random(5);
    for (std::vector<Request>& requests : requests_) {
      for (size_t i = 0; i < kBatches; ++i) {
        std::vector<uint64_t> ids = BenchBatch(rows, &random);
        requests.push_back({ids, PartitionedIds(ids)});
      }
    }
  }

  void Run(const std::string& where, StateDb* db) {
    TieredOptions options;
    if (db != nullptr) options.memory_bytes_max = rows_ * 1024;
    TieredRowStore store(BenchLayout(), &pool_, db, options);
    Fill(&store);
    CheckSame(&store);
    for (int threads : {1, 2}) {
      const auto name = [&](const char* what) { return absl::StrCat(where, ", ", threads, " threads: ", what); };
      const double keys = threads * static_cast<double>(kBatches * kBatchIds) * 1e-6;
      const auto grouped_before = [&](int) { ReadAll(&store, threads, false); };
      const auto grouped_in_it = [&](int) { ReadAll(&store, threads, true); };
      const auto prefetched = [&](int) { ReadRaw(threads, true); };
      const auto naive = [&](int) { ReadRaw(threads, false); };
      Compare(name("grouped before, raw prefetches"), keys, "M ids", pairs_, grouped_before, prefetched);
      Compare(name("grouping counts, raw prefetches"), keys, "M ids", pairs_, grouped_in_it, prefetched);
      Compare(name("grouped before, raw naive"), keys, "M ids", pairs_, grouped_before, naive);
      Compare(name("grouping counts, raw naive"), keys, "M ids", pairs_, grouped_in_it, naive);
    }
  }

 private:
  void Fill(TieredRowStore* store) {
    constexpr uint64_t kStep = 1u << 16;
    std::vector<float> values(kStep * kDim);
    for (uint64_t begin = 0; begin < rows_; begin += kStep) {
      std::vector<uint64_t> ids;
      for (uint64_t row = begin; row < std::min(rows_, begin + kStep); ++row) ids.push_back(BenchId(row));
      Train(store, ids, begin / kStep + 1);
      Check(store->Read(PartitionedIds(ids), ids, UnknownRow::kInitial, values.data(), nullptr));
      for (size_t i = 0; i < ids.size(); ++i) raw_.Put(ids[i], &values[i * kDim]);
    }
  }
  // What is compared must do the same.
  void CheckSame(TieredRowStore* store) {
    std::vector<float> ours(kBatchIds * kDim), raw(kBatchIds * kDim);
    for (const Request& request : requests_[0]) {
      Check(store->Read(request.grouped, request.ids, UnknownRow::kInitial, ours.data(), nullptr));
      raw_.ReadPrefetched(request.ids, raw.data());
      if (std::memcmp(ours.data(), raw.data(), ours.size() * sizeof(float)) != 0) Check(absl::InternalError("ours and raw differ"));
    }
  }
  void ReadAll(TieredRowStore* store, int threads, bool group) {
    OnThreads(threads, [&](int t) {
      std::vector<float> values(kBatchIds * kDim);
      for (const Request& request : requests_[t]) {
        if (group) {
          Check(store->Read(PartitionedIds(request.ids), request.ids, UnknownRow::kInitial, values.data(), nullptr));
        } else {
          Check(store->Read(request.grouped, request.ids, UnknownRow::kInitial, values.data(), nullptr));
        }
      }
    });
  }
  void ReadRaw(int threads, bool prefetch) {
    OnThreads(threads, [&](int t) {
      std::vector<float> values(kBatchIds * kDim);
      for (const Request& request : requests_[t]) {
        prefetch ? raw_.ReadPrefetched(request.ids, values.data()) : raw_.ReadNaive(request.ids, values.data());
      }
    });
  }

  const uint64_t rows_;
  const int pairs_;
  ThreadPool pool_{1};
  RawStore raw_;
  std::array<std::vector<Request>, 2> requests_;
};

int Main(int argc, char** argv) {
  const uint64_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 4000000;
  Bench bench(rows, argc > 2 ? std::atoi(argv[2]) : 15);
  bench.Run("no database", nullptr);
  const BenchFolder folder(std::filesystem::temp_directory_path());
  const std::unique_ptr<StateDb> db = Check(StateDb::Create(folder / "db"));
  bench.Run("database below", db.get());
  return 0;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  tessera::KeepFreedMemory();  // as the server does
  return tessera::Main(argc, argv);
}
