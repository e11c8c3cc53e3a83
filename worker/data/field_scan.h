// Finds separators many bytes at a time: the inner loop of the text formats.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace tessera {

// Bit i tells whether bytes[i] == c, for 64 bytes.
inline uint64_t EqualMask64(const char* bytes, char c) {
#if defined(__AVX2__)
  const __m256i wanted = _mm256_set1_epi8(c);
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + 32));
  const uint32_t low_mask = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted)));
  const uint32_t high_mask = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted)));
  return low_mask | static_cast<uint64_t>(high_mask) << 32;
#else
  uint64_t mask = 0;
  for (int i = 0; i < 64; ++i) mask |= static_cast<uint64_t>(bytes[i] == c) << i;
  return mask;
#endif
}

// Cuts the line at every separator. Writes the first `cells_max` cells and returns how many there are.
inline size_t SplitCells(std::string_view line, char separator, size_t cells_max, std::string_view* cells) {
  size_t count = 0;
  const char* const data = line.data();
  size_t cell_begin = 0;
  char tail[64];
  for (size_t base = 0; base < line.size(); base += 64) {
    const size_t left = line.size() - base;
    const char* bytes = data + base;
    if (left < 64) {
      std::memset(tail, separator == 0 ? 1 : 0, sizeof tail);
      std::memcpy(tail, bytes, left);
      bytes = tail;
    }
    for (uint64_t mask = EqualMask64(bytes, separator); mask != 0; mask &= mask - 1) {
      const size_t cell_end = base + static_cast<size_t>(__builtin_ctzll(mask));
      if (count < cells_max) cells[count] = std::string_view(data + cell_begin, cell_end - cell_begin);
      ++count;
      cell_begin = cell_end + 1;
    }
  }
  if (count < cells_max) cells[count] = std::string_view(data + cell_begin, line.size() - cell_begin);
  return count + 1;
}

}  // namespace tessera
