#include "worker/client/dense_layout.h"

#include <algorithm>
#include <cassert>

#include "common/partition.h"

namespace tessera {

DenseLayout::DenseLayout(const google::protobuf::RepeatedPtrField<VariableSpec>& variables, uint32_t shards) : shards_(shards) {
  std::vector<uint32_t> chunks(shards);
  for (const DenseChunk& chunk : DenseChunks(variables)) {
    const uint32_t s = ShardOf(chunk.partition, shards);
    if (chunks[s]++ % kDenseSliceChunks == 0) shards_[s].emplace_back();
    Slice& slice = shards_[s].back();
    if (!slice.runs.empty() && slice.runs.back().begin + slice.runs.back().size == floats_) {
      slice.runs.back().size += chunk.size;
    } else {
      slice.runs.push_back({floats_, chunk.size});
    }
    slice.floats += chunk.size;
    floats_ += chunk.size;
  }
}

void DenseLayout::Gather(uint32_t shard, uint32_t slice, absl::Span<const float> all, absl::Span<float> chunks) const {
  assert(all.size() == floats_ && chunks.size() == slice_floats(shard, slice));
  float* out = chunks.data();
  for (const Run& run : shards_[shard][slice].runs) out = std::copy_n(all.data() + run.begin, run.size, out);
}

void DenseLayout::Scatter(uint32_t shard, uint32_t slice, absl::Span<const float> chunks, absl::Span<float> all) const {
  assert(all.size() == floats_ && chunks.size() == slice_floats(shard, slice));
  const float* in = chunks.data();
  for (const Run& run : shards_[shard][slice].runs) {
    std::copy_n(in, run.size, all.data() + run.begin);
    in += run.size;
  }
}

}  // namespace tessera
