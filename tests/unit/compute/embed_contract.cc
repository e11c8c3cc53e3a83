#include "absl/strings/str_cat.h"
#include "tests/unit/compute/backend_contract.h"
#include "tests/unit/compute/sparse_case.h"

namespace tessera {
namespace {

const int64_t kDims[] = {1, 2, 3, 5, 7, 10, 16, 17, 50, 129};

std::vector<SparseCase> Cases() {
  std::vector<SparseCase> cases;
  for (bool runs : {false, true}) {
    for (bool scaled : {false, true}) {
      for (int64_t dim : kDims) cases.push_back(MakeSparseCase(65, 3, dim, dim % 3, scaled, runs));
      for (int64_t rows : {0, 1, 2, 700}) cases.push_back(MakeSparseCase(rows, 7, 4, 2, scaled, runs));
      cases.push_back(MakeSparseCase(130, 1, 8, 0, scaled, runs));
    }
  }
  return cases;
}

std::string Name(const SparseCase& c) {
  return absl::StrCat(c.rows, " rows, ", c.fields, " fields, dim ", c.dim, ", ", c.dense, " dense", c.scales.empty() ? "" : ", scaled",
                      c.offsets.empty() ? "" : ", runs");
}

TEST_P(EmbedContract, ExpandOffsetsNamesTheSlotOfEachOccurrence) {
  Input<uint32_t> offsets(backend_, {0, 0, 2, 3, 3, 3, 7, 7});
  Output<uint32_t> slots(backend_, 7);
  backend_->ExpandOffsets(offsets.span(), slots.span());
  EXPECT_EQ(slots.Fetch(), (std::vector<uint32_t>{1, 1, 2, 5, 5, 5, 5}));
}

TEST_P(EmbedContract, ForwardPoolsAndInteracts) {
  for (const SparseCase& c : Cases()) {
    const int64_t width = c.fields * c.dim + c.dense;
    DeviceSparseCase device(backend_, c);
    Output<float> x(backend_, c.rows * width), sums(backend_, c.rows * c.dim), logits(backend_, c.rows), alone(backend_, c.rows);
    Backend::EmbedForwardArgs args{.occurrences = device.occurrences(),
                                   .values = ConstTensor(device.values.span(), c.ids, c.dim + 1),
                                   .dense = ConstTensor(device.dense.span(), c.rows, c.dense),
                                   .dense_weights = device.dense_weights.span(),
                                   .x = Tensor(x.span(), c.rows, width),
                                   .sums = Tensor(sums.span(), c.rows, c.dim),
                                   .logits = logits.span()};
    backend_->EmbedForward(args);
    const auto got_x = x.Fetch(), got_sums = sums.Fetch(), got_logits = logits.Fetch();
    args.x = Tensor();
    args.logits = alone.span();
    backend_->EmbedForward(args);
    const auto& got_alone = alone.Fetch();
    for (int64_t i = 0; i < c.rows; ++i) {
      const SparseRow want = ForwardOfRow(c, i);
      for (int64_t j = 0; j < width; ++j) ExpectClose(got_x[i * width + j], want.x[j], 3, Name(c));
      for (int64_t j = 0; j < c.dim; ++j) ExpectClose(got_sums[i * c.dim + j], want.sums[j], 3 * c.fields, Name(c));
      ExpectClose(got_logits[i], want.logit, 9 * c.dim * c.fields * c.fields, Name(c), 1e-6);
      ExpectClose(got_alone[i], want.logit, 9 * c.dim * c.fields * c.fields, Name(c), 1e-6);
    }
  }
}

// Loss whose gradients are known: sum of coefficients times outputs.
double LinearLoss(const SparseCase& c, const std::vector<float>& x_gradient, const std::vector<float>& logit_gradient, uint32_t id) {
  double loss = 0;
  for (int64_t i = 0; i < c.rows; ++i) {
    bool uses = false;
    for (int64_t o = c.First(i * c.fields); o < c.Last(i * c.fields + c.fields - 1); ++o) uses |= c.inverse[o] == id;
    if (!uses) continue;
    const SparseRow row = ForwardOfRow(c, i);
    for (int64_t j = 0; j < c.fields * c.dim; ++j) loss += row.x[j] * x_gradient[i * c.fields * c.dim + j];
    loss += row.logit * logit_gradient[i];
  }
  return loss;
}

TEST_P(EmbedContract, BackwardEqualsFiniteDifferences) {
  for (SparseCase& c : Cases()) {
    const std::vector<float> dx = RandomFloats(c.rows * c.fields * c.dim, 5), dl = RandomFloats(c.rows, 6);
    DeviceSparseCase device(backend_, c);
    Input<float> x_gradient(backend_, dx), logit_gradient(backend_, dl);
    Output<float> x(backend_, c.rows * (c.fields * c.dim + c.dense)), sums(backend_, c.rows * c.dim), logits(backend_, c.rows);
    Output<float> gradient(backend_, c.ids * (c.dim + 1)), without_x(backend_, c.ids * (c.dim + 1));
    backend_->EmbedForward({.occurrences = device.occurrences(),
                            .values = ConstTensor(device.values.span(), c.ids, c.dim + 1),
                            .dense = ConstTensor(device.dense.span(), c.rows, c.dense),
                            .dense_weights = device.dense_weights.span(),
                            .x = Tensor(x.span(), c.rows, c.fields * c.dim + c.dense),
                            .sums = Tensor(sums.span(), c.rows, c.dim),
                            .logits = logits.span()});
    Backend::EmbedBackwardArgs args{.occurrences = device.occurrences(),
                                    .values = ConstTensor(device.values.span(), c.ids, c.dim + 1),
                                    .sums = Tensor(sums.span(), c.rows, c.dim),
                                    .x_gradient = ConstTensor(x_gradient.span(), c.rows, c.fields * c.dim),
                                    .logit_gradient = logit_gradient.span(),
                                    .value_gradient = Tensor(gradient.span(), c.ids, c.dim + 1)};
    backend_->EmbedBackward(args);
    args.x_gradient = ConstTensor();
    args.value_gradient = Tensor(without_x.span(), c.ids, c.dim + 1);
    backend_->EmbedBackward(args);
    const auto &got = gradient.Fetch(), &got_without = without_x.Fetch();
    const std::vector<float> zeros(dx.size(), 0);
    for (int64_t k = 0; k < c.ids * (c.dim + 1); k += 1 + c.ids * (c.dim + 1) / 40) {
      const uint32_t id = static_cast<uint32_t>(k / (c.dim + 1));
      const double occurrences = c.begin[id + 1] - c.begin[id];
      const float value = c.values[k], step = 0x1.0p-7f;  // exact: the loss is a polynomial of second degree in each value
      for (bool with_x : {true, false}) {
        c.values[k] = value + step;
        const float up = c.values[k];
        const double above = LinearLoss(c, with_x ? dx : zeros, dl, id);
        c.values[k] = value - step;
        const double width = double{up} - c.values[k];
        const double below = LinearLoss(c, with_x ? dx : zeros, dl, id);
        c.values[k] = value;
        ExpectClose(with_x ? got[k] : got_without[k], (above - below) / width, occurrences * 3 * c.fields, Name(c), 4e-6);
      }
    }
  }
}

}  // namespace
}  // namespace tessera
