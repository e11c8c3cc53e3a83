// bench_optimizer [ROWS [PAIRS]]: Adagrad over rows where they lie, against reading and writing the same bytes once.
#include <cstring>

#include "common/heap.h"
#include "ps/table/huge_buffer.h"
#include "tests/bench/bench_rows.h"

namespace tessera {
namespace {

// Rows as they lie in memory: a header, then the floats, in whole cache lines.
constexpr size_t kStride = 192;
constexpr size_t kFloatsAt = sizeof(MemoryRow);
// Gradient sums of as many rows as a partition has in a step: they are still in the cache when they are applied.
constexpr size_t kSums = 128;

void AddToAll(char* begin, const char* end) {
  float* __restrict value = reinterpret_cast<float*>(begin);
  const size_t count = static_cast<size_t>(end - begin) / sizeof(float);
#pragma omp simd
  for (size_t i = 0; i < count; ++i) value[i] += 0.5f;
}

int Main(int argc, char** argv) {
  const size_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000000;
  const int pairs = argc > 2 ? std::atoi(argv[2]) : 15;
  const std::shared_ptr<const RowLayout> layout = BenchLayout();
  HugeBuffer ours(rows * kStride), raw(rows * kStride);
  for (size_t row = 0; row < rows; ++row) layout->InitialFloats(row, reinterpret_cast<float*>(ours.data() + row * kStride + kFloatsAt));
  std::memset(raw.data(), 0, raw.bytes());
  std::vector<float> sums(kSums * kDim);
  for (size_t i = 0; i < sums.size(); ++i) sums[i] = UniformFloat(Mix64(i)) - 0.5f;
  UpdateRule rule;
  rule.learning_rate = 0.01;
  const RowLayout::Update update(*layout, rule);
  for (int threads : {1, 2}) {
    const auto begin_of = [&](int t) { return rows * static_cast<size_t>(t) / static_cast<size_t>(threads); };
    const auto apply = [&](int) {
      OnThreads(threads, [&](int t) {
        for (size_t row = begin_of(t); row < begin_of(t + 1); ++row) {
          update.Apply(&sums[row % kSums * kDim], reinterpret_cast<float*>(ours.data() + row * kStride + kFloatsAt));
        }
      });
    };
    const auto stream = [&](int) {
      OnThreads(threads, [&](int t) { AddToAll(raw.data() + begin_of(t) * kStride, raw.data() + begin_of(t + 1) * kStride); });
    };
    Compare(absl::StrCat(threads, " threads: Adagrad on 17 + 17 floats, raw adds to all"), static_cast<double>(rows) * 1e-6, "M rows", pairs,
            apply, stream);
  }
  return 0;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  tessera::KeepFreedMemory();  // as the server does
  return tessera::Main(argc, argv);
}
