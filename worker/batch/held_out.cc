#include "common/random.h"
#include "worker/batch/row_stream.h"

namespace tessera {
namespace {

// First part of a key, so that no two uses of the job's seed share random numbers.
constexpr uint64_t kHoldoutKey = 0x686f6c646f757401ull;

}  // namespace

bool IsHeldOut(const Plan& plan, uint64_t row_key) {
  const double holdout = plan.job().data().evaluate().holdout();
  return holdout > 0 && UniformDouble(MixKey(kHoldoutKey, plan.job().seed(), row_key)) < holdout;
}

}  // namespace tessera
