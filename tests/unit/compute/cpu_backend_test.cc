// The CPU backend: the contract at several numbers of threads, and what only it promises.
#include "worker/compute/cpu/cpu_backend.h"

#include <cstring>
#include <utility>

#include "common/thread_pool.h"
#include "tests/unit/compute/backend_contract.h"
#include "tests/unit/compute/sparse_case.h"

namespace tessera {
namespace {

// A fresh backend on a pool that lives as long as the process's tests.
BackendFactory CpuFactory(int threads) {
  return {"cpu_" + std::to_string(threads), [threads] {
            static auto* pools = new std::vector<std::unique_ptr<ThreadPool>>(16);
            if ((*pools)[threads] == nullptr) (*pools)[threads] = std::make_unique<ThreadPool>(threads);
            return MakeCpuBackend((*pools)[threads].get());
          }};
}

std::string NameOf(const ::testing::TestParamInfo<BackendFactory>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Cpu, LinearContract, ::testing::Values(CpuFactory(1), CpuFactory(3)), NameOf);
INSTANTIATE_TEST_SUITE_P(Cpu, EmbedContract, ::testing::Values(CpuFactory(1), CpuFactory(3)), NameOf);
INSTANTIATE_TEST_SUITE_P(Cpu, OutputContract, ::testing::Values(CpuFactory(1), CpuFactory(3)), NameOf);

// Every operation once, on shapes that are cut into many pieces; all results one after the other.
std::vector<float> RunEverything(Backend* backend) {
  const SparseCase c = MakeSparseCase(4500, 5, 10, 2, true, true);
  const int64_t n = c.rows, x_width = c.fields * c.dim, width = x_width + c.dense, k = 33;
  DeviceSparseCase device(backend, c);
  Output<float> x(backend, n * width), sums(backend, n * c.dim), logits(backend, n), h(backend, n * k), dl(backend, n), dbias(backend, 1),
      dw_out(backend, k);
  Output<float> dh(backend, n * k), dh_sums(backend, k), dw(backend, width * k), dx(backend, n * x_width), through(backend, n * k),
      through_sums(backend, k);
  Output<float> rows(backend, c.ids * (c.dim + 1)), dense(backend, c.dense);
  Output<double> loss(backend, 1);
  Input<float> w(backend, RandomFloats(width * k, 1)), b(backend, RandomFloats(k, 2)), w_out(backend, RandomFloats(k, 3)),
      bias(backend, {0.5f});
  Input<float> labels(backend, std::vector<float>(n, 1.0f)), square(backend, RandomFloats(k * k, 4));
  const ConstTensor values(device.values.span(), c.ids, c.dim + 1), weights(w.span(), width, k);
  const Occurrences occurrences = device.occurrences();
  backend->EmbedForward({.occurrences = occurrences,
                         .values = values,
                         .dense = ConstTensor(device.dense.span(), n, c.dense),
                         .dense_weights = device.dense_weights.span(),
                         .x = Tensor(x.span(), n, width),
                         .sums = Tensor(sums.span(), n, c.dim),
                         .logits = logits.span()});
  backend->LinearForward(Tensor(x.span(), n, width), weights, {.bias = b.span(), .relu = true, .dropout = {.rate = 0.2, .key = 9}},
                         Tensor(h.span(), n, k));
  backend->OutputLoss({.h = Tensor(h.span(), n, k),
                       .w = w_out.span(),
                       .bias = bias.span(),
                       .labels = labels.span(),
                       .logits = logits.span(),
                       .loss = loss.span(),
                       .logit_gradient = dl.span(),
                       .bias_gradient = dbias.span(),
                       .w_gradient = dw_out.span(),
                       .h_gradient = Tensor(dh.span(), n, k),
                       .h_column_sums = dh_sums.span()});
  backend->LinearBackwardWeights(Tensor(x.span(), n, width), Tensor(dh.span(), n, k), Tensor(dw.span(), width, k));
  backend->LinearBackwardInput(Tensor(dh.span(), n, k), weights.Rows(0, x_width), {}, Tensor(dx.span(), n, x_width));
  backend->LinearBackwardInput(Tensor(dh.span(), n, k), ConstTensor(square.span(), k, k),
                               {.output = Tensor(h.span(), n, k), .scale = 1.25f, .column_sums = through_sums.span()},
                               Tensor(through.span(), n, k));
  backend->EmbedBackward({.occurrences = occurrences,
                          .values = values,
                          .sums = Tensor(sums.span(), n, c.dim),
                          .x_gradient = Tensor(dx.span(), n, x_width),
                          .logit_gradient = dl.span(),
                          .value_gradient = Tensor(rows.span(), c.ids, c.dim + 1)});
  backend->WeightedColumnSums(ConstTensor(device.dense.span(), n, c.dense), dl.span(), dense.span());
  std::vector<float> all;
  for (auto* out : {&x, &sums, &logits, &h, &dl, &dbias, &dw_out, &dh, &dh_sums, &dw, &dx, &through, &through_sums, &rows, &dense}) {
    all.insert(all.end(), out->Fetch().begin(), out->Fetch().end());
  }
  all.push_back(static_cast<float>(loss.Fetch()[0]));
  return all;
}

TEST(CpuBackendTest, BitsDoNotDependOnTheNumberOfThreads) {
  const std::vector<float> want = RunEverything(CpuFactory(1).make().get());
  for (int threads : {2, 3, 8}) {
    for (int repetition = 0; repetition < 2; ++repetition) {
      const std::vector<float> got = RunEverything(CpuFactory(threads).make().get());
      ASSERT_EQ(got.size(), want.size());
      ASSERT_EQ(std::memcmp(got.data(), want.data(), want.size() * sizeof(float)), 0) << threads << " threads";
    }
  }
}

TEST(CpuBackendTest, BitsDoNotDependOnWhereMatricesLie) {
  const auto backend = CpuFactory(2).make();
  const int64_t n = 130, in = 37, out = 50;
  std::vector<float> want, want_dw;
  for (int64_t shift : {0, 1, 3, 7}) {
    // Wider rows and another first address; the values are the same.
    const int64_t stride = in + shift;
    std::vector<float> x(n * stride + shift), w = RandomFloats(in * out, 2), dense = RandomFloats(n * in, 1), y(n * out), dw(in * out);
    for (int64_t i = 0; i < n; ++i) std::copy_n(dense.begin() + i * in, in, x.begin() + shift + i * stride);
    const ConstTensor input(x.data() + shift, n, in, stride);
    backend->LinearForward(input, ConstTensor(w.data(), in, out, out), {}, Tensor(y.data(), n, out, out));
    backend->LinearBackwardWeights(input, ConstTensor(y.data(), n, out, out), Tensor(dw.data(), in, out, out));
    if (shift == 0) want = y, want_dw = dw;
    ASSERT_EQ(y, want) << shift;
    ASSERT_EQ(dw, want_dw) << shift;
  }
}

}  // namespace
}  // namespace tessera
