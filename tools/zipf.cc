#include "tools/zipf.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace tessera {

Zipf::Zipf(uint32_t n, double exponent) : n_(n), exponent_(exponent) {
  assert(n >= 1 && exponent > 1);
  low_ = Integral(1.5) - 1;
  high_ = Integral(n + 0.5);
  squeeze_ = 2 - IntegralInverse(Integral(2.5) - std::pow(2.0, -exponent));
}

double Zipf::Integral(double x) const { return std::pow(x, 1 - exponent_) / (1 - exponent_); }

double Zipf::IntegralInverse(double y) const { return std::pow((1 - exponent_) * y, 1 / (1 - exponent_)); }

uint32_t Zipf::Draw(RandomSequence* random) const {
  while (true) {
    const double y = high_ + UniformDouble(random->Next()) * (low_ - high_);
    const double x = IntegralInverse(y);
    const double k = std::clamp(std::floor(x + 0.5), 1.0, static_cast<double>(n_));
    if (k - x <= squeeze_ || y >= Integral(k + 0.5) - std::pow(k, -exponent_)) return static_cast<uint32_t>(k);
  }
}

}  // namespace tessera
