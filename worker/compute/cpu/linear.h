// Linear maps on the CPU: products in panels and tiles fixed by shape, with what follows them done while a panel is in the cache.
#pragma once

#include "worker/compute/backend.h"
#include "worker/compute/cpu/workspace.h"

namespace tessera {

// As Backend's operations of the same names.
void CpuLinearForward(Workspace* work, ConstTensor x, ConstTensor w, const Activation& activation, Tensor y);
void CpuLinearBackwardInput(Workspace* work, ConstTensor dy, ConstTensor w, const ActivationGradient& activation, Tensor dx);
void CpuLinearBackwardWeights(Workspace* work, ConstTensor x, ConstTensor dy, Tensor dw);

}  // namespace tessera
