#include "common/job/spelling.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(EditDistanceTest, CountsLettersToChange) {
  EXPECT_EQ(EditDistance("", "abc"), 3u);
  EXPECT_EQ(EditDistance("epochs", "epochs"), 0u);
  EXPECT_EQ(EditDistance("epoch", "epochs"), 1u);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
  EXPECT_EQ(EditDistance("mdoel", "model"), 1u);  // neighbours swapped
}

TEST(NearestWordTest, NamesTheNearestOrNone) {
  const std::vector<std::string> known = {"mode", "batch_size", "epochs", "backend", "patience"};
  EXPECT_EQ(NearestWord("batchSize", known), "batch_size");
  EXPECT_EQ(NearestWord("batch-size", known), "batch_size");
  EXPECT_EQ(NearestWord("epoch", known), "epochs");
  EXPECT_EQ(NearestWord("momentum", known), "");
  EXPECT_EQ(NearestWord("", known), "");
}

TEST(JoinAlternativesTest, EndsWithOr) {
  EXPECT_EQ(JoinAlternatives({}), "");
  EXPECT_EQ(JoinAlternatives({"a"}), "a");
  EXPECT_EQ(JoinAlternatives({"a", "b", "c"}), "a, b or c");
}

}  // namespace
}  // namespace tessera
