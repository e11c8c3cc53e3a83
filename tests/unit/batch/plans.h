// Plans and row keys for tests of the training order.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "proto/plan.pb.h"

namespace tessera {

inline Plan MakePlanFor(uint64_t shuffle, double holdout = 0, uint64_t seed = 1) {
  Plan plan;
  plan.mutable_job()->set_seed(seed);
  plan.mutable_job()->mutable_data()->mutable_train()->set_shuffle(shuffle);
  plan.mutable_job()->mutable_data()->mutable_evaluate()->set_holdout(holdout);
  return plan;
}

inline std::vector<uint64_t> AllKeys(uint64_t count) {
  std::vector<uint64_t> keys(count);
  std::iota(keys.begin(), keys.end(), 0);
  return keys;
}

}  // namespace tessera
