// The gradient of a weight matrix: a product whose inner dimension is the batch, so it is cut in all three dimensions.
#include <algorithm>
#include <cassert>

#include "worker/compute/cpu/gemm.h"
#include "worker/compute/cpu/linear.h"
#include "worker/compute/cpu/pieces.h"

namespace tessera {
namespace {

enum { kParts = 2 };

// [0, size) in `count` nearly equal pieces whose bounds are multiples of `unit`.
struct Cut {
  int64_t size;
  int64_t unit;
  int64_t count;

  int64_t Begin(int64_t i) const {
    const int64_t units = (size + unit - 1) / unit;
    return std::min(size, units * i / count * unit);
  }
};

Cut CutInto(int64_t size, int64_t unit, int64_t count) { return {size, unit, std::clamp<int64_t>(count, 1, (size + unit - 1) / unit)}; }

// Figures for 624 x 400 x 4096 on two Zen 5 cores: tiles of 40 to 104 rows and 400 columns are within 3 % of each other; narrower ones lose
// up to 30 % to packing. Multiples of 8 tiles share out evenly on 2, 4 and 8 threads; pieces of 2048 batch rows double that for more.
constexpr int64_t kTileRows = 80;
constexpr int64_t kTileColumns = 480;
constexpr int64_t kTileBatch = 2048;

}  // namespace

void CpuLinearBackwardWeights(Workspace* work, ConstTensor x, ConstTensor dy, Tensor dw) {
  assert(x.rows == dy.rows && dw.rows == x.cols && dw.cols == dy.cols);
  const Cut rows = CutInto(dw.rows, 8, PieceCount(dw.rows, 8 * kTileRows) * 8);
  const Cut columns = CutInto(dw.cols, 48, PieceCount(dw.cols, kTileColumns));
  const Cut batch = CutInto(std::max<int64_t>(x.rows, 1), 64, PieceCount(x.rows, kTileBatch));
  const int64_t size = dw.rows * dw.cols;
  const bool direct = batch.count == 1;
  float* const parts = direct ? nullptr : work->Scratch(kParts, batch.count * size);
  if (!direct && parts == nullptr) return;
  work->pool()->ParallelFor(rows.count * columns.count * batch.count, [&](int64_t tile) {
    const int64_t p = tile % batch.count, c = tile / batch.count % columns.count, r = tile / batch.count / columns.count;
    const int64_t i = rows.Begin(r), j = columns.Begin(c), first = batch.Begin(p), last = std::min(x.rows, batch.Begin(p + 1));
    float* const out = direct ? dw.data + i * dw.stride + j : parts + p * size + i * dw.cols + j;
    const bool ok = Gemm({.transpose_a = true,
                          .m = rows.Begin(r + 1) - i,
                          .n = columns.Begin(c + 1) - j,
                          .k = last - first,
                          .a = x.data + first * x.stride + i,
                          .lda = x.stride,
                          .b = dy.data + first * dy.stride + j,
                          .ldb = dy.stride,
                          .c = out,
                          .ldc = direct ? dw.stride : dw.cols});
    if (!ok) work->Fail(absl::ResourceExhaustedError("no memory to pack the operands of a matrix product"));
  });
  if (direct) return;
  assert(dw.stride == dw.cols);
  AddParts(work->pool(), parts, batch.count, size, dw.data);
}

}  // namespace tessera
