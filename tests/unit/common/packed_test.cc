#include "common/packed.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(PackedTest, ElementsAreLittleEndian) {
  std::string bytes;
  AppendPacked<uint64_t>({0x0102030405060708u}, &bytes);
  EXPECT_EQ(bytes, std::string("\x08\x07\x06\x05\x04\x03\x02\x01", 8));
}

TEST(PackedTest, WhatIsAppendedIsSeen) {
  const std::vector<float> values = {1.5f, -0.0f, 3e38f};
  std::string bytes;
  AppendPacked<float>(values, &bytes);
  AppendPacked<float>({}, &bytes);
  const auto view = PackedView<float>(bytes, "values");
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(std::vector<float>(view->begin(), view->end()), values);
}

TEST(PackedTest, ACutElementIsRefusedByName) {
  const auto view = PackedView<uint64_t>(std::string(12, 'x'), "ids");
  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.status().message(), "ids: 12 bytes is no whole number of 8-byte elements");
}

TEST(PackedTest, NothingIsAnEmptyView) {
  const std::string none;
  const auto view = PackedView<uint32_t>(none, "counts");
  ASSERT_TRUE(view.ok());
  EXPECT_TRUE(view->empty());
}

TEST(PackedTest, RoomIsWrittenInPlace) {
  std::string bytes = "something older and longer";
  absl::Span<uint32_t> room = PackedResize<uint32_t>(&bytes, 2);
  room[0] = 1;
  room[1] = 2;
  EXPECT_EQ(bytes, std::string("\x01\x00\x00\x00\x02\x00\x00\x00", 8));
}

}  // namespace
}  // namespace tessera
