#include "absl/strings/str_cat.h"
#include "tests/unit/compute/backend_contract.h"

namespace tessera {
namespace {

std::vector<float> Labels(int64_t n) {
  std::vector<float> labels(n);
  for (int64_t i = 0; i < n; ++i) labels[i] = i % 3 == 1 ? 1.0f : 0.0f;
  return labels;
}

double LossOf(double logit, double label) { return std::max(logit, 0.0) - logit * label + std::log1p(std::exp(-std::abs(logit))); }

TEST_P(OutputContract, ForwardAddsTheProductAndTheBias) {
  for (int64_t n : kRowCounts) {
    for (int64_t k : {0, 1, 3, 16, 33, 400}) {
      Input<float> h(backend_, RandomFloats(n * k, 1)), w(backend_, RandomFloats(k, 2)), bias(backend_, {0.25f});
      const std::vector<float> start = RandomFloats(n, 3);
      Output<float> logits(backend_, start);
      backend_->OutputForward(ConstTensor(h.span(), n, k), w.span(), bias.span(), logits.span());
      const auto& got = logits.Fetch();
      for (int64_t i = 0; i < n; ++i) {
        double want = double{start[i]} + 0.25;
        for (int64_t j = 0; j < k; ++j) want += double{h.host[i * k + j]} * w.host[j];
        ExpectClose(got[i], want, k, absl::StrCat(n, " x ", k), 1e-6);
      }
    }
  }
}

TEST_P(OutputContract, LossAndGradientsEqualTheirDefinition) {
  for (int64_t n : kRowCounts) {
    for (int64_t k : {0, 1, 3, 16, 33, 400}) {
      const float scale = 1.25f;
      Input<float> h(backend_, RandomFloats(n * k, 1)), w(backend_, RandomFloats(k, 2)), bias(backend_, {0.25f}),
          labels(backend_, Labels(n));
      const std::vector<float> start = RandomFloats(n, 3);
      Output<float> logits(backend_, start), same(backend_, start), dl(backend_, n), dbias(backend_, 1), dw(backend_, k),
          dh(backend_, n * k), sums(backend_, k);
      Output<double> loss(backend_, 1);
      backend_->OutputLoss({.h = ConstTensor(h.span(), n, k),
                            .h_scale = scale,
                            .w = w.span(),
                            .bias = bias.span(),
                            .labels = labels.span(),
                            .logits = logits.span(),
                            .loss = loss.span(),
                            .logit_gradient = dl.span(),
                            .bias_gradient = dbias.span(),
                            .w_gradient = dw.span(),
                            .h_gradient = Tensor(dh.span(), n, k),
                            .h_column_sums = sums.span()});
      backend_->OutputForward(ConstTensor(h.span(), n, k), w.span(), bias.span(), same.span());
      EXPECT_EQ(logits.Fetch(), same.Fetch()) << "training and prediction see the same logits";
      const auto &got_dl = dl.Fetch(), &got_dw = dw.Fetch(), &got_dh = dh.Fetch(), &got_sums = sums.Fetch();
      double want_loss = 0, want_bias = 0;
      std::vector<double> want_dw(k), want_sums(k);
      for (int64_t i = 0; i < n; ++i) {
        const double z = logits.Fetch()[i], d = 1 / (1 + std::exp(-z)) - labels.host[i];
        want_loss += LossOf(z, labels.host[i]);
        want_bias += d;
        ExpectClose(got_dl[i], d, 0, "logit gradient", 1e-6);
        for (int64_t j = 0; j < k; ++j) {
          const double g = h.host[i * k + j] > 0 ? d * w.host[j] * scale : 0;
          ExpectClose(got_dh[i * k + j], g, 1, "h gradient", 1e-6);
          want_dw[j] += d * h.host[i * k + j];
          want_sums[j] += g;
        }
      }
      ExpectClose(loss.Fetch()[0], want_loss, n, "loss", 1e-9);
      ExpectClose(dbias.Fetch()[0], want_bias, n, "bias gradient", 1e-6);
      for (int64_t j = 0; j < k; ++j) {
        ExpectClose(got_dw[j], want_dw[j], n, "w gradient", 1e-6);
        ExpectClose(got_sums[j], want_sums[j], n, "column sums", 1e-6);
      }
    }
  }
}

TEST_P(OutputContract, LogitGradientEqualsFiniteDifferences) {
  Input<float> w(backend_, std::vector<float>()), bias(backend_, {0.0f}), labels(backend_, {0, 1, 0, 1, 0, 1});
  const std::vector<float> start = {-3, -3, 0, 0, 5, 5};
  Output<float> logits(backend_, start), dl(backend_, 6), dbias(backend_, 1);
  Output<double> loss(backend_, 1);
  backend_->OutputLoss({.w = w.span(),
                        .bias = bias.span(),
                        .labels = labels.span(),
                        .logits = logits.span(),
                        .loss = loss.span(),
                        .logit_gradient = dl.span(),
                        .bias_gradient = dbias.span()});
  for (size_t i = 0; i < start.size(); ++i) {
    const double step = 1e-5;
    const double want = (LossOf(start[i] + step, labels.host[i]) - LossOf(start[i] - step, labels.host[i])) / (2 * step);
    EXPECT_NEAR(dl.Fetch()[i], want, 1e-6);
  }
}

TEST_P(OutputContract, ExtremeLogitsStayFiniteAndNaNIsSeen) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Input<float> w(backend_, std::vector<float>()), bias(backend_, {0.0f});
  for (float z : {-1e30f, -200.0f, 200.0f, 1e30f, nan}) {
    Input<float> labels(backend_, {1, 0});
    Output<float> logits(backend_, {z, z}), dl(backend_, 2), dbias(backend_, 1);
    Output<double> loss(backend_, 1);
    backend_->OutputLoss({.w = w.span(),
                          .bias = bias.span(),
                          .labels = labels.span(),
                          .logits = logits.span(),
                          .loss = loss.span(),
                          .logit_gradient = dl.span(),
                          .bias_gradient = dbias.span()});
    EXPECT_EQ(std::isfinite(loss.Fetch()[0]), !std::isnan(z));
    EXPECT_EQ(std::isfinite(dl.Fetch()[0] + dl.Fetch()[1]), !std::isnan(z));
  }
}

}  // namespace
}  // namespace tessera
