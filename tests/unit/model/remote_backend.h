// A backend as if on a device: the CPU's operations over memory that the host does not share. What the graph would wrongly read or write in
// host memory is missed here, and shows.
#pragma once

#include <cstdint>
#include <cstring>

#include "worker/compute/backend.h"

namespace tessera {

class RemoteBackend : public Backend {
 public:
  explicit RemoteBackend(Backend* cpu) : cpu_(cpu) {}

  // A larger piece of memory is refused.
  void set_allocation_max(size_t bytes) { allocation_max_ = bytes; }

  absl::StatusOr<void*> Allocate(size_t bytes) override {
    if (bytes > allocation_max_) return absl::ResourceExhaustedError("device memory is full");
    absl::StatusOr<void*> data = cpu_->Allocate(bytes);
    if (data.ok()) std::memset(*data, 0xff, bytes);  // NaN
    return data;
  }
  void Free(void* data) override { cpu_->Free(data); }
  absl::Status Finish() override { return cpu_->Finish(); }
  void ExpandOffsets(DeviceSpan<const uint32_t> offsets, DeviceSpan<uint32_t> slots) override { cpu_->ExpandOffsets(offsets, slots); }
  void EmbedForward(const EmbedForwardArgs& args) override { cpu_->EmbedForward(args); }
  void EmbedBackward(const EmbedBackwardArgs& args) override { cpu_->EmbedBackward(args); }
  void LinearForward(ConstTensor x, ConstTensor w, const Activation& activation, Tensor y) override {
    cpu_->LinearForward(x, w, activation, y);
  }
  void LinearBackwardInput(ConstTensor dy, ConstTensor w, const ActivationGradient& activation, Tensor dx) override {
    cpu_->LinearBackwardInput(dy, w, activation, dx);
  }
  void LinearBackwardWeights(ConstTensor x, ConstTensor dy, Tensor dw) override { cpu_->LinearBackwardWeights(x, dy, dw); }
  void OutputForward(ConstTensor h, DeviceSpan<const float> w, DeviceSpan<const float> bias, DeviceSpan<float> logits) override {
    cpu_->OutputForward(h, w, bias, logits);
  }
  void OutputLoss(const OutputLossArgs& args) override { cpu_->OutputLoss(args); }
  void WeightedColumnSums(ConstTensor x, DeviceSpan<const float> weights, DeviceSpan<float> sums) override {
    cpu_->WeightedColumnSums(x, weights, sums);
  }

 protected:
  absl::StatusOr<const void*> UploadBytes(const void* host, size_t bytes, Buffer* staging) override {
    absl::StatusOr<DeviceSpan<char>> copy = staging->Reserve<char>(static_cast<int64_t>(bytes));
    if (!copy.ok()) return copy.status();
    if (bytes > 0) std::memcpy(copy->data, host, bytes);
    return copy->data;
  }
  absl::StatusOr<void*> ResultBytes(void*, size_t bytes, Buffer* staging) override {
    absl::StatusOr<DeviceSpan<char>> room = staging->Reserve<char>(static_cast<int64_t>(bytes));
    if (!room.ok()) return room.status();
    return room->data;
  }
  void DownloadBytes(const void* device, size_t bytes, void* host) override {
    if (bytes > 0) std::memcpy(host, device, bytes);
  }

 private:
  Backend* const cpu_;
  size_t allocation_max_ = SIZE_MAX;
};

}  // namespace tessera
