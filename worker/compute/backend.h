// Compute backends: the few operations that models are made of, over memory that belongs to the backend.
//
// An operation is queued or done at once, as the backend likes; Finish() waits for all that was asked for. Operations read and write
// device memory only: nothing may look behind a DeviceSpan or Tensor but the backend that made it. Every operation says the shapes it
// wants at its parameters and asserts them: a wrong shape is a bug of the graph, found before the first step (worker/model/graph.h).
//
// Every backend passes the contract suite of tests/unit/compute. Sums are made in an order fixed by the shapes, so the same inputs give
// the same bits again and again; the values of a row in a forward operation do not depend on the other rows, nor on their number.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace tessera {

class Backend;

// A run of elements in a backend's memory: a view, valid as long as the Buffer or host memory behind it.
template <class T>
struct DeviceSpan {
  T* data = nullptr;
  int64_t size = 0;

  bool empty() const { return size == 0; }
  DeviceSpan Sub(int64_t begin, int64_t count) const {
    assert(begin >= 0 && count >= 0 && begin + count <= size);
    return {data + begin, count};
  }
  operator DeviceSpan<const T>() const { return {data, size}; }
};

// A row-major matrix in a backend's memory; row i begins at data + i * stride. Without columns it stands for "not there".
template <class T>
struct Matrix {
  T* data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t stride = 0;

  Matrix() = default;
  Matrix(T* data, int64_t rows, int64_t cols, int64_t stride) : data(data), rows(rows), cols(cols), stride(stride) {}
  Matrix(DeviceSpan<T> span, int64_t rows, int64_t cols) : Matrix(span.data, rows, cols, cols) { assert(span.size == rows * cols); }
  bool empty() const { return cols == 0; }
  Matrix Rows(int64_t begin, int64_t count) const {
    assert(begin >= 0 && count >= 0 && begin + count <= rows);
    return {data + begin * stride, count, cols, stride};
  }
  operator Matrix<const T>() const { return {data, rows, cols, stride}; }
};
using Tensor = Matrix<float>;
using ConstTensor = Matrix<const float>;

// Memory of one backend that grows and never shrinks. Owned by one thread; the backend outlives it.
class Buffer {
 public:
  explicit Buffer(Backend* backend) : backend_(backend) {}
  Buffer(Buffer&& other) noexcept : backend_(other.backend_), data_(other.data_), bytes_(other.bytes_) {
    other.data_ = nullptr, other.bytes_ = 0;
  }
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer();

  // Room for `count` elements. What was there before is lost when the buffer has to grow.
  template <class T>
  absl::StatusOr<DeviceSpan<T>> Reserve(int64_t count) {
    absl::Status status = ReserveBytes(static_cast<size_t>(count) * sizeof(T));
    if (!status.ok()) return status;
    return DeviceSpan<T>{static_cast<T*>(data_), count};
  }

 private:
  absl::Status ReserveBytes(size_t bytes);

  Backend* backend_;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

// Where a batch's look-ups go. n rows, F fields, u unique ids; layout as in worker/data/rows.h and worker/batch/batch.h.
struct Occurrences {
  int64_t rows = 0;
  int64_t fields = 0;
  DeviceSpan<const uint32_t> inverse;  // [occurrences] -> unique id
  DeviceSpan<const float> scales;      // [occurrences], or empty: all are 1
  DeviceSpan<const uint32_t> offsets;  // [n * F + 1], or empty: one occurrence for each (row, field)
  // Only for going backward:
  DeviceSpan<const uint32_t> slots;  // [occurrences] -> row * F + field (ExpandOffsets); empty where `offsets` is
  DeviceSpan<const uint32_t> begin;  // [u + 1] where the occurrences of each id begin in `order`
  DeviceSpan<const uint32_t> order;  // [occurrences], grouped by id
};

// Which units are dropped: a function of (key, first_row + row, unit). The others are multiplied by 1 / (1 - rate).
struct Dropout {
  double rate = 0;  // in [0, 1); 0: nothing is dropped
  uint64_t key = 0;
  uint64_t first_row = 0;
  float scale() const { return rate > 0 ? static_cast<float>(1 / (1 - rate)) : 1.0f; }
};

// What a forward linear map does to its result, before it leaves the cache.
struct Activation {
  DeviceSpan<const float> bias = {};  // [out], or empty
  bool relu = false;                  // negative -> 0; NaN stays NaN, so that it is seen
  Dropout dropout = {};               // after ReLU; REQUIRES relu where the rate is not 0
};

// What a backward linear map does to its result dx [n, in]: it is carried on through the ReLU and dropout that made x.
struct ActivationGradient {
  ConstTensor output = {};             // x [n, in] as it left that ReLU and dropout; empty: dx is left alone
  float scale = 1;                     // of that dropout
  DeviceSpan<float> column_sums = {};  // [in]: of the carried dx, that is, the gradient of the bias below
};

// All floats are fp32. Shapes: n rows of the batch (0 allowed), u unique ids, F fields, d embedding dimension, w dense inputs.
// Owned by one thread.
class Backend {
 public:
  virtual ~Backend() = default;

  // Memory -----------------------------------------------------------------------------------------------------------------------------
  // At least 64-byte aligned. RESOURCE_EXHAUSTED where there is none.
  virtual absl::StatusOr<void*> Allocate(size_t bytes) = 0;
  virtual void Free(void* data) = 0;

  // `host` as device memory: a copy in `staging`, or `host` itself where the backend computes in host memory. `host` must stay as it is
  // until Finish().
  template <class T>
  absl::StatusOr<DeviceSpan<const T>> Upload(absl::Span<const T> host, Buffer* staging) {
    absl::StatusOr<const void*> data = UploadBytes(host.data(), host.size() * sizeof(T), staging);
    if (!data.ok()) return data.status();
    return DeviceSpan<const T>{static_cast<const T*>(*data), static_cast<int64_t>(host.size())};
  }
  // Device memory for results that Download will bring to `host`: room in `staging`, or `host` itself.
  template <class T>
  absl::StatusOr<DeviceSpan<T>> ResultFor(absl::Span<T> host, Buffer* staging) {
    absl::StatusOr<void*> data = ResultBytes(host.data(), host.size() * sizeof(T), staging);
    if (!data.ok()) return data.status();
    return DeviceSpan<T>{static_cast<T*>(*data), static_cast<int64_t>(host.size())};
  }
  // Brings device memory to `host`, complete after Finish(). Nothing is done where both are the same memory.
  template <class T>
  void Download(DeviceSpan<T> device, absl::Span<std::remove_const_t<T>> host) {
    assert(device.size == static_cast<int64_t>(host.size()));
    DownloadBytes(device.data, host.size() * sizeof(T), host.data());
  }
  // Waits for everything asked for; the first thing that went wrong since the last Finish.
  virtual absl::Status Finish() = 0;

  // Sparse input -----------------------------------------------------------------------------------------------------------------------
  // slots[o] = the k with offsets[k] <= o < offsets[k + 1].
  virtual void ExpandOffsets(DeviceSpan<const uint32_t> offsets, DeviceSpan<uint32_t> slots) = 0;

  // Look-up, pooling and factorisation machine in one pass. With (weight, v) the row of an occurrence's id and s its scale, row i gets
  //   x[i, f * d ...]  = sum of s * v over the occurrences of field f (zeros if it has none);   x[i, F * d ...] = dense[i]
  //   sums[i]          = sum of s * v over all occurrences
  //   logits[i]        = sum of s * weight + dense[i] . dense_weights + (|sums[i]|^2 - sum of s^2 |v|^2) / 2
  struct EmbedForwardArgs {
    Occurrences occurrences = {};
    ConstTensor values = {};                     // [u, 1 + d]: weight, embedding
    ConstTensor dense = {};                      // [n, w], or empty
    DeviceSpan<const float> dense_weights = {};  // [w]
    Tensor x = {};                               // [n, F * d + w], or empty: not wanted
    Tensor sums = {};                            // [n, d]
    DeviceSpan<float> logits = {};               // [n]
  };
  virtual void EmbedForward(const EmbedForwardArgs& args) = 0;

  // Its gradient for each unique id, summed over the id's occurrences in their order.
  struct EmbedBackwardArgs {
    Occurrences occurrences = {};                 // with slots, begin, order
    ConstTensor values = {};                      // [u, 1 + d]
    ConstTensor sums = {};                        // [n, d], of EmbedForward
    ConstTensor x_gradient = {};                  // [n, F * d], or empty: zero
    DeviceSpan<const float> logit_gradient = {};  // [n]
    Tensor value_gradient = {};                   // [u, 1 + d]
  };
  virtual void EmbedBackward(const EmbedBackwardArgs& args) = 0;

  // Dense layers -----------------------------------------------------------------------------------------------------------------------
  // y = x w, then `activation`. x [n, in], w [in, out], y [n, out].
  virtual void LinearForward(ConstTensor x, ConstTensor w, const Activation& activation, Tensor y) = 0;
  // dx = dy w^T, then `activation`. dy [n, out], w [in, out], dx [n, in].
  virtual void LinearBackwardInput(ConstTensor dy, ConstTensor w, const ActivationGradient& activation, Tensor dx) = 0;
  // dw = x^T dy. x [n, in], dy [n, out], dw [in, out].
  virtual void LinearBackwardWeights(ConstTensor x, ConstTensor dy, Tensor dw) = 0;

  // Output -----------------------------------------------------------------------------------------------------------------------------
  // logits[i] += bias[0] + h[i] . w. h [n, k], or empty; w [k]; bias [1]; logits [n].
  virtual void OutputForward(ConstTensor h, DeviceSpan<const float> w, DeviceSpan<const float> bias, DeviceSpan<float> logits) = 0;

  // OutputForward, logistic loss, and the way back to the linear map below h, in one pass over h.
  struct OutputLossArgs {
    ConstTensor h = {};                     // [n, k] after ReLU and dropout, or empty
    float h_scale = 1;                      // of that dropout
    DeviceSpan<const float> w = {};         // [k]
    DeviceSpan<const float> bias = {};      // [1]
    DeviceSpan<const float> labels = {};    // [n]: 0 or 1
    DeviceSpan<float> logits = {};          // [n]: in: the other terms; out: the whole logits
    DeviceSpan<double> loss = {};           // [1]: sum over the rows
    DeviceSpan<float> logit_gradient = {};  // [n]: sigmoid - label
    DeviceSpan<float> bias_gradient = {};   // [1]
    DeviceSpan<float> w_gradient = {};      // [k]
    Tensor h_gradient = {};                 // [n, k]: carried on through the ReLU and dropout that made h
    DeviceSpan<float> h_column_sums = {};   // [k]: of h_gradient
  };
  virtual void OutputLoss(const OutputLossArgs& args) = 0;

  // sums[j] = sum over rows of weights[i] * x[i, j]. x [n, k], weights [n], sums [k].
  virtual void WeightedColumnSums(ConstTensor x, DeviceSpan<const float> weights, DeviceSpan<float> sums) = 0;

 protected:
  virtual absl::StatusOr<const void*> UploadBytes(const void* host, size_t bytes, Buffer* staging) = 0;
  virtual absl::StatusOr<void*> ResultBytes(void* host, size_t bytes, Buffer* staging) = 0;
  virtual void DownloadBytes(const void* device, size_t bytes, void* host) = 0;
};

}  // namespace tessera
