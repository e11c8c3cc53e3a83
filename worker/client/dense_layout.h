// Which floats of the dense variables live on which shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "proto/plan.pb.h"

namespace tessera {

// All dense variables of a plan, flattened back to back, and each shard's chunks of them in chunk order (common/partition.h).
// Thread-safe: constant after construction.
class DenseLayout {
 public:
  DenseLayout(const google::protobuf::RepeatedPtrField<VariableSpec>& variables, uint32_t shards);

  size_t floats() const { return floats_; }
  // Slices in which a shard's chunks travel (common/partition.h); none where it has no chunk.
  uint32_t slices(uint32_t shard) const { return static_cast<uint32_t>(shards_[shard].size()); }
  size_t slice_floats(uint32_t shard, uint32_t slice) const { return shards_[shard][slice].floats; }

  // Copies a slice's chunks out of all values. REQUIRES: all.size() == floats(), chunks.size() == slice_floats(shard, slice).
  void Gather(uint32_t shard, uint32_t slice, absl::Span<const float> all, absl::Span<float> chunks) const;
  // Copies a slice's chunks to their places among all values. REQUIRES: as Gather.
  void Scatter(uint32_t shard, uint32_t slice, absl::Span<const float> chunks, absl::Span<float> all) const;

 private:
  // A run of floats; neighbouring chunks of one shard are one run.
  struct Run {
    size_t begin;
    size_t size;
  };
  struct Slice {
    std::vector<Run> runs;
    size_t floats = 0;
  };
  size_t floats_ = 0;
  std::vector<std::vector<Slice>> shards_;
};

}  // namespace tessera
