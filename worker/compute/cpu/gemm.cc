#include "worker/compute/cpu/gemm.h"

#include <dnnl.h>

#include <algorithm>
#include <cassert>

// From libgomp, which oneDNN brings: called by its name, because nothing here is compiled with OpenMP.
extern "C" void omp_set_num_threads(int);

namespace tessera {
namespace {

void UseOneThread() {
  thread_local bool done = false;
  if (done) return;
  omp_set_num_threads(1);  // holds for the calling thread only
  done = true;
}

// oneDNN takes products with a vector to kernels of their own that say nothing about the order of sums. Not worth a fast path: a layer of
// one unit.
void PlainGemm(const GemmArgs& g) {
  for (int64_t i = 0; i < g.m; ++i) {
    float* c = g.c + i * g.ldc;
    std::fill(c, c + g.n, 0.0f);
    for (int64_t p = 0; p < g.k; ++p) {
      const float a = g.transpose_a ? g.a[p * g.lda + i] : g.a[i * g.lda + p];
      const float* b = g.transpose_b ? g.b + p : g.b + p * g.ldb;
      const int64_t step = g.transpose_b ? g.ldb : 1;
      for (int64_t j = 0; j < g.n; ++j) c[j] += a * b[j * step];
    }
  }
}

}  // namespace

bool Gemm(const GemmArgs& g) {
  if (g.m == 0 || g.n == 0) return true;
  if (g.m == 1 || g.n == 1 || g.k == 0) {
    PlainGemm(g);
    return true;
  }
  UseOneThread();
  const dnnl_status_t status =
      dnnl_sgemm(g.transpose_a ? 'T' : 'N', g.transpose_b ? 'T' : 'N', g.m, g.n, g.k, 1.0f, g.a, g.lda, g.b, g.ldb, 0.0f, g.c, g.ldc);
  assert(status == dnnl_success || status == dnnl_out_of_memory);
  return status == dnnl_success;
}

}  // namespace tessera
