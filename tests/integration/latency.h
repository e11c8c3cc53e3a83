// How long calls took: counted in buckets, so that any number of them takes the same memory.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "absl/time/time.h"

namespace tessera {

// Buckets are 2 % wide, from a microsecond to hours. Copyable; one owner.
class Latency {
 public:
  void Add(absl::Duration taken) {
    const double us = std::max(1.0, absl::ToDoubleMicroseconds(taken));
    ++buckets_[std::min(buckets_.size() - 1, static_cast<size_t>(std::log(us) * kPerE))];
    ++count_;
  }
  void Add(const Latency& other) {
    for (size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
    count_ += other.count_;
  }
  uint64_t count() const { return count_; }
  // So many milliseconds, or a bucket more, were enough for this fraction of the calls. 0: there were none.
  double Quantile(double fraction) const {
    uint64_t left = static_cast<uint64_t>(std::ceil(fraction * static_cast<double>(count_)));
    if (count_ == 0) return 0;
    size_t i = 0;
    while (i + 1 < buckets_.size() && buckets_[i] < left) left -= buckets_[i++];
    return std::exp(static_cast<double>(i + 1) / kPerE) / 1000;
  }

 private:
  static constexpr double kPerE = 50;
  std::array<uint64_t, 1200> buckets_{};
  uint64_t count_ = 0;
};

}  // namespace tessera
