#include "worker/compute/cpu/linear.h"

#include <algorithm>
#include <cassert>

#include "absl/functional/function_ref.h"
#include "worker/compute/cpu/gemm.h"
#include "worker/compute/cpu/pieces.h"
#include "worker/compute/dropout.h"

namespace tessera {
namespace {

// Slots of the workspace.
enum { kPanel, kTransposed, kParts };

absl::Status NoPackMemory() { return absl::ResourceExhaustedError("no memory to pack the operands of a matrix product"); }

// y = x w in panels of kPanelRows rows; after(begin, end) is called for each panel once its rows of y are there.
void PanelProduct(Workspace* work, ConstTensor x, ConstTensor w, Tensor y, absl::FunctionRef<void(int64_t, int64_t, int64_t)> after) {
  const int64_t rest = x.rows % kPanelRows;
  float* const panel = rest == 0 ? nullptr : work->Scratch(kPanel, kPanelRows * (x.cols + y.cols));
  if (rest != 0 && panel == nullptr) return;
  ForPieces(work->pool(), x.rows, kPanelRows, [&](int64_t piece, int64_t begin, int64_t end) {
    GemmArgs g{.m = kPanelRows,
               .n = y.cols,
               .k = x.cols,
               .a = x.data + begin * x.stride,
               .lda = x.stride,
               .b = w.data,
               .ldb = w.stride,
               .c = y.data + begin * y.stride,
               .ldc = y.stride};
    const bool whole = end - begin == kPanelRows;
    if (!whole) {
      for (int64_t i = begin; i < end; ++i) std::copy_n(x.data + i * x.stride, x.cols, panel + (i - begin) * x.cols);
      std::fill(panel + (end - begin) * x.cols, panel + kPanelRows * x.cols, 0.0f);
      g.a = panel, g.lda = x.cols, g.c = panel + kPanelRows * x.cols, g.ldc = y.cols;
    }
    if (!Gemm(g)) work->Fail(NoPackMemory());
    if (!whole) {
      for (int64_t i = begin; i < end; ++i) std::copy_n(g.c + (i - begin) * y.cols, y.cols, y.data + i * y.stride);
    }
    after(piece, begin, end);
  });
}

void AddBias(const float* bias, int64_t cols, float* y) {
#pragma omp simd
  for (int64_t j = 0; j < cols; ++j) y[j] += bias[j];
}

void BiasRelu(const float* bias, int64_t cols, float* y) {
#pragma omp simd
  for (int64_t j = 0; j < cols; ++j) {
    const float z = y[j] + bias[j];
    y[j] = z < 0 ? 0.0f : z;
  }
}

void BiasReluDropout(const float* bias, int64_t cols, DropoutRow row, uint32_t threshold, float scale, float* y) {
#pragma omp simd
  for (int64_t j = 0; j < cols; ++j) {
    const float z = y[j] + bias[j];
    const float kept = DropoutBits(row, static_cast<uint32_t>(j)) < threshold ? 0.0f : scale;
    y[j] = z < 0 ? 0.0f : z * kept;
  }
}

void Activate(const Activation& activation, Tensor y, int64_t begin, int64_t end) {
  const float* bias = activation.bias.data;
  const Dropout& dropout = activation.dropout;
  for (int64_t i = begin; i < end; ++i) {
    float* row = y.data + i * y.stride;
    if (!activation.relu) {
      if (!activation.bias.empty()) AddBias(bias, y.cols, row);
    } else if (dropout.rate == 0) {
      BiasRelu(bias, y.cols, row);
    } else {
      BiasReluDropout(bias, y.cols, MakeDropoutRow(dropout.key, dropout.first_row + i), DropoutThreshold(dropout.rate), dropout.scale(),
                      row);
    }
  }
}

// d = d * scale where the ReLU's output is positive, else 0; sums += d.
void CarryThroughRelu(const float* output, float scale, int64_t cols, float* d, float* sums) {
#pragma omp simd
  for (int64_t j = 0; j < cols; ++j) {
    const float carried = output[j] > 0 ? d[j] * scale : 0.0f;
    d[j] = carried;
    sums[j] += carried;
  }
}

// w [in, out] -> [out, in], in blocks that fit the first cache.
void Transpose(ThreadPool* pool, ConstTensor w, float* out) {
  constexpr int64_t kBlock = 32;
  ForPieces(pool, w.rows, kBlock, [&](int64_t, int64_t begin, int64_t end) {
    for (int64_t first = 0; first < w.cols; first += kBlock) {
      const int64_t last = std::min(first + kBlock, w.cols);
      for (int64_t j = first; j < last; ++j) {
        for (int64_t i = begin; i < end; ++i) out[j * w.rows + i] = w.data[i * w.stride + j];
      }
    }
  });
}

}  // namespace

void CpuLinearForward(Workspace* work, ConstTensor x, ConstTensor w, const Activation& activation, Tensor y) {
  assert(x.cols == w.rows && y.cols == w.cols && x.rows == y.rows);
  assert(activation.bias.empty() || activation.bias.size == y.cols);
  assert(!activation.relu || !activation.bias.empty());
  assert(activation.dropout.rate == 0 || activation.relu);
  PanelProduct(work, x, w, y, [&](int64_t, int64_t begin, int64_t end) { Activate(activation, y, begin, end); });
}

void CpuLinearBackwardInput(Workspace* work, ConstTensor dy, ConstTensor w, const ActivationGradient& activation, Tensor dx) {
  assert(dy.cols == w.cols && dx.cols == w.rows && dx.rows == dy.rows);
  const ConstTensor& output = activation.output;
  assert(output.empty() || (output.rows == dx.rows && output.cols == dx.cols && activation.column_sums.size == dx.cols));
  // Packing a transposed operand anew for each panel costs more than turning it once.
  float* const turned = work->Scratch(kTransposed, w.rows * w.cols);
  float* const parts = output.empty() ? nullptr : work->Scratch(kParts, PieceCount(dx.rows, kPanelRows) * dx.cols);
  if (turned == nullptr || (!output.empty() && parts == nullptr)) return;
  Transpose(work->pool(), w, turned);
  PanelProduct(work, dy, ConstTensor(turned, w.cols, w.rows, w.rows), dx, [&](int64_t piece, int64_t begin, int64_t end) {
    if (output.empty()) return;
    float* const sums = parts + piece * dx.cols;
    std::fill(sums, sums + dx.cols, 0.0f);
    for (int64_t i = begin; i < end; ++i) {
      CarryThroughRelu(output.data + i * output.stride, activation.scale, dx.cols, dx.data + i * dx.stride, sums);
    }
  });
  if (!output.empty()) AddParts(work->pool(), parts, PieceCount(dx.rows, kPanelRows), dx.cols, activation.column_sums.data);
}

}  // namespace tessera
