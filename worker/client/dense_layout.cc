#include "worker/client/dense_layout.h"

#include <algorithm>
#include <cassert>

#include "common/partition.h"

namespace tessera {

DenseLayout::DenseLayout(const google::protobuf::RepeatedPtrField<VariableSpec>& variables, uint32_t shards) : shards_(shards) {
  for (const DenseChunk& chunk : DenseChunks(variables)) {
    Shard& shard = shards_[ShardOf(chunk.partition, shards)];
    if (!shard.runs.empty() && shard.runs.back().begin + shard.runs.back().size == floats_) {
      shard.runs.back().size += chunk.size;
    } else {
      shard.runs.push_back({floats_, chunk.size});
    }
    shard.floats += chunk.size;
    floats_ += chunk.size;
  }
}

void DenseLayout::Gather(uint32_t shard, absl::Span<const float> all, absl::Span<float> chunks) const {
  assert(all.size() == floats_ && chunks.size() == shard_floats(shard));
  float* out = chunks.data();
  for (const Run& run : shards_[shard].runs) out = std::copy_n(all.data() + run.begin, run.size, out);
}

void DenseLayout::Scatter(uint32_t shard, absl::Span<const float> chunks, absl::Span<float> all) const {
  assert(all.size() == floats_ && chunks.size() == shard_floats(shard));
  const float* in = chunks.data();
  for (const Run& run : shards_[shard].runs) {
    std::copy_n(in, run.size, all.data() + run.begin);
    in += run.size;
  }
}

}  // namespace tessera
