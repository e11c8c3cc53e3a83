#include "tests/unit/compute/sparse_case.h"

#include <algorithm>

namespace tessera {

SparseCase MakeSparseCase(int64_t rows, int64_t fields, int64_t dim, int64_t dense, bool scaled, bool runs) {
  SparseCase c;
  c.rows = rows, c.fields = fields, c.dim = dim, c.dense = dense;
  RandomSequence random(MixKey(rows, fields, dim, dense, scaled, runs));
  if (runs) {
    c.offsets.push_back(0);
    for (int64_t k = 0; k < rows * fields; ++k) c.offsets.push_back(c.offsets.back() + static_cast<uint32_t>(random.Below(4)));
  }
  const int64_t count = runs ? c.offsets.back() : rows * fields;
  const int64_t vocabulary = 1 + count / 4;
  std::vector<int64_t> number(vocabulary, -1);
  for (int64_t o = 0; o < count; ++o) {
    const double u = UniformDouble(random.Next());
    const int64_t id = static_cast<int64_t>(u * u * u * static_cast<double>(vocabulary));
    if (number[id] < 0) number[id] = c.ids++;
    c.inverse.push_back(static_cast<uint32_t>(number[id]));
  }
  c.begin.assign(c.ids + 1, 0);
  for (uint32_t id : c.inverse) ++c.begin[id + 1];
  for (int64_t id = 0; id < c.ids; ++id) c.begin[id + 1] += c.begin[id];
  c.order.resize(count);
  for (uint32_t o = 0; o < count; ++o) c.order[o] = o;
  std::stable_sort(c.order.begin(), c.order.end(), [&](uint32_t a, uint32_t b) { return c.inverse[a] < c.inverse[b]; });
  if (scaled) c.scales = RandomFloats(count, 1);
  c.values = RandomFloats(c.ids * (dim + 1), 2);
  c.dense_values = RandomFloats(rows * dense, 3);
  c.dense_weights = RandomFloats(dense, 4);
  return c;
}

SparseRow ForwardOfRow(const SparseCase& c, int64_t i) {
  SparseRow row{.x = std::vector<double>(c.fields * c.dim + c.dense), .sums = std::vector<double>(c.dim)};
  double squares = 0;
  for (int64_t f = 0; f < c.fields; ++f) {
    for (int64_t o = c.First(i * c.fields + f); o < c.Last(i * c.fields + f); ++o) {
      row.logit += c.Scale(o) * c.Value(c.inverse[o], -1);
      for (int64_t j = 0; j < c.dim; ++j) {
        const double z = c.Scale(o) * c.Value(c.inverse[o], j);
        row.x[f * c.dim + j] += z;
        row.sums[j] += z;
        squares += z * z;
      }
    }
  }
  for (int64_t j = 0; j < c.dense; ++j) {
    row.x[c.fields * c.dim + j] = c.dense_values[i * c.dense + j];
    row.logit += double{c.dense_values[i * c.dense + j]} * c.dense_weights[j];
  }
  double interaction = -squares;
  for (double s : row.sums) interaction += s * s;
  row.logit += interaction / 2;
  return row;
}

DeviceSparseCase::DeviceSparseCase(Backend* backend, const SparseCase& c)
    : values(backend, c.values),
      dense(backend, c.dense_values),
      dense_weights(backend, c.dense_weights),
      case_(c),
      backend_(backend),
      inverse_(backend, c.inverse),
      offsets_(backend, c.offsets),
      begin_(backend, c.begin),
      order_(backend, c.order),
      scales_(backend, c.scales),
      slots_(backend, static_cast<int64_t>(c.inverse.size())) {}

Occurrences DeviceSparseCase::occurrences() {
  Occurrences o;
  o.rows = case_.rows;
  o.fields = case_.fields;
  o.inverse = inverse_.span();
  o.scales = scales_.span();
  o.offsets = offsets_.span();
  o.begin = begin_.span();
  o.order = order_.span();
  if (!o.offsets.empty()) {
    backend_->ExpandOffsets(o.offsets, slots_.span());
    o.slots = slots_.span();
  }
  return o;
}

}  // namespace tessera
