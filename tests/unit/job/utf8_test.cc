#include "common/job/utf8.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(FindBadUtf8Test, EveryLengthOfCharacterIsGood) {
  EXPECT_EQ(FindBadUtf8(""), std::string::npos);
  EXPECT_EQ(FindBadUtf8("plain \x7f"), std::string::npos);
  EXPECT_EQ(FindBadUtf8("\xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xef\xbf\xbf \xf0\x90\x80\x80 \xf4\x8f\xbf\xbf"), std::string::npos);
}

TEST(FindBadUtf8Test, TheFirstBadByteIsNamed) {
  // In turn: stray continuation, overlong, cut, overlong, surrogate, overlong, beyond the last character, no lead byte.
  for (const char* bad : {"\x80", "\xc0\x80", "\xc3", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xff"}) {
    EXPECT_EQ(FindBadUtf8(std::string("ab") + bad), 2u);
    EXPECT_EQ(FindBadUtf8(std::string("ab") + bad + " c"), 2u);
  }
}

TEST(ToUtf8Test, EveryBadByteBecomesAQuestionMark) {
  EXPECT_EQ(ToUtf8(""), "");
  EXPECT_EQ(ToUtf8("gr\xc3\xbcn"), "gr\xc3\xbcn");
  EXPECT_EQ(ToUtf8("gr\xfcn \xc3"), "gr?n ?");
  EXPECT_EQ(ToUtf8("\xed\xa0\x80"), "???");
}

TEST(ExcerptTest, EndsWithAWholeCharacter) {
  const std::string dots(kExcerptBytesMax - 1, '.');
  EXPECT_EQ(Excerpt(dots + "ab"), dots + "a");
  EXPECT_EQ(Excerpt(dots + "\xc3\xbc"), dots);
  EXPECT_EQ(Excerpt(dots + "\xf0\x90\x80\x80"), dots);
  EXPECT_EQ(Excerpt(dots.substr(1) + "\xc3\xbc more"), dots.substr(1) + "\xc3\xbc");
  EXPECT_EQ(FindBadUtf8(Excerpt(std::string(100, '\x80'))), std::string::npos);
}

}  // namespace
}  // namespace tessera
