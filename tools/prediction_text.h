// A line of predict's output.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tessera {

// Appends `kept` cells and the probability, comma between, LF. A cell with a comma, a quote or a line end is quoted. The probability has
// the nine digits that give the same float back.
void AppendPrediction(absl::Span<const std::string> kept, float probability, std::string* out);

}  // namespace tessera
