#include "absl/strings/str_cat.h"
#include "tests/unit/compute/backend_contract.h"
#include "worker/compute/dropout.h"

namespace tessera {
namespace {

// sum over p of a(p) * b(p), and of the absolute terms.
struct Sum {
  double value = 0;
  double magnitude = 0;
  void Add(double term) { value += term, magnitude += std::abs(term); }
};

TEST_P(LinearContract, ForwardIsTheProductPlusBias) {
  for (int64_t n : kRowCounts) {
    for (int64_t in : kWidths) {
      for (int64_t out : kWidths) {
        Input<float> x(backend_, RandomFloats(n * in, 1)), w(backend_, RandomFloats(in * out, 2)), bias(backend_, RandomFloats(out, 3));
        Output<float> y(backend_, n * out), plain(backend_, n * out);
        backend_->LinearForward(ConstTensor(x.span(), n, in), ConstTensor(w.span(), in, out), {.bias = bias.span()},
                                Tensor(y.span(), n, out));
        backend_->LinearForward(ConstTensor(x.span(), n, in), ConstTensor(w.span(), in, out), {}, Tensor(plain.span(), n, out));
        const auto& got = y.Fetch();
        const auto& got_plain = plain.Fetch();
        for (int64_t i = 0; i < n * out; ++i) {
          Sum sum;
          for (int64_t p = 0; p < in; ++p) sum.Add(double{x.host[i / out * in + p]} * w.host[p * out + i % out]);
          ExpectClose(got_plain[i], sum.value, sum.magnitude, absl::StrCat(n, " x ", in, " x ", out));
          ExpectClose(got[i], sum.value + bias.host[i % out], sum.magnitude + 1, absl::StrCat(n, " x ", in, " x ", out));
        }
      }
    }
  }
}

TEST_P(LinearContract, ReluKeepsPositiveValuesAndNaN) {
  Input<float> x(backend_, {1, -1, std::numeric_limits<float>::quiet_NaN()}), w(backend_, {1, -2, 0}), bias(backend_, {0.5f, 0, 0});
  Output<float> y(backend_, 9);
  backend_->LinearForward(ConstTensor(x.span(), 3, 1), ConstTensor(w.span(), 1, 3), {.bias = bias.span(), .relu = true},
                          Tensor(y.span(), 3, 3));
  const auto& got = y.Fetch();
  EXPECT_EQ(std::vector<float>(got.begin(), got.begin() + 6), (std::vector<float>{1.5f, 0, 0, 0, 2, 0}));
  for (int j = 6; j < 9; ++j) EXPECT_TRUE(std::isnan(got[j]));
}

TEST_P(LinearContract, DropoutDependsOnKeyRowAndUnitOnly) {
  const int64_t n = 70, in = 5, out = 33;
  Input<float> x(backend_, RandomFloats(n * in, 1)), w(backend_, RandomFloats(in * out, 2)), bias(backend_, std::vector<float>(out, 10.0f));
  const Dropout dropout{.rate = 0.3, .key = 77, .first_row = 1000};
  Output<float> kept(backend_, n * out), y(backend_, n * out), tail(backend_, (n - 20) * out);
  backend_->LinearForward(ConstTensor(x.span(), n, in), ConstTensor(w.span(), in, out), {.bias = bias.span(), .relu = true},
                          Tensor(kept.span(), n, out));
  backend_->LinearForward(ConstTensor(x.span(), n, in), ConstTensor(w.span(), in, out),
                          {.bias = bias.span(), .relu = true, .dropout = dropout}, Tensor(y.span(), n, out));
  Dropout later = dropout;
  later.first_row += 20;
  backend_->LinearForward(ConstTensor(x.span(), n, in).Rows(20, n - 20), ConstTensor(w.span(), in, out),
                          {.bias = bias.span(), .relu = true, .dropout = later}, Tensor(tail.span(), n - 20, out));
  const auto &whole = kept.Fetch(), &got = y.Fetch(), &got_tail = tail.Fetch();
  for (int64_t i = 0; i < n * out; ++i) {
    const bool dropped = DropoutBits(MakeDropoutRow(77, 1000 + i / out), i % out) < DropoutThreshold(0.3);
    ASSERT_FLOAT_EQ(got[i], dropped ? 0 : whole[i] * dropout.scale());
    if (i / out >= 20) {
      ASSERT_EQ(got_tail[i - 20 * out], got[i]);
    }
  }
}

TEST_P(LinearContract, ARowDependsNeitherOnItsPlaceNorOnItsNeighbours) {
  for (int64_t in : {1, 2, 7, 33, 129, 700}) {
    for (int64_t out : {1, 2, 3, 33, 400}) {
      const int64_t n = 193;
      const std::vector<float> one = RandomFloats(in, 9);
      Input<float> w(backend_, RandomFloats(in * out, 2)), alone(backend_, one);
      Output<float> y(backend_, out);
      backend_->LinearForward(ConstTensor(alone.span(), 1, in), ConstTensor(w.span(), in, out), {}, Tensor(y.span(), 1, out));
      const std::vector<float> want = y.Fetch();
      for (int64_t place : {0, 1, 5, 8, 63, 64, 130, 191, 192}) {
        std::vector<float> rows = RandomFloats(n * in, 10 + place);
        std::copy(one.begin(), one.end(), rows.begin() + place * in);
        Input<float> x(backend_, rows);
        Output<float> all(backend_, n * out);
        backend_->LinearForward(ConstTensor(x.span(), n, in), ConstTensor(w.span(), in, out), {}, Tensor(all.span(), n, out));
        const auto& got = all.Fetch();
        ASSERT_EQ(std::vector<float>(got.begin() + place * out, got.begin() + (place + 1) * out), want)
            << in << " x " << out << ", row " << place;
      }
    }
  }
}

TEST_P(LinearContract, BackwardInputGoesThroughTheReluAndDropoutBelow) {
  for (int64_t n : kRowCounts) {
    for (int64_t in : kWidths) {
      for (int64_t out : {1, 2, 7, 65}) {
        Input<float> dy(backend_, RandomFloats(n * out, 1)), w(backend_, RandomFloats(in * out, 2)), x(backend_, RandomFloats(n * in, 3));
        Output<float> plain(backend_, n * in), carried(backend_, n * in), sums(backend_, in);
        backend_->LinearBackwardInput(ConstTensor(dy.span(), n, out), ConstTensor(w.span(), in, out), {}, Tensor(plain.span(), n, in));
        backend_->LinearBackwardInput(ConstTensor(dy.span(), n, out), ConstTensor(w.span(), in, out),
                                      {.output = ConstTensor(x.span(), n, in), .scale = 1.25f, .column_sums = sums.span()},
                                      Tensor(carried.span(), n, in));
        const auto &got = plain.Fetch(), &through = carried.Fetch(), &got_sums = sums.Fetch();
        std::vector<Sum> columns(in);
        for (int64_t i = 0; i < n * in; ++i) {
          Sum sum;
          for (int64_t p = 0; p < out; ++p) sum.Add(double{dy.host[i / in * out + p]} * w.host[i % in * out + p]);
          ExpectClose(got[i], sum.value, sum.magnitude, "plain");
          const double want = x.host[i] > 0 ? 1.25 * sum.value : 0;
          ExpectClose(through[i], want, sum.magnitude, "carried");
          columns[i % in].Add(want);
        }
        for (int64_t j = 0; j < in; ++j) ExpectClose(got_sums[j], columns[j].value, columns[j].magnitude, "column sums", 1e-5);
      }
    }
  }
}

TEST_P(LinearContract, BackwardWeightsSumsOverTheBatch) {
  for (int64_t n : {0, 1, 3, 17, 64, 129, 2049, 5000}) {
    for (int64_t in : {1, 2, 5, 33, 129}) {
      for (int64_t out : {1, 3, 16, 50}) {
        Input<float> x(backend_, RandomFloats(n * in, 1)), dy(backend_, RandomFloats(n * out, 2));
        Output<float> dw(backend_, in * out);
        backend_->LinearBackwardWeights(ConstTensor(x.span(), n, in), ConstTensor(dy.span(), n, out), Tensor(dw.span(), in, out));
        const auto& got = dw.Fetch();
        for (int64_t k = 0; k < in * out; k += 1 + in * out / 100) {
          Sum sum;
          for (int64_t i = 0; i < n; ++i) sum.Add(double{x.host[i * in + k / out]} * dy.host[i * out + k % out]);
          ExpectClose(got[k], sum.value, sum.magnitude, absl::StrCat(n, " x ", in, " x ", out));
        }
      }
    }
  }
}

TEST_P(LinearContract, WideWeightsAreCutAndPutTogether) {
  const int64_t n = 300, in = 1300, out = 1100;
  Input<float> x(backend_, RandomFloats(n * in, 1)), dy(backend_, RandomFloats(n * out, 2));
  Output<float> dw(backend_, in * out);
  backend_->LinearBackwardWeights(ConstTensor(x.span(), n, in), ConstTensor(dy.span(), n, out), Tensor(dw.span(), in, out));
  const auto& got = dw.Fetch();
  for (int64_t k = 0; k < in * out; k += 1013) {
    Sum sum;
    for (int64_t i = 0; i < n; ++i) sum.Add(double{x.host[i * in + k / out]} * dy.host[i * out + k % out]);
    ExpectClose(got[k], sum.value, sum.magnitude, absl::StrCat(k));
  }
}

TEST_P(LinearContract, WeightedColumnSumsOverAllRows) {
  for (int64_t n : kRowCounts) {
    for (int64_t cols : kWidths) {
      Input<float> x(backend_, RandomFloats(n * cols, 1)), weights(backend_, RandomFloats(n, 2));
      Output<float> sums(backend_, cols);
      backend_->WeightedColumnSums(ConstTensor(x.span(), n, cols), weights.span(), sums.span());
      const auto& got = sums.Fetch();
      for (int64_t j = 0; j < cols; ++j) {
        Sum sum;
        for (int64_t i = 0; i < n; ++i) sum.Add(double{x.host[i * cols + j]} * weights.host[i]);
        ExpectClose(got[j], sum.value, sum.magnitude, "sum");
      }
    }
  }
}

}  // namespace
}  // namespace tessera
