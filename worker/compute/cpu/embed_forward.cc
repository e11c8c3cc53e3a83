#include <algorithm>
#include <cassert>

#include "worker/compute/cpu/embed.h"
#include "worker/compute/cpu/lanes.h"
#include "worker/compute/cpu/pieces.h"

namespace tessera {
namespace {

using Args = Backend::EmbedForwardArgs;

// How far ahead rows of the table are asked for: enough to hide memory, little enough to stay in the first cache.
constexpr int64_t kAhead = 16;

// The occurrences of one row of the batch.
struct RowView {
  const uint32_t* inverse;
  const float* scales;      // or null
  const uint32_t* offsets;  // fields + 1, relative to inverse; or null: one occurrence a field
  int64_t count;            // occurrences
  int64_t left;             // occurrences from here to the end of the batch's
};

RowView ViewRow(const Occurrences& o, int64_t i) {
  const int64_t k = i * o.fields;
  const int64_t begin = o.offsets.empty() ? k : o.offsets.data[k];
  const int64_t end = o.offsets.empty() ? k + o.fields : o.offsets.data[k + o.fields];
  return {o.inverse.data + begin, o.scales.empty() ? nullptr : o.scales.data + begin, o.offsets.empty() ? nullptr : o.offsets.data + k,
          end - begin, o.inverse.size - begin};
}

// Dimensions [j, j + W) of one row: fills x (if there) and sums; returns sum over them of (|sum|^2 - sum of squares).
template <int W, bool kScaled>
float PoolFixed(const Args& args, const RowView& row, int64_t j, float* x, float* sums) {
  const int64_t dim = args.sums.cols;
  float sum[W] = {}, square[W] = {};
  for (int64_t f = 0; f < row.count; ++f) {
    const float* v = args.values.data + row.inverse[f] * args.values.stride + 1 + j;
    const float s = kScaled ? row.scales[f] : 1.0f;
    float z[W];
#pragma omp simd
    for (int l = 0; l < W; ++l) {
      z[l] = kScaled ? s * v[l] : v[l];
      sum[l] += z[l];
      square[l] += z[l] * z[l];
    }
    if (x != nullptr) std::copy(z, z + W, x + f * dim + j);
  }
  float total = 0;
  for (int l = 0; l < W; ++l) {
    sums[j + l] = sum[l];
    total += sum[l] * sum[l] - square[l];
  }
  return total;
}

template <int W>
float PoolRuns(const Args& args, const RowView& row, int64_t j, float* x, float* sums) {
  const int64_t dim = args.sums.cols;
  float sum[W] = {}, square[W] = {};
  const uint32_t first = row.offsets[0];
  for (int64_t f = 0; f < args.occurrences.fields; ++f) {
    float pooled[W] = {};
    for (uint32_t o = row.offsets[f] - first; o < row.offsets[f + 1] - first; ++o) {
      const float* v = args.values.data + row.inverse[o] * args.values.stride + 1 + j;
      const float s = row.scales == nullptr ? 1.0f : row.scales[o];
#pragma omp simd
      for (int l = 0; l < W; ++l) {
        const float z = s * v[l];
        pooled[l] += z;
        square[l] += z * z;
      }
    }
#pragma omp simd
    for (int l = 0; l < W; ++l) sum[l] += pooled[l];
    if (x != nullptr) std::copy(pooled, pooled + W, x + f * dim + j);
  }
  float total = 0;
  for (int l = 0; l < W; ++l) {
    sums[j + l] = sum[l];
    total += sum[l] * sum[l] - square[l];
  }
  return total;
}

float FirstOrder(const Args& args, const RowView& row) {
  float linear = 0;
  for (int64_t o = 0; o < row.count; ++o) {
    if (o + kAhead < row.left) PrefetchFloats(args.values.data + row.inverse[o + kAhead] * args.values.stride, args.values.cols);
    const float weight = args.values.data[row.inverse[o] * args.values.stride];
    linear += row.scales == nullptr ? weight : row.scales[o] * weight;
  }
  return linear;
}

void ForwardRow(const Args& args, int64_t i) {
  const RowView row = ViewRow(args.occurrences, i);
  float* const x = args.x.empty() ? nullptr : args.x.data + i * args.x.stride;
  float* const sums = args.sums.data + i * args.sums.stride;
  float logit = FirstOrder(args, row);
  float interaction = 0;
  ForDimBlocks(args.sums.cols, [&](auto width, int64_t j) {
    constexpr int W = decltype(width)::value;
    interaction += row.offsets != nullptr  ? PoolRuns<W>(args, row, j, x, sums)
                   : row.scales != nullptr ? PoolFixed<W, true>(args, row, j, x, sums)
                                           : PoolFixed<W, false>(args, row, j, x, sums);
  });
  logit += 0.5f * interaction;
  if (!args.dense.empty()) {
    const float* dense = args.dense.data + i * args.dense.stride;
    logit += Dot(dense, args.dense_weights.data, args.dense.cols);
    if (x != nullptr) std::copy_n(dense, args.dense.cols, x + args.occurrences.fields * args.sums.cols);
  }
  args.logits.data[i] = logit;
}

}  // namespace

void CpuEmbedForward(Workspace* work, const Args& args) {
  const Occurrences& o = args.occurrences;
  assert(args.sums.rows == o.rows && args.logits.size == o.rows && args.values.cols == args.sums.cols + 1);
  assert(args.dense.empty() || (args.dense.rows == o.rows && args.dense_weights.size == args.dense.cols));
  assert(args.x.empty() || (args.x.rows == o.rows && args.x.cols == o.fields * args.sums.cols + args.dense.cols));
  assert(o.offsets.empty() ? o.inverse.size == o.rows * o.fields : o.offsets.size == o.rows * o.fields + 1);
  assert(o.scales.empty() || o.scales.size == o.inverse.size);
  ForPieces(work->pool(), o.rows, kPanelRows, [&](int64_t, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ForwardRow(args, i);
  });
}

void CpuExpandOffsets(Workspace* work, DeviceSpan<const uint32_t> offsets, DeviceSpan<uint32_t> slots) {
  assert(offsets.size >= 1);
  constexpr int64_t kSlots = 8192;
  ForPieces(work->pool(), offsets.size - 1, kSlots, [&](int64_t, int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      for (uint32_t o = offsets.data[k]; o < offsets.data[k + 1]; ++o) slots.data[o] = static_cast<uint32_t>(k);
    }
  });
}

}  // namespace tessera
