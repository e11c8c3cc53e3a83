// Texts of a job travel in protobuf strings, which are UTF-8. Thread-safe: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

// Offset of the first byte that is not part of a well-formed UTF-8 character (RFC 3629), or std::string::npos.
size_t FindBadUtf8(std::string_view text);

// The text with every such byte replaced by '?': for messages that quote what others wrote.
std::string ToUtf8(std::string_view text);

// ToUtf8 of the text's beginning, at most kExcerptBytesMax bytes of whole characters: a cell may be as long as its file.
inline constexpr size_t kExcerptBytesMax = 40;
std::string Excerpt(std::string_view text);

}  // namespace tessera
