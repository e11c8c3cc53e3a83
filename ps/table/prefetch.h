// How far ahead rows are asked for, and how they are copied.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tessera {

// Ids looked up together: the slots of all are asked for before the first is read, then the rows of all. Three passes: asking for slots and
// rows of different ids in turn, in one loop, halves the speed here. Enough ids that the start and the end of a pass hardly count, few
// enough that what was asked for is still in the first-level cache.
inline constexpr uint32_t kAheadRows = 128;
inline constexpr size_t kCacheLineBytes = 64;

inline void PrefetchRow(const void* row, size_t bytes) {
  constexpr size_t kBytesMax = 8 * kCacheLineBytes;  // beyond, the hardware has seen the pattern
  const char* line = static_cast<const char*>(row);
  for (const char* end = line + std::min(bytes, kBytesMax); line < end; line += kCacheLineBytes) __builtin_prefetch(line);
}

// memcpy of a row's few floats, without the call that one of unknown size costs.
inline void CopyFloats(const float* from, size_t count, float* to) {
  for (; count >= 16; count -= 16, from += 16, to += 16) std::memcpy(to, from, 16 * sizeof(float));
  const auto copy = [&](auto part) {
    constexpr size_t kPart = decltype(part)::value;
    if ((count & kPart) == 0) return;
    std::memcpy(to, from, kPart * sizeof(float));
    from += kPart;
    to += kPart;
  };
  copy(std::integral_constant<size_t, 8>());
  copy(std::integral_constant<size_t, 4>());
  copy(std::integral_constant<size_t, 2>());
  copy(std::integral_constant<size_t, 1>());
}

}  // namespace tessera
