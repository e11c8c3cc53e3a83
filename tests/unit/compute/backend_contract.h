// The suite every backend passes: *_contract.cc hold the tests, a backend's own file instantiates them with its factory. References are
// plain loops in double.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "common/random.h"
#include "gtest/gtest.h"
#include "worker/compute/backend.h"

namespace tessera {

struct BackendFactory {
  std::string name;
  std::function<std::unique_ptr<Backend>()> make;
};
inline std::ostream& operator<<(std::ostream& out, const BackendFactory& factory) { return out << factory.name; }

// Input of an operation: host content and its device copy.
template <class T>
class Input {
 public:
  Input(Backend* backend, std::vector<T> host) : host(std::move(host)), staging_(backend), backend_(backend) {}
  DeviceSpan<const T> span() {
    auto device = backend_->Upload(absl::MakeConstSpan(host), &staging_);
    EXPECT_TRUE(device.ok());
    return *device;
  }
  const std::vector<T> host;

 private:
  Buffer staging_;
  Backend* backend_;
};

// Output of an operation: starts as NaN (or the largest number), so that an element that was not written is seen.
template <class T>
class Output {
 public:
  Output(Backend* backend, int64_t size) : Output(backend, std::vector<T>(size, Garbage())) {}
  // In and out.
  Output(Backend* backend, std::vector<T> start) : host_(std::move(start)), staging_(backend), backend_(backend) {
    // Through Upload, so that a backend with memory of its own sees the start too.
    auto device = backend_->ResultFor(absl::MakeSpan(host_), &staging_);
    EXPECT_TRUE(device.ok());
    span_ = *device;
  }
  DeviceSpan<T> span() { return span_; }
  const std::vector<T>& Fetch() {
    backend_->Download(span_, absl::MakeSpan(host_));
    EXPECT_TRUE(backend_->Finish().ok());
    return host_;
  }

 private:
  static T Garbage() { return std::numeric_limits<T>::has_quiet_NaN ? std::numeric_limits<T>::quiet_NaN() : std::numeric_limits<T>::max(); }
  std::vector<T> host_;
  Buffer staging_;
  Backend* backend_;
  DeviceSpan<T> span_;
};

// Uniform in [-1, 1), a function of the key.
inline std::vector<float> RandomFloats(int64_t size, uint64_t key) {
  RandomSequence random(key);
  std::vector<float> values(size);
  for (float& v : values) v = 2 * UniformFloat(random.Next()) - 1;
  return values;
}

// |got - want| <= tolerance * (1 + magnitude), where magnitude is the sum of the absolute terms that make `want`.
inline void ExpectClose(double got, double want, double magnitude, const std::string& what, double tolerance = 2e-6) {
  ASSERT_LE(std::abs(got - want), tolerance * (1 + magnitude)) << what << ": got " << got << ", want " << want;
}

class BackendContract : public ::testing::TestWithParam<BackendFactory> {
 protected:
  std::unique_ptr<Backend> owned_ = GetParam().make();
  Backend* const backend_ = owned_.get();
};

// One suite for each group of operations; a backend instantiates all of them.
class LinearContract : public BackendContract {};
class EmbedContract : public BackendContract {};
class OutputContract : public BackendContract {};

// 1, odd, prime, larger than a block of any backend.
inline const int64_t kRowCounts[] = {0, 1, 3, 17, 64, 65, 200};
inline const int64_t kWidths[] = {1, 2, 3, 5, 16, 33, 50, 129};

}  // namespace tessera
