#include "common/clock.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(FakeClockTest, StandsStillUntilToldOtherwise) {
  FakeClock clock(absl::FromUnixSeconds(100));
  EXPECT_EQ(clock.Now(), absl::FromUnixSeconds(100));
  EXPECT_EQ(clock.Now(), absl::FromUnixSeconds(100));
  clock.Advance(absl::Seconds(5));
  EXPECT_EQ(clock.Now(), absl::FromUnixSeconds(105));
}

TEST(FakeClockTest, SleepingAdvancesIt) {
  FakeClock clock;
  const absl::Time start = clock.Now();
  Clock* const as_seen = &clock;
  as_seen->SleepFor(absl::Hours(1));
  EXPECT_EQ(clock.Now() - start, absl::Hours(1));
}

TEST(RealClockTest, IsOneAndGoesForward) {
  EXPECT_EQ(Clock::Real(), Clock::Real());
  const absl::Time first = Clock::Real()->Now();
  EXPECT_GE(Clock::Real()->Now(), first);
}

}  // namespace
}  // namespace tessera
