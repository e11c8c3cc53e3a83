#include "worker/data/numeric.h"

#include <algorithm>
#include <cassert>
#include <cfloat>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

namespace tessera {
namespace {

// `text` is a number by its letters, but beyond float's range: strtod tells which end.
float ClampedNumber(std::string_view text) {
  const double value = std::strtod(std::string(text).c_str(), nullptr);
  return static_cast<float>(std::clamp<double>(value, -FLT_MAX, FLT_MAX));
}

struct DistinctValue {
  float value;
  size_t count;
};

std::vector<DistinctValue> CountDistinct(absl::Span<const float> values) {
  std::vector<float> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<DistinctValue> distinct;
  for (const float value : sorted) {
    if (distinct.empty() || distinct.back().value < value) {
      distinct.push_back({value, 1});
    } else {
      ++distinct.back().count;
    }
  }
  return distinct;
}

// Walks the distinct values and opens a new bucket where the current one has its part of what was left when it began. So a value that
// stands in half of the rows takes one bucket, not half of them.
void AddEdges(const std::vector<DistinctValue>& distinct, size_t rows, int buckets_max, NumericStatistics* statistics) {
  size_t rows_left = rows;
  size_t buckets_left = static_cast<size_t>(buckets_max);
  size_t in_bucket = 0;
  double target = static_cast<double>(rows_left) / static_cast<double>(buckets_left);
  for (size_t i = 0; i < distinct.size(); ++i) {
    const DistinctValue& next = distinct[i];
    const bool full = static_cast<double>(in_bucket) >= target || static_cast<double>(next.count) >= target;
    const bool enough_for_all = distinct.size() - i < buckets_left;
    if (in_bucket > 0 && buckets_left > 1 && (full || enough_for_all)) {
      statistics->add_edges(next.value);
      --buckets_left;
      in_bucket = 0;
      target = static_cast<double>(rows_left) / static_cast<double>(buckets_left);
    }
    in_bucket += next.count;
    rows_left -= next.count;
  }
}

}  // namespace

bool ParseNumber(std::string_view text, float* value) {
  const char* begin = text.data();
  const char* const end = begin + text.size();
  // Counts and ages: up to 7 digits are exact in float.
  if (text.size() - 1 < 7) {
    uint32_t integer = 0;
    const char* p = begin;
    while (p != end && static_cast<unsigned char>(*p - '0') <= 9) integer = integer * 10 + static_cast<uint32_t>(*p++ - '0');
    if (p == end) {
      *value = static_cast<float>(integer);
      return true;
    }
  }
  if (begin != end && *begin == '+') ++begin;
  const char* digits = begin;
  if (digits != end && *digits == '-' && begin == text.data()) ++digits;
  // from_chars would take "inf", "nan" and "+-1".
  if (digits == end || !(static_cast<unsigned char>(*digits - '0') <= 9 || *digits == '.')) return false;
  const auto [parsed, error] = std::from_chars(begin, end, *value);
  if (parsed != end || error == std::errc::invalid_argument) return false;
  if (error == std::errc::result_out_of_range) *value = ClampedNumber(std::string_view(begin, end - begin));
  return true;
}

double SignedLog(float x) { return std::copysign(std::log1p(std::fabs(static_cast<double>(x))), static_cast<double>(x)); }

uint32_t BucketOf(absl::Span<const float> edges, float x) {
  // Branchless: the loop's length depends on the number of edges only.
  const float* base = edges.data();
  size_t length = edges.size();
  if (length == 0) return 0;
  while (length > 1) {
    const size_t half = length / 2;
    base += base[half - 1] <= x ? half : 0;
    length -= half;
  }
  return static_cast<uint32_t>(base - edges.data()) + (*base <= x ? 1 : 0);
}

float ScaledValue(const NumericStatistics& statistics, float x) {
  const double z = (SignedLog(x) - statistics.mean()) / statistics.stddev();
  return static_cast<float>(std::clamp<double>(z, -kScaledValueMax, kScaledValueMax));
}

NumericStatistics BuildStatistics(absl::Span<const float> values, int buckets_max) {
  assert(buckets_max >= 1);
  NumericStatistics statistics;
  statistics.set_stddev(1);
  if (values.empty()) return statistics;
  AddEdges(CountDistinct(values), values.size(), buckets_max, &statistics);
  double sum = 0;
  for (const float value : values) sum += SignedLog(value);
  const double mean = sum / static_cast<double>(values.size());
  double squares = 0;
  for (const float value : values) {
    const double deviation = SignedLog(value) - mean;
    squares += deviation * deviation;
  }
  statistics.set_mean(static_cast<float>(mean));
  // Below this the deviation is the rounding of `mean`, not the column's.
  const double stddev = std::sqrt(squares / static_cast<double>(values.size()));
  if (stddev > std::max<double>(1e-5 * std::fabs(mean), FLT_MIN)) statistics.set_stddev(static_cast<float>(stddev));
  return statistics;
}

}  // namespace tessera
