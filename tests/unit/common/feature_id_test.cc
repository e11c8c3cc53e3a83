#include "common/feature_id.h"

#include <cstdint>
#include <set>

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Rows on disk and requests on the wire carry these numbers: a change here makes every checkpoint unreadable.
TEST(TokenHasherTest, IdsAreTheAgreedOnes) {
  const TokenHasher item("item");
  EXPECT_EQ(item.Id("7"), 0x7063c9fb7975f8a6u);
  EXPECT_EQ(item.Id("007"), 0xcfdbc93b821197eeu);
  EXPECT_EQ(item.Id(""), 0xd1f73ac23068a0a4u);
  EXPECT_EQ(item.MissingId(), 0x81a8ba0181e2c0feu);
  EXPECT_EQ(item.ScaledId(), 0x7f0c5eb17986e31au);
  EXPECT_EQ(item.RareId(), 0x4720527f0a3fcc8au);
  EXPECT_EQ(item.BucketId(0), 0xa3b8c480a8e630e2u);
  EXPECT_EQ(item.BucketId(5), 0x2871fefdc419c05eu);
  const TokenHasher c1("C1");
  EXPECT_EQ(c1.Id("68fd1e64"), 0xbb7b4148340ac23eu);
  EXPECT_EQ(c1.MissingId(), 0xa7788ea29a6d9f7bu);
  EXPECT_EQ(c1.Id(UINT64_MAX), 0x9da5b082cfe7f064u);
}

TEST(TokenHasherTest, ANumberAndItsDigitsAreOneToken) {
  const TokenHasher item("item");
  EXPECT_EQ(item.Id(uint64_t{7}), item.Id("7"));
  EXPECT_EQ(item.Id(uint64_t{0}), item.Id("0"));
  EXPECT_EQ(item.Id(UINT64_MAX), item.Id("18446744073709551615"));
}

TEST(TokenHasherTest, LeadingZerosMakeAnotherToken) { EXPECT_NE(TokenHasher("item").Id("007"), TokenHasher("item").Id("7")); }

TEST(TokenHasherTest, AnEmptyTokenIsNotAMissingOne) {
  const TokenHasher item("item");
  EXPECT_NE(item.Id(""), item.MissingId());
}

TEST(TokenHasherTest, FieldsOfOneEmbeddingShareRowsAndOthersDoNot) {
  const TokenHasher item("item"), same("item"), user("user");
  EXPECT_EQ(item.Id("7"), same.Id("7"));
  EXPECT_NE(item.Id("7"), user.Id("7"));
  EXPECT_NE(item.Id(""), user.Id(""));
  EXPECT_NE(item.MissingId(), user.MissingId());
  EXPECT_NE(item.ScaledId(), user.ScaledId());
  EXPECT_NE(item.BucketId(3), user.BucketId(3));
  EXPECT_NE(item.RareId(), user.RareId());
}

TEST(TokenHasherTest, BucketsTokensAndMarksNeverMeet) {
  std::set<uint64_t> ids;
  size_t count = 0;
  for (const char* name : {"I1", "I2", "", "age"}) {
    const TokenHasher hasher(name);
    ids.insert({hasher.MissingId(), hasher.ScaledId(), hasher.RareId(), hasher.Id("")});
    count += 4;
    for (uint32_t k = 0; k < 2000; ++k, count += 2) ids.insert({hasher.BucketId(k), hasher.Id(uint64_t{k})});
  }
  EXPECT_EQ(ids.size(), count);
}

}  // namespace
}  // namespace tessera
