// From a number to what the model sees of it: a bucket, and a standardised value. Always finite.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "proto/plan.pb.h"

namespace tessera {

// Standardised values are clamped to +- this: an outlier must not blow up a step.
inline constexpr float kScaledValueMax = 8.0f;
inline constexpr int kBucketsDefault = 40;

// Reads a decimal number: sign (also '+'), digits, fraction, exponent. False for anything else, "inf" and "nan" included. Values beyond
// float's range become its largest or smallest, so the result is finite.
bool ParseNumber(std::string_view text, float* value);

// sign(x) * ln(1 + |x|): tames long tails, keeps signs, is finite for every finite x.
double SignedLog(float x);

// Number of edges <= x. REQUIRES: edges ascend strictly.
uint32_t BucketOf(absl::Span<const float> edges, float x);
inline uint32_t BucketOf(const NumericStatistics& statistics, float x) { return BucketOf(statistics.edges(), x); }
// clamp((SignedLog(x) - mean) / stddev, -8, 8).
float ScaledValue(const NumericStatistics& statistics, float x);

// Statistics of a column's values that are not missing (any order). At most `buckets_max` buckets of about equal numbers of rows; a value
// that fills a bucket of its own gets it, and with few distinct values each has its own. A constant or empty column has no edges, and
// stddev 1. REQUIRES: values are finite, buckets_max >= 1.
NumericStatistics BuildStatistics(absl::Span<const float> values, int buckets_max = kBucketsDefault);

}  // namespace tessera
