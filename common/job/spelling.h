// "Did you mean ...?": the known word nearest to a mistyped one. Thread-safe: pure functions.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tessera {

// Number of letters to insert, delete, replace or swap with their neighbour to turn one word into the other.
size_t EditDistance(absl::string_view a, absl::string_view b);

// The known word nearest to `word`, or "" when none is near: more than a third of the letters differ. Case, "-" and "_" do not count.
std::string NearestWord(absl::string_view word, const std::vector<std::string>& known);

// "a, b or c".
std::string JoinAlternatives(const std::vector<std::string>& words);

}  // namespace tessera
