#include "common/job/units.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(DurationTest, EveryUnitIsRead) {
  EXPECT_EQ(*ParseDurationMs("500ms"), 500);
  EXPECT_EQ(*ParseDurationMs("90s"), 90000);
  EXPECT_EQ(*ParseDurationMs("10m"), 600000);
  EXPECT_EQ(*ParseDurationMs("2h"), 7200000);
  EXPECT_EQ(*ParseDurationMs("1d"), 86400000);
  EXPECT_EQ(*ParseDurationMs("1.5s"), 1500);
  EXPECT_EQ(*ParseDurationMs(" 2 h "), 7200000);
}

TEST(DurationTest, OtherTextsAreRefused) {
  for (const char* text :
       {"", "10", "m", "10 minutes", "-1s", "0s", "1e3s", "1..5s", "0.5ms", "10m5s", "999999999999999999d", "1.5", "s10"}) {
    EXPECT_FALSE(ParseDurationMs(text).ok()) << text;
  }
}

TEST(DurationTest, TheLargestUnitThatDividesIsWritten) {
  for (int64_t ms : {1, 500, 1000, 1500, 60000, 90000, 3600000, 86400000, 86400001}) EXPECT_EQ(*ParseDurationMs(FormatDurationMs(ms)), ms);
  EXPECT_EQ(FormatDurationMs(600000), "10m");
  EXPECT_EQ(FormatDurationMs(90000), "90s");
  EXPECT_EQ(FormatDurationMs(86400000), "1d");
}

TEST(ByteSizeTest, BinaryAndDecimalUnitsDiffer) {
  EXPECT_EQ(*ParseByteSize("4GiB"), uint64_t{4} << 30);
  EXPECT_EQ(*ParseByteSize("4GB"), 4000000000u);
  EXPECT_EQ(*ParseByteSize("512MiB"), 512u << 20);
  EXPECT_EQ(*ParseByteSize("64KiB"), 65536u);
  EXPECT_EQ(*ParseByteSize("100MB"), 100000000u);
  EXPECT_EQ(*ParseByteSize("2TiB"), uint64_t{2} << 40);
  EXPECT_EQ(*ParseByteSize("1.5KiB"), 1536u);
  EXPECT_EQ(*ParseByteSize("4096"), 4096u);
  EXPECT_EQ(*ParseByteSize("7B"), 7u);
}

TEST(ByteSizeTest, OtherTextsAreRefused) {
  for (const char* text : {"", "0", "4G", "4gib", "GiB", "-1", "1.5", "0.3KiB", "99999999999TiB", "18446744073709551616"}) {
    EXPECT_FALSE(ParseByteSize(text).ok()) << text;
  }
}

TEST(ByteSizeTest, WhatIsWrittenReadsBack) {
  for (uint64_t bytes : {uint64_t{1}, uint64_t{15625}, uint64_t{4096}, uint64_t{100000000}, uint64_t{4} << 30, (uint64_t{1} << 53) - 1}) {
    EXPECT_EQ(*ParseByteSize(FormatByteSize(bytes)), bytes);
  }
  EXPECT_EQ(FormatByteSize(uint64_t{4} << 30), "4GiB");
  EXPECT_EQ(FormatByteSize(100000000), "100MB");
  EXPECT_EQ(FormatByteSize(15625), "15625");
  EXPECT_EQ(FormatByteSize(0), "0");
}

TEST(CadenceTest, StepsTimesAndEpochsAreRead) {
  EXPECT_EQ(ParseCadence("500 steps")->steps(), 500u);
  EXPECT_EQ(ParseCadence("1 step")->steps(), 1u);
  EXPECT_EQ(ParseCadence("10m")->ms(), 600000);
  EXPECT_EQ(ParseCadence("1 epoch")->epochs(), 1.0);
  EXPECT_EQ(ParseCadence("0.25 epochs")->epochs(), 0.25);
}

TEST(CadenceTest, OtherTextsAreRefused) {
  for (const char* text : {"", "500", "steps", "0 steps", "1.5 steps", "-1 epochs", "0 epochs", "epoch", "often", "1 epoch 2"}) {
    EXPECT_FALSE(ParseCadence(text).ok()) << text;
  }
}

TEST(CadenceTest, WhatIsWrittenReadsBack) {
  for (const char* text : {"1 step", "500 steps", "10m", "1 epoch", "0.25 epochs", "2 epochs"})
    EXPECT_EQ(FormatCadence(*ParseCadence(text)), text);
}

TEST(FormatNumberTest, TheShortestExactTextIsWritten) {
  EXPECT_EQ(FormatNumber(0.02), "0.02");
  EXPECT_EQ(FormatNumber(1e-10), "1e-10");
  EXPECT_EQ(FormatNumber(1), "1");
  EXPECT_EQ(FormatNumber(0.1 + 0.2), "0.30000000000000004");
}

}  // namespace
}  // namespace tessera
