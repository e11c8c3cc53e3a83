// What the first rows tell about one column.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/plan.pb.h"
#include "worker/data/survey_reader.h"

namespace tessera {

// What a column looks like, and why.
struct ColumnGuess {
  FeatureKind kind = categorical;
  std::string reason;
};

// Owned by one thread.
class ColumnSample {
 public:
  enum class Use {
    kNothing,  // only its name is needed
    kNumbers,  // every value must be a number; statistics are made of them
    kGuess,    // nobody has said what it is
  };
  ColumnSample(std::string name, Use use) : name_(std::move(name)), use_(use) {}

  // False if the cell cannot be: text in a column of numbers.
  bool Add(const SurveyCell& cell);

  // numeric: every value is a number, there are more than kDistinctForNumeric of them, and nothing says that they only name things.
  ColumnGuess Guess() const;
  NumericStatistics Statistics() const;

 private:
  const std::string name_;
  const Use use_;
  uint64_t rows_ = 0;
  uint64_t missing_ = 0;
  std::string text_;              // the first value that is no number
  std::string padded_;            // the first number with leading zeros
  std::vector<float> distinct_;   // the first few different numbers
  std::vector<float> values_;
};

// With fewer different numbers each may as well have an embedding of its own.
inline constexpr size_t kDistinctForNumeric = 20;

}  // namespace tessera
