// Whatever the network does to calls and answers, training comes to the weights it comes to without: bit for bit.
#include <tuple>

#include "tests/unit/delivery/one_worker.h"
#include "tests/unit/ps_optimizer/every_optimizer.h"

namespace tessera {
namespace {

class DeliveryTest : public ::testing::TestWithParam<std::tuple<Optimizer, bool>> {
 protected:
  static const Optimizer& optimizer() { return std::get<0>(GetParam()); }
  static bool sync() { return std::get<1>(GetParam()); }
};

TEST_P(DeliveryTest, LostRepeatedDelayedAndReorderedCallsChangeNoBit) {
  const End steady = OneWorker(optimizer(), sync(), 2, {}).Run();
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const End end = OneWorker(optimizer(), sync(), 2, {seed}).Run();
    ExpectSame(end, steady);
    EXPECT_GT(end.faults, 10u);
    if (HasFailure()) break;
  }
}

TEST_P(DeliveryTest, ADeadlineShorterThanTheApplyChangesNoBit) {
  uint64_t outlived = 0;
  SlowApply slow;
  const End steady = OneWorker(optimizer(), sync(), 1, {}).Run();
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const End end = OneWorker(optimizer(), sync(), 1, {seed, false, &slow}).Run();
    ExpectSame(end, steady);
    outlived += end.outlived;
    if (HasFailure()) return;
  }
  EXPECT_GT(outlived, 25u);
}

TEST_P(DeliveryTest, AServerThatIsRestartedAmongThemChangesNoBit) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / absl::StrCat("tessera_delivery_", ::getpid());
  std::filesystem::remove_all(folder);
  const End steady = OneWorker(optimizer(), sync(), 1, {}, folder.string()).Run();
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::filesystem::remove_all(folder);
    const End end = OneWorker(optimizer(), sync(), 1, {seed, true}, folder.string()).Run();
    ExpectSame(end, steady);
    if (HasFailure()) break;
  }
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Optimizers, DeliveryTest, ::testing::Combine(::testing::ValuesIn(EveryOptimizer()), ::testing::Bool()),
                         [](const auto& info) { return NameOf(std::get<0>(info.param)) + (std::get<1>(info.param) ? "_sync" : "_async"); });

}  // namespace
}  // namespace tessera
