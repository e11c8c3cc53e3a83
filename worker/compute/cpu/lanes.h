// Sums whose order does not depend on how the compiler makes vectors of them.
#pragma once

#include <cstdint>

namespace tessera {

inline constexpr int kLanes = 16;

inline float SumLanes(const float* lanes) {
  float half[8];
  for (int l = 0; l < 8; ++l) half[l] = lanes[l] + lanes[l + 8];
  for (int l = 0; l < 4; ++l) half[l] += half[l + 4];
  return (half[0] + half[2]) + (half[1] + half[3]);
}

inline float Dot(const float* a, const float* b, int64_t n) {
  float lanes[kLanes] = {};
  int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
#pragma omp simd
    for (int l = 0; l < kLanes; ++l) lanes[l] += a[j + l] * b[j + l];
  }
  for (int l = 0; j + l < n; ++l) lanes[l] += a[j + l] * b[j + l];
  return SumLanes(lanes);
}

}  // namespace tessera
