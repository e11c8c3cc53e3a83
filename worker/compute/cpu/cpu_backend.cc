#include "worker/compute/cpu/cpu_backend.h"

#include <cassert>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "worker/compute/cpu/embed.h"
#include "worker/compute/cpu/linear.h"
#include "worker/compute/cpu/output.h"
#include "worker/compute/cpu/workspace.h"

namespace tessera {
namespace {

// Device memory is host memory: nothing is copied, and every operation is done when it returns.
class CpuBackend : public Backend {
 public:
  explicit CpuBackend(ThreadPool* pool) : work_(pool) {}

  absl::StatusOr<void*> Allocate(size_t bytes) override {
    void* data = AllocateAligned(bytes);
    if (data == nullptr) return absl::ResourceExhaustedError(absl::StrCat("no memory for ", bytes, " bytes of intermediate results"));
    return data;
  }
  void Free(void* data) override { FreeAligned(data); }
  absl::Status Finish() override { return work_.TakeStatus(); }

  void ExpandOffsets(DeviceSpan<const uint32_t> offsets, DeviceSpan<uint32_t> slots) override { CpuExpandOffsets(&work_, offsets, slots); }
  void EmbedForward(const EmbedForwardArgs& args) override { CpuEmbedForward(&work_, args); }
  void EmbedBackward(const EmbedBackwardArgs& args) override { CpuEmbedBackward(&work_, args); }
  void LinearForward(ConstTensor x, ConstTensor w, const Activation& activation, Tensor y) override {
    CpuLinearForward(&work_, x, w, activation, y);
  }
  void LinearBackwardInput(ConstTensor dy, ConstTensor w, const ActivationGradient& activation, Tensor dx) override {
    CpuLinearBackwardInput(&work_, dy, w, activation, dx);
  }
  void LinearBackwardWeights(ConstTensor x, ConstTensor dy, Tensor dw) override { CpuLinearBackwardWeights(&work_, x, dy, dw); }
  void OutputForward(ConstTensor h, DeviceSpan<const float> w, DeviceSpan<const float> bias, DeviceSpan<float> logits) override {
    CpuOutputForward(&work_, h, w, bias, logits);
  }
  void OutputLoss(const OutputLossArgs& args) override { CpuOutputLoss(&work_, args); }
  void WeightedColumnSums(ConstTensor x, DeviceSpan<const float> weights, DeviceSpan<float> sums) override {
    CpuWeightedColumnSums(&work_, x, weights, sums);
  }

 protected:
  absl::StatusOr<const void*> UploadBytes(const void* host, size_t, Buffer*) override { return host; }
  absl::StatusOr<void*> ResultBytes(void* host, size_t, Buffer*) override { return host; }
  void DownloadBytes(const void* device, size_t bytes, void* host) override {
    if (device != host && bytes > 0) std::memcpy(host, device, bytes);
  }

 private:
  Workspace work_;
};

}  // namespace

std::unique_ptr<Backend> MakeCpuBackend(ThreadPool* pool) { return std::make_unique<CpuBackend>(pool); }

}  // namespace tessera
