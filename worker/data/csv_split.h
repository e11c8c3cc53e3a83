// Cuts lines of separated values into cells.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"

namespace tessera {

// Thread-safe: constant after construction.
//
// Blanks around a cell are not part of it. A cell that begins with the quote ends with the next single quote; a doubled quote inside is
// one quote, separators inside are text, blanks inside stay. A quote further inside a cell is an ordinary character. A quoted cell must
// end in its line.
class CsvSplitter {
 public:
  static absl::StatusOr<CsvSplitter> Create(const Csv& csv);

  char separator() const { return separator_; }
  bool has_header() const { return header_; }

  // Replaces `cells` by the line's, which point into the line or, where a quote was doubled, into `unquoted`. False with what is wrong.
  bool Split(std::string_view line, std::vector<std::string_view>* cells, std::string* unquoted, std::string* error) const;

 private:
  CsvSplitter() = default;
  std::string_view Trim(std::string_view cell) const;
  bool SplitQuoted(std::string_view line, std::vector<std::string_view>* cells, std::string* unquoted, std::string* error) const;
  // Reads the quoted cell that begins at `*at` (its quote) and moves `*at` behind its closing quote.
  bool ReadQuoted(std::string_view line, size_t* at, std::string* unquoted, std::string_view* cell) const;

  char separator_ = ',';
  char quote_ = '"';
  bool quoting_ = true;
  bool header_ = true;
  char blanks_[2] = {' ', '\t'};  // the separator is not a blank
};

// Texts of a cell that stand for "no value": data.csv.missing, by default "" and "?"; for other formats "".
std::vector<std::string> MissingSpellings(const Data& data);

// The columns' names in a header, a nameless one called by its number (c21). An error is to be prefixed by the place.
absl::StatusOr<std::vector<std::string>> ParseHeader(const CsvSplitter& splitter, std::string_view line);
// Names where there is no header: c0, c1, ...
std::vector<std::string> NumberedColumns(size_t count);

// What to say of a header that lacks a column that must be there.
std::string NoColumnError(const CsvSplitter& splitter, const std::vector<std::string>& names, std::string_view name, std::string_view what);

}  // namespace tessera
