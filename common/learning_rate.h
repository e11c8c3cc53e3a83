// The learning rate a job gives an optimiser: coordinator and workers must read the same. Thread-safe: pure.
#pragma once

#include "proto/job.pb.h"

namespace tessera {

// 0 where no kind is set.
inline double LearningRate(const Optimizer& optimizer) {
  switch (optimizer.kind_case()) {
    case Optimizer::kSgd: return optimizer.sgd().learning_rate();
    case Optimizer::kMomentum: return optimizer.momentum().learning_rate();
    case Optimizer::kAdagrad: return optimizer.adagrad().learning_rate();
    case Optimizer::kRowwiseAdagrad: return optimizer.rowwise_adagrad().learning_rate();
    case Optimizer::kAdam: return optimizer.adam().learning_rate();
    case Optimizer::kAdamw: return optimizer.adamw().learning_rate();
    case Optimizer::kFtrl: return optimizer.ftrl().learning_rate();
    case Optimizer::KIND_NOT_SET: break;
  }
  return 0;
}

}  // namespace tessera
