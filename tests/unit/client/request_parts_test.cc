#include "worker/client/request_parts.h"

#include "common/limits.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

TEST(CutRequestTest, NoIdsAreStillOnePart) {
  const std::vector<RequestPart> parts = CutRequest(5, 5, 100, {});
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].begin, 5u);
  EXPECT_EQ(parts[0].end, 5u);
}

TEST(CutRequestTest, PartsFollowOnAndNoneIsTooLarge) {
  for (size_t first_bytes : {size_t{0}, size_t{1} << 20, kPayloadBytesTarget - 1, 3 * kPayloadBytesTarget}) {
    for (size_t count : {size_t{1}, size_t{99999}, size_t{1700000}}) {
      size_t next = 7;
      bool first = true;
      for (const RequestPart& part : CutRequest(7, 7 + count, 272, {first_bytes})) {
        EXPECT_EQ(part.begin, next);
        EXPECT_LE((part.end - part.begin) * 272 + (first ? std::min(first_bytes, kPayloadBytesTarget) : 0), kPayloadBytesTarget);
        EXPECT_TRUE(first || part.end > part.begin);
        next = part.end;
        first = false;
      }
      EXPECT_EQ(next, 7 + count);
    }
  }
}

TEST(CutRequestTest, EverySliceOfDenseValuesHasAPart) {
  const size_t full = kPayloadBytesTarget;
  const std::vector<RequestPart> parts = CutRequest(0, 10, 100, {full, full, full - 950});
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_EQ(parts[1].end, 0u) << "no room beside a full slice";
  EXPECT_EQ(parts[2].end, 9u);
  EXPECT_EQ(parts[3].end, 10u);
  EXPECT_EQ(CutRequest(0, 0, 100, {full, full}).size(), 2u);
}

}  // namespace
}  // namespace tessera
