#include "ps/optimizer/initializer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include <xxhash.h>

namespace tessera {
namespace {

// Always whole blocks, so that no value is computed by the other code of a loop's rest.
constexpr size_t kBlock = 16;
constexpr uint64_t kStride = 0x9e3779b97f4a7c15ull;

// Two 24-bit numbers per element, from the sequence of SplitMix64 that starts at the key.
inline void RandomBlock(uint64_t key, uint64_t first, int32_t* __restrict high, int32_t* __restrict low) {
  const uint64_t base = key + first * kStride;
#pragma omp simd
  for (size_t i = 0; i < kBlock; ++i) {
    const uint64_t bits = Mix64(base + i * kStride);
    high[i] = static_cast<int32_t>(bits >> 40);
    low[i] = static_cast<int32_t>((bits >> 8) & 0xffffff);
  }
}

// Natural logarithm of x in (0, 1]: Cephes' polynomial on [sqrt(1/2), sqrt(2)); relative error about 1e-7.
inline float LogOfUnit(float x) {
  const int32_t bits = std::bit_cast<int32_t>(x);
  // The exponent that brings the mantissa closest to 1: 0x3f3504f3 is sqrt(1/2).
  const int32_t exponent = (bits - 0x3f3504f3) >> 23;
  const float f = std::bit_cast<float>(bits - (exponent << 23)) - 1.0f;
  const float z = f * f;
  float y = 7.0376836292e-2f;
  y = y * f - 1.1514610310e-1f;
  y = y * f + 1.1676998740e-1f;
  y = y * f - 1.2420140846e-1f;
  y = y * f + 1.4249322787e-1f;
  y = y * f - 1.6668057665e-1f;
  y = y * f + 2.0000714765e-1f;
  y = y * f - 2.4999993993e-1f;
  y = y * f + 3.3333331174e-1f;
  const float e = static_cast<float>(exponent);
  return f + (y * f * z - 2.12194440e-4f * e - 0.5f * z) + 0.693359375f * e;
}

// cos(2 pi t) for t in [-1/2, 1/2) as sin(2 pi (1/4 - |t|)): Taylor to the 11th power, error below 1e-7.
inline float CosOfTurn(float t) {
  const float y = 6.2831853072f * (0.25f - std::fabs(t));
  const float z = y * y;
  float s = -2.5052108385e-8f;
  s = s * z + 2.7557319224e-6f;
  s = s * z - 1.9841269841e-4f;
  s = s * z + 8.3333333333e-3f;
  s = s * z - 1.6666666667e-1f;
  return y + y * z * s;
}

// Box and Muller's transform; the second value of each pair is not used, which keeps every element a function of its own index.
inline void NormalBlock(float stddev, const int32_t* __restrict high, const int32_t* __restrict low, float* __restrict out) {
#pragma omp simd
  for (size_t i = 0; i < kBlock; ++i) {
    const float u = static_cast<float>(high[i] + 1) * 0x1.0p-24f;
    const float turn = static_cast<float>(low[i]) * 0x1.0p-24f - 0.5f;
    out[i] = stddev * std::sqrt(-2.0f * LogOfUnit(u)) * CosOfTurn(turn);
  }
}

inline void UniformBlock(float bound, const int32_t* __restrict high, float* __restrict out) {
#pragma omp simd
  for (size_t i = 0; i < kBlock; ++i) out[i] = bound * (static_cast<float>(high[i]) * 0x1.0p-23f - 1.0f);
}

}  // namespace

absl::StatusOr<InitialDistribution> MakeDistribution(const Initializer& initializer, absl::string_view owner) {
  InitialDistribution distribution;
  switch (initializer.kind_case()) {
    case Initializer::kConstant:
      distribution = {InitialDistribution::kConstant, initializer.constant()};
      break;
    case Initializer::kNormalStddev:
      distribution = {InitialDistribution::kNormal, initializer.normal_stddev()};
      break;
    case Initializer::kUniformBound:
      distribution = {InitialDistribution::kUniform, initializer.uniform_bound()};
      break;
    case Initializer::KIND_NOT_SET:
      return absl::InvalidArgumentError(absl::StrCat(owner, ": has no initializer; one of constant, normal, uniform is needed"));
  }
  const bool signs = distribution.kind == InitialDistribution::kConstant;
  if (!std::isfinite(distribution.parameter) || (!signs && distribution.parameter < 0)) {
    return absl::InvalidArgumentError(absl::StrCat(owner, ": initializer's number is ", distribution.parameter, ", must be finite",
                                                   signs ? "" : " and 0 or more"));
  }
  return distribution;
}

uint64_t InitialKey(uint64_t seed, absl::string_view name) { return MixKey(seed, XXH3_64bits(name.data(), name.size())); }
uint64_t InitialRowKey(uint64_t table_key, uint64_t id) { return MixKey(table_key, id); }

void InitialValues(const InitialDistribution& distribution, uint64_t key, uint64_t first, absl::Span<float> values) {
  if (distribution.kind == InitialDistribution::kConstant || distribution.parameter == 0) {
    std::fill(values.begin(), values.end(), distribution.parameter);
    return;
  }
  alignas(64) int32_t high[kBlock];
  alignas(64) int32_t low[kBlock];
  alignas(64) float block[kBlock];
  for (size_t begin = 0; begin < values.size(); begin += kBlock) {
    RandomBlock(key, first + begin, high, low);
    if (distribution.kind == InitialDistribution::kNormal) {
      NormalBlock(distribution.parameter, high, low, block);
    } else {
      UniformBlock(distribution.parameter, high, block);
    }
    std::memcpy(values.data() + begin, block, std::min(kBlock, values.size() - begin) * sizeof(float));
  }
}

}  // namespace tessera
