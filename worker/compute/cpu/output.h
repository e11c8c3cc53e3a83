// The last layer and the loss on the CPU.
#pragma once

#include "worker/compute/backend.h"
#include "worker/compute/cpu/workspace.h"

namespace tessera {

// As Backend's operations of the same names.
void CpuOutputForward(Workspace* work, ConstTensor h, DeviceSpan<const float> w, DeviceSpan<const float> bias, DeviceSpan<float> logits);
void CpuOutputLoss(Workspace* work, const Backend::OutputLossArgs& args);
void CpuWeightedColumnSums(Workspace* work, ConstTensor x, DeviceSpan<const float> weights, DeviceSpan<float> sums);

}  // namespace tessera
