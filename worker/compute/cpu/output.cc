#include "worker/compute/cpu/output.h"

#include <algorithm>
#include <cassert>

#include "common/score.h"
#include "worker/compute/cpu/lanes.h"
#include "worker/compute/cpu/pieces.h"

namespace tessera {
namespace {

enum { kParts = 2 };

float Logit(ConstTensor h, const float* w, float bias, float other_terms, int64_t i) {
  return other_terms + bias + (h.empty() ? 0.0f : Dot(h.data + i * h.stride, w, h.cols));
}

// sums[j] += weight * x[j]
void AddScaled(const float* x, float weight, int64_t cols, float* sums) {
#pragma omp simd
  for (int64_t j = 0; j < cols; ++j) sums[j] += weight * x[j];
}

// What a piece of rows adds to the sums over the batch: [w_gradient (k), column sums (k), bias gradient (1)].
struct Part {
  float* w_gradient;
  float* column_sums;
  float* bias_gradient;
};

double LossOfRow(const Backend::OutputLossArgs& args, int64_t i, Part part) {
  const ConstTensor& h = args.h;
  const float logit = Logit(h, args.w.data, args.bias.data[0], args.logits.data[i], i);
  const float d = Sigmoid(logit) - args.labels.data[i];
  args.logits.data[i] = logit;
  args.logit_gradient.data[i] = d;
  *part.bias_gradient += d;
  if (!h.empty()) {
    const float* x = h.data + i * h.stride;
    const float* w = args.w.data;
    float* gradient = args.h_gradient.data + i * args.h_gradient.stride;
    const float scaled = d * args.h_scale;
#pragma omp simd
    for (int64_t j = 0; j < h.cols; ++j) {
      part.w_gradient[j] += d * x[j];
      gradient[j] = x[j] > 0 ? scaled * w[j] : 0.0f;
      part.column_sums[j] += gradient[j];
    }
  }
  return LogLoss(logit, args.labels.data[i]);
}

}  // namespace

void CpuOutputForward(Workspace* work, ConstTensor h, DeviceSpan<const float> w, DeviceSpan<const float> bias, DeviceSpan<float> logits) {
  assert(bias.size == 1 && w.size == h.cols && (h.empty() || h.rows == logits.size));
  ForPieces(work->pool(), logits.size, kPanelRows, [&](int64_t, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) logits.data[i] = Logit(h, w.data, bias.data[0], logits.data[i], i);
  });
}

void CpuOutputLoss(Workspace* work, const Backend::OutputLossArgs& args) {
  const int64_t rows = args.logits.size, cols = args.h.cols;
  assert(args.labels.size == rows && args.logit_gradient.size == rows && args.bias.size == 1 && args.loss.size == 1);
  assert(args.w.size == cols && args.w_gradient.size == cols && args.h_column_sums.size == cols && args.bias_gradient.size == 1);
  assert(args.h.empty() || (args.h.rows == rows && args.h_gradient.rows == rows && args.h_gradient.cols == cols));
  const int64_t pieces = PieceCount(rows, kPanelRows), width = 2 * cols + 1;
  // One row of sums per piece, then the losses (double, so an even number of floats in), then room for the result.
  const int64_t losses_at = (pieces * width + 1) / 2 * 2;
  float* const parts = work->Scratch(kParts, losses_at + 2 * pieces + width);
  if (parts == nullptr) return;
  double* const losses = reinterpret_cast<double*>(parts + losses_at);
  ForPieces(work->pool(), rows, kPanelRows, [&](int64_t piece, int64_t begin, int64_t end) {
    float* const sums = parts + piece * width;
    std::fill(sums, sums + width, 0.0f);
    double loss = 0;
    for (int64_t i = begin; i < end; ++i) loss += LossOfRow(args, i, {sums, sums + cols, sums + 2 * cols});
    losses[piece] = loss;
  });
  float* const total = parts + losses_at + 2 * pieces;
  AddParts(work->pool(), parts, pieces, width, total);
  std::copy_n(total, cols, args.w_gradient.data);
  std::copy_n(total + cols, cols, args.h_column_sums.data);
  args.bias_gradient.data[0] = total[2 * cols];
  args.loss.data[0] = 0;
  for (int64_t piece = 0; piece < pieces; ++piece) args.loss.data[0] += losses[piece];
}

void CpuWeightedColumnSums(Workspace* work, ConstTensor x, DeviceSpan<const float> weights, DeviceSpan<float> sums) {
  assert(weights.size == x.rows && sums.size == x.cols);
  const int64_t pieces = PieceCount(x.rows, kPanelRows);
  float* const parts = work->Scratch(kParts, pieces * x.cols);
  if (parts == nullptr) return;
  ForPieces(work->pool(), x.rows, kPanelRows, [&](int64_t piece, int64_t begin, int64_t end) {
    float* const part = parts + piece * x.cols;
    std::fill(part, part + x.cols, 0.0f);
    for (int64_t i = begin; i < end; ++i) AddScaled(x.data + i * x.stride, weights.data[i], x.cols, part);
  });
  AddParts(work->pool(), parts, pieces, x.cols, sums.data);
}

}  // namespace tessera
