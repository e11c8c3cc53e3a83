#include "worker/compute/cpu/pieces.h"

#include <algorithm>

namespace tessera {

void AddParts(ThreadPool* pool, const float* parts, int64_t count, int64_t cols, float* out) {
  constexpr int64_t kColumns = 4096;
  ForPieces(pool, cols, kColumns, [&](int64_t, int64_t begin, int64_t end) {
    if (count == 0) {
      std::fill(out + begin, out + end, 0.0f);
      return;
    }
    std::copy(parts + begin, parts + end, out + begin);
    for (int64_t p = 1; p < count; ++p) {
      const float* part = parts + p * cols;
#pragma omp simd
      for (int64_t j = begin; j < end; ++j) out[j] += part[j];
    }
  });
}

}  // namespace tessera
