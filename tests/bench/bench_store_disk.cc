// bench_store_disk [FOLDER [ROWS [CACHE_MIB [PAIRS]]]]: rows that are on disk only, and write-back, against RocksDB used by hand.
#include <cstring>

#include "absl/container/flat_hash_set.h"
#include "common/heap.h"
#include "ps/table/rocksdb_options.h"
#include "ps/table/shard_format.h"
#include "tests/bench/bench_rows.h"
#include "tests/bench/raw_rocksdb.h"
#include <rocksdb/write_batch.h>

namespace tessera {
namespace {

constexpr size_t kReadBatches = 24;
constexpr size_t kWrittenRows = 100000;

class DiskBench {
 public:
  DiskBench(const std::string& folder, uint64_t rows, uint64_t cache_bytes, int pairs)
      : folder_(folder), rows_(rows), cache_bytes_(cache_bytes), pairs_(pairs) {
    FillOurs();
    FillRaw();
    RandomSequence random(5);
    for (auto& batches : batches_) {
      for (size_t i = 0; i < kReadBatches; ++i) batches.push_back(BenchBatch(rows, &random));
    }
  }

  void CompareReads() {
    TieredOptions options;
    options.memory_bytes_max = 1;
    TieredRowStore store(BenchLayout(), &pool_, db_.get(), options);
    Check(store.Recover());
    CheckSame(&store);
    for (int threads : {1, 2}) {
      const double keys = threads * static_cast<double>(kReadBatches * kBatchIds) * 1e-6;
      const auto raw = [&](int) { OnThreads(threads, [&](int t) { ReadRaw(t); }); };
      const auto read = [&](int) {
        OnThreads(threads, [&](int t) {
          std::vector<float> values(kBatchIds * kDim);
          for (const std::vector<uint64_t>& ids : batches_[t]) {
            Check(store.Read(PartitionedIds(ids), ids, UnknownRow::kZeros, values.data(), nullptr));
          }
        });
      };
      const auto multi_get = [&](int) { OnThreads(threads, [&](int t) { MultiGet(t); }); };
      Compare(absl::StrCat(threads, " threads: Read, nothing in memory"), keys, "M ids", pairs_, read, raw);
      Compare(absl::StrCat(threads, " threads: StateDb::MultiGet"), keys, "M ids", pairs_, multi_get, raw);
    }
  }

  // In whatever order the rows came, and in the order of each one's keys, in which neighbours in a memory table are cheap.
  void CompareWrites(bool sorted) {
    TieredRowStore store(BenchLayout(), &pool_, db_.get(), TieredOptions());
    Check(store.Recover());
    std::vector<Cost> ours, raw;
    uint64_t written = 0;
    RandomSequence random(9);
    for (int pair = -1; pair < pairs_; ++pair) {
      std::vector<uint64_t> ids = DistinctIds(&random);
      std::vector<uint64_t> raw_ids = ids;
      if (sorted) {
        std::sort(ids.begin(), ids.end(), [](uint64_t a, uint64_t b) { return RowKey(a) < RowKey(b); });
        SortAsRawKeys(&raw_ids);
      }
      Train(&store, ids, ++pushes_);
      Cost our_cost, raw_cost;
      const auto write = [&] {
        written = Check(store.WriteBack(RowStore::kNothingDirty, RowStore::kNothingDirty, [](uint64_t) { return absl::OkStatus(); }));
      };
      if (pair % 2 == 0) our_cost = Measure(write);
      raw_cost = Measure([&] { WriteRaw(raw_ids); });
      if (pair % 2 != 0) our_cost = Measure(write);
      if (written != ids.size()) Check(absl::InternalError("not all rows were written"));
      if (pair >= 0) ours.push_back(our_cost), raw.push_back(raw_cost);
      // Outside of the measurement: what is in buffers is not counted for either.
      Check(db_->Flush());
      CheckRocks(raw_->Flush(rocksdb::FlushOptions()));
    }
    PrintPairs(absl::StrCat("write-back into memory tables, rows ", sorted ? "in the order of their keys" : "as they came"),
               static_cast<double>(written) * 1e-6, "M rows", ours, raw);
  }

 private:
  void FillOurs() {
    const StateDbOptions options{.memory_bytes = cache_bytes_};
    {
      const std::unique_ptr<StateDb> db = Check(StateDb::Create(folder_ / "ours", options));
      TieredOptions tiny;
      tiny.memory_bytes_max = 1;
      TieredRowStore store(BenchLayout(), &pool_, db.get(), tiny);
      for (uint64_t row = 0; row < rows_; ++row) Check(store.Load({BenchId(row), {}, FloatsOf(BenchId(row))}));
      Check(store.FinishLoad());
      Check(db->Flush());
    }
    CompactAll(OpenRaw(MakeDbOptions(cache_bytes_, MakeCache(cache_bytes_)), folder_ / "ours").get());
    db_ = Check(StateDb::Open(folder_ / "ours", options));
  }
  void FillRaw() {
    raw_ = OpenRaw(RawOptions(cache_bytes_), folder_ / "raw");
    std::vector<uint64_t> ids;
    for (uint64_t row = 0; row < rows_; ++row) {
      ids.push_back(BenchId(row));
      if (ids.size() == kBatchIds || row + 1 == rows_) WriteRaw(ids), ids.clear();
    }
    CheckRocks(raw_->Flush(rocksdb::FlushOptions()));
    CompactAll(raw_.get());
  }
  absl::Span<const float> FloatsOf(uint64_t id) {
    for (size_t i = 0; i < kRowFloats; ++i) floats_[i] = static_cast<float>(id >> 40) + static_cast<float>(i);
    return floats_;
  }
  std::vector<uint64_t> DistinctIds(RandomSequence* random) const {
    absl::flat_hash_set<uint64_t> rows;
    while (rows.size() < kWrittenRows) rows.insert(random->Below(rows_));
    std::vector<uint64_t> ids;
    for (uint64_t row : rows) ids.push_back(BenchId(row));
    return ids;
  }
  static void SortAsRawKeys(std::vector<uint64_t>* ids) {
    std::sort(ids->begin(), ids->end(), [](uint64_t a, uint64_t b) { return std::memcmp(&a, &b, sizeof a) < 0; });
  }
  void WriteRaw(const std::vector<uint64_t>& ids) {
    for (size_t begin = 0; begin < ids.size(); begin += kBatchIds) {
      rocksdb::WriteBatch batch;
      for (size_t i = begin; i < std::min(ids.size(), begin + kBatchIds); ++i) {
        const absl::Span<const float> floats = FloatsOf(ids[i]);
        batch.Put(BytesOf(ids[i]), rocksdb::Slice(reinterpret_cast<const char*>(floats.data()), sizeof floats_));
      }
      CheckRocks(raw_->Write(WithoutLog(), &batch));
    }
  }
  void CheckSame(TieredRowStore* store) {
    std::vector<float> values(kBatchIds * kDim);
    for (const std::vector<uint64_t>& ids : batches_[0]) {
      Check(store->Read(PartitionedIds(ids), ids, UnknownRow::kZeros, values.data(), nullptr));
      for (size_t i = 0; i < ids.size(); ++i) {
        if (std::memcmp(&values[i * kDim], FloatsOf(ids[i]).data(), kDim * sizeof(float)) != 0) Check(absl::InternalError("wrong row"));
      }
    }
  }
  void MultiGet(int t) {
    std::vector<float> out(kDim);
    std::string keys;
    for (std::vector<uint64_t> ids : batches_[t]) {
      std::sort(ids.begin(), ids.end(), [](uint64_t a, uint64_t b) { return RowKey(a) < RowKey(b); });
      keys.clear();
      for (uint64_t id : ids) keys += RowKey(id);
      size_t found = 0;
      Check(db_->MultiGet(keys.data(), kKeyBytes, ids.size(), [&](size_t, absl::string_view value) {
        std::memcpy(out.data(), value.data() + value.size() - sizeof floats_, kDim * sizeof(float));
        ++found;
        return absl::OkStatus();
      }));
      if (found != ids.size()) Check(absl::InternalError("rows are missing"));
    }
  }
  void ReadRaw(int t) {
    std::vector<rocksdb::Slice> keys(kBatchIds);
    std::vector<rocksdb::PinnableSlice> values(kBatchIds);
    std::vector<rocksdb::Status> statuses(kBatchIds);
    std::vector<float> out(kBatchIds * kDim);
    for (std::vector<uint64_t> ids : batches_[t]) {
      SortAsRawKeys(&ids);
      for (size_t i = 0; i < kBatchIds; ++i) keys[i] = BytesOf(ids[i]), values[i].Reset();
      raw_->MultiGet(rocksdb::ReadOptions(), raw_->DefaultColumnFamily(), kBatchIds, keys.data(), values.data(), statuses.data(), true);
      for (size_t i = 0; i < kBatchIds; ++i) {
        CheckRocks(statuses[i]);
        std::memcpy(&out[i * kDim], values[i].data(), kDim * sizeof(float));
      }
    }
  }

  const BenchFolder folder_;
  const uint64_t rows_;
  const uint64_t cache_bytes_;
  const int pairs_;
  ThreadPool pool_{1};
  float floats_[kRowFloats];
  uint64_t pushes_ = 0;
  std::unique_ptr<StateDb> db_;
  std::unique_ptr<rocksdb::DB> raw_;
  std::array<std::vector<std::vector<uint64_t>>, 2> batches_;
};

int Main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : std::filesystem::temp_directory_path().string();
  const uint64_t rows = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 2000000;
  const uint64_t cache_bytes = (argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1024) << 20;
  DiskBench bench(folder, rows, cache_bytes, argc > 4 ? std::atoi(argv[4]) : 7);
  bench.CompareReads();
  for (bool sorted : {false, true}) bench.CompareWrites(sorted);
  return 0;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  tessera::KeepFreedMemory();  // as the server does
  return tessera::Main(argc, argv);
}
