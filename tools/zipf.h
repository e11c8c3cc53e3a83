// Numbers by Zipf's law.
#pragma once

#include <cstdint>

#include "common/random.h"

namespace tessera {

// Draws k in [1, n] with a probability in proportion to k^-exponent, by rejection from the integral of the density (Hörmann and Derflinger
// 1996): constant time and no table. (absl::zipf_distribution does the same but does not promise to stay the same, and data generated
// today must be generated again tomorrow.) Thread-safe: constant after construction. REQUIRES: n >= 1, exponent > 1.
class Zipf {
 public:
  Zipf(uint32_t n, double exponent);
  uint32_t Draw(RandomSequence* random) const;

 private:
  double Integral(double x) const;  // of t^-exponent, up to a constant
  double IntegralInverse(double y) const;

  const uint32_t n_;
  const double exponent_;
  double low_, high_;  // Integral over [0.5 + ..., n + 0.5], what a uniform number is drawn from
  double squeeze_;     // k - x at most this is accepted without a further look
};

}  // namespace tessera
