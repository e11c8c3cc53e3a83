#include "common/job/utf8.h"

#include <cstdint>

namespace tessera {

size_t FindBadUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const uint8_t lead = static_cast<uint8_t>(text[i]);
    const size_t length = lead < 0x80                   ? 1
                          : lead >= 0xc2 && lead < 0xe0 ? 2
                          : lead >= 0xe0 && lead < 0xf0 ? 3
                          : lead >= 0xf0 && lead < 0xf5 ? 4
                                                        : 0;
    if (length == 0 || i + length > text.size()) return i;
    // The second byte is narrower where the character would be overlong, a surrogate, or beyond the last one.
    const uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80, high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    for (size_t k = 1; k < length; ++k) {
      const uint8_t next = static_cast<uint8_t>(text[i + k]);
      if (next < (k == 1 ? low : 0x80) || next > (k == 1 ? high : 0xbf)) return i;
    }
    i += length;
  }
  return std::string::npos;
}

std::string ToUtf8(std::string_view text) {
  std::string good;
  good.reserve(text.size());
  for (size_t bad; (bad = FindBadUtf8(text)) != std::string::npos; text.remove_prefix(bad + 1)) {
    good.append(text.substr(0, bad));
    good += '?';
  }
  return good.append(text);
}

std::string Excerpt(std::string_view text) {
  if (text.size() <= kExcerptBytesMax) return ToUtf8(text);
  // Back to where a character begins, by three bytes at most: what goes on for longer is none.
  size_t end = kExcerptBytesMax;
  while (end + 3 > kExcerptBytesMax && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) --end;
  return ToUtf8(text.substr(0, end));
}

}  // namespace tessera
