// Reads the label of a row.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/job.pb.h"

namespace tessera {

// Thread-safe: constant after construction.
class LabelParser {
 public:
  // Takes labels[0] of the job: its spellings, or with neither list the numbers 1 and 0 (libsvm: also -1 for 0).
  explicit LabelParser(const Data& data);

  // 1 or 0; NaN when the text is neither.
  float Parse(std::string_view text) const;
  // Why Parse gave NaN and what is known, for a person: `label "x" is neither ...`.
  std::string Unknown(std::string_view text) const;

 private:
  float ParseNumeric(std::string_view text) const;

  const bool minus_one_;  // libsvm
  std::vector<std::pair<std::string, float>> spellings_;
  std::string positive_;
  std::string negative_;
};

}  // namespace tessera
