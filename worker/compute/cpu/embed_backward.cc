#include <algorithm>
#include <cassert>
#include <vector>

#include "worker/compute/cpu/embed.h"
#include "worker/compute/cpu/pieces.h"

namespace tessera {
namespace {

using Args = Backend::EmbedBackwardArgs;

constexpr int64_t kAhead = 12;
// Occurrences that one thread takes at a time. Ids are never cut: one that stands in every row makes a larger piece.
constexpr int64_t kPieceOccurrences = 2048;
// Sums are made of runs of this many terms, so that rounding does not grow with an id's frequency.
constexpr int64_t kRun = 256;

// An id's gradient has a term for each occurrence (row i, field f, scale s): s * (dx[i, f] + dl[i] * sums[i]) - s^2 * dl[i] * v. The last
// one has v in common, so only its factor is summed.
struct Factors {
  float first_order = 0;  // sum of s * dl
  float square = 0;       // sum of s^2 * dl
};

template <int W, bool kFirst>
void SumRun(const Args& args, int64_t begin, int64_t end, int64_t j, float* sum, Factors* factors) {
  const Occurrences& o = args.occurrences;
  const int64_t dim = args.sums.cols;
  const bool has_x = !args.x_gradient.empty();
  float acc[W] = {};
  Factors run;
  for (int64_t k = begin; k < end; ++k) {
    if (has_x && k + kAhead < o.order.size) {
      const uint32_t next = o.order.data[k + kAhead];
      PrefetchFloats(args.x_gradient.data + (o.slots.empty() ? next : o.slots.data[next]) * dim + j, W);
    }
    const uint32_t occurrence = o.order.data[k];
    const uint32_t slot = o.slots.empty() ? occurrence : o.slots.data[occurrence];
    const uint32_t row = slot / static_cast<uint32_t>(o.fields);
    const float s = o.scales.empty() ? 1.0f : o.scales.data[occurrence];
    const float dl = args.logit_gradient.data[row] * s;
    const float* sums = args.sums.data + row * dim + j;
    if (has_x) {
      const float* dx = args.x_gradient.data + slot * dim + j;
#pragma omp simd
      for (int l = 0; l < W; ++l) acc[l] += s * dx[l] + dl * sums[l];
    } else {
#pragma omp simd
      for (int l = 0; l < W; ++l) acc[l] += dl * sums[l];
    }
    run.square += dl * s;
    if (kFirst) run.first_order += dl;
  }
  for (int l = 0; l < W; ++l) sum[l] += acc[l];
  factors->square += run.square;
  factors->first_order += run.first_order;
}

template <int W, bool kFirst>
void GradientBlock(const Args& args, int64_t id, int64_t j) {
  const Occurrences& o = args.occurrences;
  float sum[W] = {};
  Factors factors;
  const int64_t end = o.begin.data[id + 1];
  for (int64_t k = o.begin.data[id]; k < end; k += kRun) SumRun<W, kFirst>(args, k, std::min(k + kRun, end), j, sum, &factors);
  const float* v = args.values.data + id * args.values.stride + 1 + j;
  float* out = args.value_gradient.data + id * args.value_gradient.stride;
  for (int l = 0; l < W; ++l) out[1 + j + l] = sum[l] - factors.square * v[l];
  if (kFirst) out[0] = factors.first_order;
}

void GradientOfId(const Args& args, int64_t id) {
  ForDimBlocks(args.sums.cols, [&](auto width, int64_t j) {
    constexpr int W = decltype(width)::value;
    if (j == 0) {
      GradientBlock<W, true>(args, id, 0);
    } else {
      GradientBlock<W, false>(args, id, j);
    }
  });
}

}  // namespace

void CpuEmbedBackward(Workspace* work, const Args& args) {
  const Occurrences& o = args.occurrences;
  assert(args.values.rows == args.value_gradient.rows && args.values.cols == args.value_gradient.cols);
  assert(args.values.cols == args.sums.cols + 1 && args.sums.rows == o.rows && args.logit_gradient.size == o.rows);
  assert(args.sums.stride == args.sums.cols && args.x_gradient.stride == args.x_gradient.cols);
  assert(args.x_gradient.empty() || (args.x_gradient.rows == o.rows && args.x_gradient.cols == o.fields * args.sums.cols));
  assert(o.begin.size == args.values.rows + 1 && o.order.size == o.inverse.size && (o.offsets.empty() || o.slots.size == o.inverse.size));
  const uint32_t* const begin = o.begin.data;
  const auto first_id = [&](int64_t piece) {
    return std::lower_bound(begin, begin + args.values.rows, static_cast<uint64_t>(piece * kPieceOccurrences)) - begin;
  };
  const int64_t pieces = o.order.size / kPieceOccurrences + 1;
  work->pool()->ParallelFor(pieces, [&](int64_t piece) {
    const int64_t last = piece + 1 == pieces ? args.values.rows : first_id(piece + 1);
    for (int64_t id = first_id(piece); id < last; ++id) GradientOfId(args, id);
  });
}

}  // namespace tessera
