// Texts of a job travel in protobuf strings, which are UTF-8. Thread-safe: pure functions.
#pragma once

#include <string>

namespace tessera {

// Offset of the first byte that is not part of a well-formed UTF-8 character (RFC 3629), or std::string::npos.
size_t FindBadUtf8(const std::string& text);

}  // namespace tessera
