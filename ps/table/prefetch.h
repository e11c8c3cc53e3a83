// How far ahead rows are asked for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tessera {

// Ids looked up together: the slots of all are on their way before the first is read, then the rows of all. Far enough ahead to hide
// memory's latency (16 is where it is hidden), few enough that the rows of 64 stay in the first-level cache.
inline constexpr uint32_t kAheadRows = 64;
inline constexpr size_t kCacheLineBytes = 64;

inline void PrefetchRow(const void* row, size_t bytes) {
  constexpr size_t kBytesMax = 8 * kCacheLineBytes;  // beyond, the hardware has seen the pattern
  const char* line = static_cast<const char*>(row);
  for (const char* end = line + std::min(bytes, kBytesMax); line < end; line += kCacheLineBytes) __builtin_prefetch(line);
}

}  // namespace tessera
