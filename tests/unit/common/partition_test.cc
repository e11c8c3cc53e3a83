#include "common/partition.h"

#include <initializer_list>
#include <vector>

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Which server holds a row follows from these: a change makes every checkpoint unreadable.
TEST(PartitionTest, PartitionsAreTheAgreedOnes) {
  EXPECT_EQ(PartitionOf(0), 226u);
  EXPECT_EQ(PartitionOf(1), 145u);
  EXPECT_EQ(PartitionOf(2), 151u);
  EXPECT_EQ(PartitionOf(~uint64_t{0}), 228u);
}

TEST(PartitionTest, IdsSpreadEvenly) {
  std::vector<int> counts(kPartitions);
  for (uint64_t id = 0; id < 256000; ++id) ++counts[PartitionOf(id)];
  for (int count : counts) EXPECT_NEAR(count, 1000, 160);  // five standard deviations
}

TEST(PartitionTest, EveryPartitionIsInExactlyOneShard) {
  for (uint32_t shards = 1; shards <= kPartitions; ++shards) {
    ASSERT_EQ(PartitionBegin(0, shards), 0u);
    ASSERT_EQ(PartitionBegin(shards, shards), kPartitions);
    for (uint32_t shard = 0; shard < shards; ++shard) {
      const uint32_t begin = PartitionBegin(shard, shards), end = PartitionBegin(shard + 1, shards);
      ASSERT_LT(begin, end) << "shard " << shard << " of " << shards << " is empty";
      ASSERT_LE(end - begin, (kPartitions + shards - 1) / shards);
      for (uint32_t partition = begin; partition < end; ++partition) ASSERT_EQ(ShardOf(partition, shards), shard) << shards << " shards";
    }
  }
}

VariableSpec Variable(std::initializer_list<uint64_t> shape) {
  VariableSpec variable;
  for (uint64_t extent : shape) variable.add_shape(extent);
  return variable;
}

TEST(DenseChunksTest, ChunksCoverEveryVariableOnceInOrder) {
  google::protobuf::RepeatedPtrField<VariableSpec> variables;
  *variables.Add() = Variable({624, 400});  // 249600 = 15 chunks and a rest
  *variables.Add() = Variable({1});
  *variables.Add() = Variable({kDenseChunkFloats});  // exactly one chunk
  *variables.Add() = Variable({kDenseChunkFloats + 1});
  const std::vector<DenseChunk> chunks = DenseChunks(variables);
  ASSERT_EQ(chunks.size(), 16u + 1 + 1 + 2);
  size_t i = 0;
  for (int v = 0; v < variables.size(); ++v) {
    uint64_t next = 0;
    for (; i < chunks.size() && chunks[i].variable == static_cast<uint32_t>(v); ++i) {
      EXPECT_EQ(chunks[i].begin, next);
      EXPECT_GT(chunks[i].size, 0u);
      EXPECT_LE(chunks[i].size, kDenseChunkFloats);
      EXPECT_LT(chunks[i].partition, kPartitions);
      next += chunks[i].size;
    }
    EXPECT_EQ(next, ElementCount(variables[v]));
  }
  EXPECT_EQ(i, chunks.size());
}

TEST(DenseChunksTest, PartitionsAreTheAgreedOnes) {
  google::protobuf::RepeatedPtrField<VariableSpec> variables;
  *variables.Add() = Variable({4 * kDenseChunkFloats});
  std::vector<uint32_t> partitions;
  for (const DenseChunk& chunk : DenseChunks(variables)) partitions.push_back(chunk.partition);
  EXPECT_EQ(partitions, (std::vector<uint32_t>{0, 97, 194, 35}));
}

TEST(DenseChunksTest, ALayerSpreadsOverTheShards) {
  google::protobuf::RepeatedPtrField<VariableSpec> variables;
  *variables.Add() = Variable({64 * uint64_t{kDenseChunkFloats}});
  for (uint32_t shards : {2u, 3u, 4u, 8u}) {
    std::vector<uint32_t> counts(shards);
    for (const DenseChunk& chunk : DenseChunks(variables)) ++counts[ShardOf(chunk.partition, shards)];
    for (uint32_t count : counts) EXPECT_NEAR(count, 64.0 / shards, 2) << shards << " shards";
  }
}

TEST(DenseChunksTest, NoVariablesGiveNoChunks) { EXPECT_TRUE(DenseChunks({}).empty()); }

TEST(RowDimTest, ARowIsItsSegmentsBackToBack) {
  TableSpec table;
  EXPECT_EQ(RowDim(table), 0u);
  table.add_segments()->set_dim(1);
  table.add_segments()->set_dim(16);
  EXPECT_EQ(RowDim(table), 17u);
}

TEST(ElementCountTest, AScalarHasOneElement) {
  EXPECT_EQ(ElementCount(Variable({})), 1u);
  EXPECT_EQ(ElementCount(Variable({3, 4, 5})), 60u);
  EXPECT_EQ(ElementCount(Variable({3, 0})), 0u);
}

}  // namespace
}  // namespace tessera
