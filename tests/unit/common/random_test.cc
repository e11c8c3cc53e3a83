#include "common/random.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Initial values of rows and the order of data come from these: a change makes a resumed run another run.
TEST(RandomTest, NumbersAreTheAgreedOnes) {
  EXPECT_EQ(Mix64(0), 0xe220a8397b1dcdafu);  // the first output of SplitMix64 from seed 0
  EXPECT_EQ(Mix64(1), 0x910a2dec89025cc1u);
  EXPECT_EQ(MixKey(7), 0x63cbe1e459320dd7u);
  EXPECT_EQ(MixKey(7, 1), 0x2a8faa511b7d4ba7u);
  EXPECT_EQ(MixKey(7, 1, 2), 0xe85a46727cae61b2u);
  EXPECT_EQ(UniformFloat(Mix64(3)), 0x1.d0b14p-4f);
  EXPECT_EQ(UniformDouble(Mix64(3)), 0x1.d0b14e4db0188p-4);
  RandomSequence sequence(42);
  EXPECT_EQ(sequence.Next(), 0xf4abd143feb24055u);
  EXPECT_EQ(sequence.Next(), 0x7c816738c12903b2u);
  EXPECT_EQ(sequence.Below(10), 0u);
  EXPECT_EQ(sequence.Below(1000), 676u);
}

TEST(RandomTest, TheOrderAndNumberOfPartsMatter) {
  EXPECT_NE(MixKey(1, 2), MixKey(2, 1));
  EXPECT_NE(MixKey(1, 2, 0), MixKey(1, 2));
  EXPECT_NE(MixKey(0, 0), MixKey(0));
}

TEST(RandomTest, UniformNumbersStayBelowOne) {
  EXPECT_LT(UniformFloat(~uint64_t{0}), 1.0f);
  EXPECT_LT(UniformDouble(~uint64_t{0}), 1.0);
  EXPECT_EQ(UniformFloat(0), 0.0f);
  EXPECT_EQ(UniformDouble(0), 0.0);
}

TEST(RandomTest, UniformNumbersAreSpreadEvenly) {
  std::vector<int> counts(16);
  for (uint64_t i = 0; i < 160000; ++i) ++counts[static_cast<int>(UniformFloat(MixKey(5, i)) * 16)];
  for (int count : counts) EXPECT_NEAR(count, 10000, 500);  // five standard deviations
}

TEST(RandomSequenceTest, EveryNumberBelowABoundComes) {
  RandomSequence sequence(1);
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(sequence.Below(7));
  EXPECT_EQ(seen, (std::set<uint64_t>{0, 1, 2, 3, 4, 5, 6}));
}

TEST(RandomSequenceTest, ACopyGoesTheSameWay) {
  RandomSequence sequence(9);
  sequence.Next();
  RandomSequence copy = sequence;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(sequence.Next(), copy.Next());
}

}  // namespace
}  // namespace tessera
