// Sparse input on the CPU: look-up, pooling and the factorisation machine's sums in one pass over the batch, and back.
#pragma once

#include <type_traits>

#include "worker/compute/backend.h"
#include "worker/compute/cpu/workspace.h"

namespace tessera {

// As Backend's operations of the same names.
void CpuExpandOffsets(Workspace* work, DeviceSpan<const uint32_t> offsets, DeviceSpan<uint32_t> slots);
void CpuEmbedForward(Workspace* work, const Backend::EmbedForwardArgs& args);
void CpuEmbedBackward(Workspace* work, const Backend::EmbedBackwardArgs& args);

// Calls block(std::integral_constant<int, W>(), j) for consecutive blocks of W dimensions that begin at j and cover [0, dim): W is a
// constant, so that a block's sums stay in vector registers.
template <class Block>
void ForDimBlocks(int64_t dim, Block block) {
  int64_t j = 0;
  for (; j + 16 <= dim; j += 16) block(std::integral_constant<int, 16>(), j);
  if (j + 8 <= dim) block(std::integral_constant<int, 8>(), j), j += 8;
  if (j + 4 <= dim) block(std::integral_constant<int, 4>(), j), j += 4;
  for (; j < dim; ++j) block(std::integral_constant<int, 1>(), j);
}

// Loads both ends of a row of the table or of a matrix ahead of its use; what lies between comes by itself.
inline void PrefetchFloats(const float* data, int64_t count) {
  __builtin_prefetch(data);
  __builtin_prefetch(data + count - 1);
}

}  // namespace tessera
