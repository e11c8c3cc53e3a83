#include "worker/plan/key_place.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tessera {
namespace {

// Whether `key` is `above` or one of the keys below it.
bool IsWithin(absl::string_view key, absl::string_view above) {
  return absl::StartsWith(key, above) && (key.size() == above.size() || key[above.size()] == '.' || key[above.size()] == '[');
}

// The file of "job.yaml:12".
std::string FileOf(const std::vector<Origin>& origins) {
  for (const Origin& origin : origins) {
    const size_t colon = origin.source().rfind(':');
    if (colon != std::string::npos) return origin.source().substr(0, colon);
  }
  return "";
}

}  // namespace

std::string KeyPlace(const std::vector<Origin>& origins, absl::string_view key) {
  for (absl::string_view above = key; !above.empty();) {
    for (const Origin& origin : origins) {
      if (origin.source() != "default" && IsWithin(origin.key(), above)) return absl::StrCat(origin.source(), ": ", key);
    }
    const size_t parent = above.find_last_of(".[");
    above = parent == absl::string_view::npos ? absl::string_view() : above.substr(0, parent);
  }
  const std::string file = FileOf(origins);
  return file.empty() ? std::string(key) : absl::StrCat(file, ": ", key);
}

}  // namespace tessera
