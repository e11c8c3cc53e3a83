#include "common/fault_point.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

namespace tessera {
namespace {

TEST(FaultPointTest, TellsTheNameWhileSetAndNothingAfter) {
  std::vector<std::string> passed;
  FaultPoint("before");
  SetFaultPoint([&](absl::string_view name) { passed.emplace_back(name); });
  FaultPoint("a");
  FaultPoint("b");
  SetFaultPoint(nullptr);
  FaultPoint("after");
  EXPECT_EQ(passed, (std::vector<std::string>{"a", "b"}));
}

TEST(FaultPointDeathTest, KillsAtTheNthPassOfTheNamedPointOnly) {
  EXPECT_EXIT(
      {
        const bool ok = KillAt("log.append:3").ok();
        for (int i = 0; i < 5; ++i) FaultPoint("log.appended");
        FaultPoint("log.append");
        FaultPoint("log.append");
        fputs(ok ? "two passes" : "refused", stderr);
        FaultPoint("log.append");
        exit(0);
      },
      testing::KilledBySignal(SIGKILL), "two passes");
}

TEST(FaultPointDeathTest, SendsTheNamedSignal) {
  EXPECT_EXIT(
      {
        if (KillAt("log.append:1:TERM").ok()) FaultPoint("log.append");
        exit(0);
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST(FaultPointTest, RefusesWhatIsNoNameAndPass) {
  for (const char* spec : {"", "log.append:TERM", "log.append:1:HUP", "log.append", ":1", "log.append:", "log.append:0", "log.append:-1", "log.append:x"}) {
    EXPECT_EQ(KillAt(spec).code(), absl::StatusCode::kInvalidArgument) << spec;
  }
}

}  // namespace
}  // namespace tessera
