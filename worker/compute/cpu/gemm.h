// Single-threaded matrix products by oneDNN. The only file that knows oneDNN is gemm.cc.
#pragma once

#include <cstdint>

namespace tessera {

// c = op(a) op(b), row-major; op(a) is [m, k], op(b) is [k, n], op transposes where asked. ld*: floats from one stored row to the next.
// The order of sums depends on (m, n, k) and the transpositions only, not on addresses. Thread-safe.
// Runs on the calling thread alone, whatever OpenMP's settings are.
struct GemmArgs {
  bool transpose_a = false;
  bool transpose_b = false;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  const float* a = nullptr;
  int64_t lda = 0;
  const float* b = nullptr;
  int64_t ldb = 0;
  float* c = nullptr;
  int64_t ldc = 0;
};
// False when there is no memory to pack the operands in.
bool Gemm(const GemmArgs& args);

}  // namespace tessera
