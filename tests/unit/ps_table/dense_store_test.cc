#include "ps/table/dense_store.h"

#include <cmath>

#include <gmock/gmock.h>

#include "tests/unit/ps_table/table_fixture.h"

namespace tessera {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

VariableSpecs MakeVariables(const Optimizer& optimizer) {
  VariableSpecs variables;
  for (const auto& [name, count] : std::vector<std::pair<std::string, uint64_t>>{{"hidden", 40000}, {"bias", 3}, {"out", 1}}) {
    VariableSpec* variable = variables.Add();
    variable->set_name(name);
    variable->add_shape(count);
    variable->mutable_initializer()->set_normal_stddev(1);
    *variable->mutable_optimizer() = optimizer;
  }
  return variables;
}

std::unique_ptr<DenseStore> Make(const VariableSpecs& variables, ThreadPool* pool, uint32_t first = 0, uint32_t last = kPartitions) {
  return DenseStore::Make(variables, 7, first, last, pool).value();
}

std::vector<float> Read(DenseStore& store) {
  std::vector<float> values(store.floats());
  size_t begin = 0;
  for (uint32_t slice = 0; slice < store.slices(); begin += store.slice_floats(slice++)) store.Read(slice, values.data() + begin);
  EXPECT_EQ(begin, values.size());
  return values;
}

TEST(DenseStoreTest, ChunksStartWithTheElementsOfTheirVariable) {
  ThreadPool pool(1);
  const auto store = Make(MakeVariables(Sgd()), &pool);
  ASSERT_EQ(store->floats(), 40004u);
  ASSERT_EQ(store->chunks(), 5u);
  const std::vector<float> values = Read(*store);
  std::vector<float> wanted(40000);
  InitialValues({InitialDistribution::kNormal, 1.0f}, InitialKey(7, "hidden"), 0, absl::MakeSpan(wanted));
  EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), values.begin()));
  EXPECT_NE(values[40000], values[0]);  // a variable's numbers come from its name
}

TEST(DenseStoreTest, EveryChunkLivesOnOneOfTheServers) {
  ThreadPool pool(1);
  const VariableSpecs variables = MakeVariables(Sgd());
  for (uint32_t shards : {1u, 2u, 3u, 7u}) {
    size_t floats = 0;
    for (uint32_t s = 0; s < shards; ++s) {
      floats += Make(variables, &pool, PartitionBegin(s, shards), PartitionBegin(s + 1, shards))->floats();
    }
    EXPECT_EQ(floats, 40004u);
  }
}

TEST(DenseStoreTest, SourcesAreSummedInTheirOrderAndAppliedOnce) {
  ThreadPool pool(3);
  const auto store = Make(MakeVariables(Sgd()), &pool);
  const std::vector<float> before = Read(*store);
  const std::vector<float> a(40004, 1e8f), b(40004, 1.0f), c(40004, -1e8f);
  store->Apply(0, {a, b, c}, Rule(0.5, 1, 2));
  EXPECT_EQ(Read(*store), before);  // (1e8 + 1) - 1e8 is 0 in floats; in another order it is 1
  store->Apply(0, {{b}}, Rule(0.5, 2, 2));
  const std::vector<float> after = Read(*store);
  for (size_t i = 0; i < after.size(); ++i) ASSERT_FLOAT_EQ(after[i], before[i] - 0.25f);
  store->Apply(0, {}, Rule(0.5, 3));
  EXPECT_EQ(Read(*store), after);
}

TEST(DenseStoreTest, SlicesHold128ChunksAndAreUpdatedAlone) {
  ThreadPool pool(2);
  VariableSpecs variables = MakeVariables(Sgd());
  variables.Mutable(0)->clear_shape();
  variables.Mutable(0)->add_shape(uint64_t{200} * kDenseChunkFloats);
  const auto store = Make(variables, &pool);
  ASSERT_EQ(store->slices(), 2u);
  EXPECT_EQ(store->slice_floats(0), size_t{128} * kDenseChunkFloats);
  EXPECT_EQ(store->slice_floats(0) + store->slice_floats(1), store->floats());
  const std::vector<float> before = Read(*store);
  store->Apply(1, {std::vector<float>(store->slice_floats(1), 1.0f)}, Rule(0.5, 1));
  const std::vector<float> after = Read(*store);
  for (size_t i = 0; i < after.size(); ++i) ASSERT_FLOAT_EQ(after[i], before[i] - (i < store->slice_floats(0) ? 0.0f : 0.5f));
}

TEST(DenseStoreTest, ThreadsDoNotChangeABit) {
  ThreadPool one(1), three(3);
  const auto a = Make(MakeVariables(Adam()), &one), b = Make(MakeVariables(Adam()), &three);
  std::vector<float> gradient(40004);
  for (size_t i = 0; i < gradient.size(); ++i) gradient[i] = std::sin(static_cast<float>(i));
  for (uint64_t step = 1; step <= 3; ++step) {
    a->Apply(0, {{gradient}}, Rule(0.01, step, 3));
    b->Apply(0, {{gradient}}, Rule(0.01, step, 3));
  }
  EXPECT_EQ(Read(*a), Read(*b));
}

TEST(DenseStoreTest, SavedChunksComeBackWithTheirState) {
  ThreadPool pool(1);
  TestFolder folder("dense_store");
  const VariableSpecs variables = MakeVariables(Adam());
  const auto store = Make(variables, &pool);
  const std::vector<float> gradient(40004, 0.5f);
  store->Apply(0, {{gradient}}, Rule(0.01, 1));
  auto db = StateDb::Create(folder / "db").value();
  ASSERT_TRUE(store->WriteBack(db.get(), [](uint64_t) { return absl::OkStatus(); }).ok());
  ASSERT_TRUE(db->Checkpoint(folder / "saved").ok());

  const auto saved = StateDb::OpenForReading(folder / "saved").value();
  const auto restored = Make(variables, &pool);
  EXPECT_EQ(restored->CheckAllLoaded().code(), absl::StatusCode::kDataLoss);
  std::vector<float> floats;
  const auto load = [&](absl::string_view key, absl::string_view value) {
    SavedChunk chunk;
    if (absl::Status status = DecodeChunk(key, value, &floats, &chunk); !status.ok()) return status;
    return restored->Load(chunk);
  };
  ASSERT_TRUE(saved->ForEach(KeyBound(RecordKind::kChunk, 0), KeyBound(RecordKind::kChunk, kPartitions), load).ok());
  EXPECT_TRUE(restored->CheckAllLoaded().ok());
  EXPECT_EQ(Read(*restored), Read(*store));
  store->Apply(0, {{gradient}}, Rule(0.01, 2));
  restored->Apply(0, {{gradient}}, Rule(0.01, 2));
  EXPECT_EQ(Read(*restored), Read(*store));
  // Every chunk comes once.
  EXPECT_EQ(saved->ForEach(KeyBound(RecordKind::kChunk, 0), KeyBound(RecordKind::kChunk, kPartitions), load).code(),
            absl::StatusCode::kAlreadyExists);
}

TEST(DenseStoreTest, AChunkOfAnotherSizeOrPlaceIsRefused) {
  ThreadPool pool(1);
  const auto store = Make(MakeVariables(Sgd()), &pool);
  const std::vector<float> floats(3);
  SavedChunk chunk;
  chunk.variable = 1;
  chunk.partition = DenseChunks(MakeVariables(Sgd()))[3].partition;
  chunk.size = 2;
  chunk.floats = absl::MakeSpan(floats).subspan(0, 2);
  const absl::Status status = store->Load(chunk);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("chunk 0 of variable bias has 2 values"));
  chunk.number = 5;
  EXPECT_EQ(store->Load(chunk).code(), absl::StatusCode::kNotFound);
}

TEST(DenseStoreTest, NoVariablesAreFine) {
  ThreadPool pool(1);
  const auto store = Make(VariableSpecs(), &pool);
  EXPECT_EQ(store->floats(), 0u);
  store->Apply(0, {}, Rule(1, 1));
  EXPECT_TRUE(store->CheckAllLoaded().ok());
}

}  // namespace
}  // namespace tessera
