#include "common/job/spelling.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"

namespace tessera {
namespace {

std::string Letters(absl::string_view word) {
  std::string letters;
  for (char c : word) {
    if (c != '-' && c != '_') letters.push_back(absl::ascii_tolower(c));
  }
  return letters;
}

}  // namespace

size_t EditDistance(absl::string_view a, absl::string_view b) {
  // Three rows of the table of distances between prefixes.
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

std::string NearestWord(absl::string_view word, const std::vector<std::string>& known) {
  const std::string letters = Letters(word);
  std::string nearest;
  size_t least = std::max<size_t>(1, letters.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const size_t distance = EditDistance(letters, Letters(candidate));
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string JoinAlternatives(const std::vector<std::string>& words) {
  if (words.size() < 2) return words.empty() ? "" : words[0];
  return absl::StrCat(absl::StrJoin(words.begin(), words.end() - 1, ", "), " or ", words.back());
}

}  // namespace tessera
