// Packed little-endian arrays inside `bytes` fields. Views are unaligned-safe because they copy, or are checked before they are cast.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

namespace tessera {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "packed arrays are little-endian and are not swapped");

// Appends the elements to `out`.
template <class T>
void AppendPacked(absl::Span<const T> values, std::string* out) {
  out->append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// The bytes seen as an array. Protobuf keeps `bytes` in std::string, whose heap buffer is aligned for T; short strings live inside the
// object, which is 8-aligned too. Fails when the size is not a multiple of sizeof(T). The view lives as long as `bytes` is unchanged.
template <class T>
absl::StatusOr<absl::Span<const T>> PackedView(const std::string& bytes, const char* name) {
  if (bytes.size() % sizeof(T) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": ", bytes.size(), " bytes is no whole number of ", sizeof(T), "-byte elements"));
  }
  return absl::Span<const T>(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T));
}

// Makes room for `count` elements and returns where to write them.
template <class T>
absl::Span<T> PackedResize(std::string* bytes, size_t count) {
  bytes->resize(count * sizeof(T));
  return absl::Span<T>(reinterpret_cast<T*>(bytes->data()), count);
}

}  // namespace tessera
