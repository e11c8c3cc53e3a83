// How work is cut on the CPU: by shape alone, never by the number of threads.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "common/thread_pool.h"

namespace tessera {

// Rows of the batch that one thread takes at a time. Forward products are always made of whole panels of this height (the last one
// filled up with zeros), so that a row meets the same kernel whatever batch it is in. A multiple of every kernel's row block.
inline constexpr int64_t kPanelRows = 64;

inline int64_t PieceCount(int64_t size, int64_t piece) { return (size + piece - 1) / piece; }

// Calls body(piece, begin, end) for the pieces of [0, size).
inline void ForPieces(ThreadPool* pool, int64_t size, int64_t piece, absl::FunctionRef<void(int64_t, int64_t, int64_t)> body) {
  pool->ParallelFor(PieceCount(size, piece), [&](int64_t p) {
    const int64_t begin = p * piece;
    body(p, begin, begin + piece < size ? begin + piece : size);
  });
}

// out[j] = parts[0][j] + parts[1][j] + ..., in this order. parts is [count, cols]; out is zeros when count is 0.
void AddParts(ThreadPool* pool, const float* parts, int64_t count, int64_t cols, float* out);

}  // namespace tessera
