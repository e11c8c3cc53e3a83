#include "common/partition.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tessera {

uint64_t ElementCount(const VariableSpec& variable) {
  uint64_t count = 1;
  for (uint64_t extent : variable.shape()) count *= extent;
  return count;
}

absl::Status CheckVariables(const google::protobuf::RepeatedPtrField<VariableSpec>& variables) {
  uint64_t left = kDenseFloatsMax;
  for (const VariableSpec& variable : variables) {
    uint64_t count = 1;
    for (uint64_t extent : variable.shape()) {
      if (extent != 0 && count > left / extent) {
        return absl::InvalidArgumentError(absl::StrCat("variable ", variable.name(), ": its shape ", absl::StrJoin(variable.shape(), " x "),
                                                       " is too large; the variables of a job have at most ", kDenseFloatsMax, " floats"));
      }
      count *= extent;
    }
    left -= std::min(count, left);
  }
  return absl::OkStatus();
}

uint32_t RowDim(const TableSpec& table) {
  uint32_t dim = 0;
  for (const Segment& segment : table.segments()) dim += segment.dim();
  return dim;
}

std::vector<DenseChunk> DenseChunks(const google::protobuf::RepeatedPtrField<VariableSpec>& variables) {
  std::vector<DenseChunk> chunks;
  for (int v = 0; v < variables.size(); ++v) {
    const uint64_t count = ElementCount(variables[v]);
    for (uint64_t begin = 0; begin < count; begin += kDenseChunkFloats) {
      // An odd multiplier walks through all partitions, so chunks spread evenly over any number of shards.
      const uint32_t partition = static_cast<uint32_t>(chunks.size() * 97 % kPartitions);
      const uint64_t size = std::min<uint64_t>(kDenseChunkFloats, count - begin);
      chunks.push_back({static_cast<uint32_t>(v), begin, static_cast<uint32_t>(size), partition});
    }
  }
  return chunks;
}

}  // namespace tessera
