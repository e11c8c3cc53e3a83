#include "worker/data/csv_split.h"

#include <algorithm>
#include <cstring>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/job/utf8.h"
#include "worker/data/field_scan.h"
#include "worker/data/separator_hint.h"

namespace tessera {

absl::StatusOr<CsvSplitter> CsvSplitter::Create(const Csv& csv) {
  CsvSplitter splitter;
  if (csv.has_separator()) {
    if (csv.separator().size() != 1) return absl::InvalidArgumentError("data.csv.separator: must be one byte");
    splitter.separator_ = csv.separator()[0];
  }
  if (csv.has_quote()) {
    if (csv.quote().size() > 1) return absl::InvalidArgumentError("data.csv.quote: must be one byte, or \"\" for none");
    splitter.quoting_ = !csv.quote().empty();
    if (splitter.quoting_) splitter.quote_ = csv.quote()[0];
  }
  if (splitter.quoting_ && splitter.quote_ == splitter.separator_) {
    return absl::InvalidArgumentError("data.csv: separator and quote are the same byte");
  }
  splitter.header_ = !csv.has_header() || csv.header();
  for (char& blank : splitter.blanks_) {
    if (blank == splitter.separator_) blank = splitter.separator_ == ' ' ? '\t' : ' ';
  }
  return splitter;
}

inline std::string_view CsvSplitter::Trim(std::string_view cell) const {
  while (!cell.empty() && (cell.front() == blanks_[0] || cell.front() == blanks_[1])) cell.remove_prefix(1);
  while (!cell.empty() && (cell.back() == blanks_[0] || cell.back() == blanks_[1])) cell.remove_suffix(1);
  return cell;
}

bool CsvSplitter::Split(std::string_view line, std::vector<std::string_view>* cells, std::string* unquoted, std::string* error) const {
  if (quoting_ && std::memchr(line.data(), quote_, line.size()) != nullptr) return SplitQuoted(line, cells, unquoted, error);
  if (cells->empty()) cells->resize(16);
  size_t count = SplitCells(line, separator_, cells->size(), cells->data());
  if (count > cells->size()) {
    cells->resize(count);
    SplitCells(line, separator_, count, cells->data());
  }
  cells->resize(count);
  for (std::string_view& cell : *cells) cell = Trim(cell);
  return true;
}

bool CsvSplitter::SplitQuoted(std::string_view line, std::vector<std::string_view>* cells, std::string* unquoted, std::string* error) const {
  cells->clear();
  unquoted->clear();
  unquoted->reserve(line.size());  // so that cells in it stay where they are
  for (size_t at = 0;;) {
    while (at < line.size() && (line[at] == blanks_[0] || line[at] == blanks_[1])) ++at;
    if (at == line.size() || line[at] != quote_) {
      const size_t end = std::min(line.find(separator_, at), line.size());
      cells->push_back(Trim(line.substr(at, end - at)));
      at = end;
    } else {
      if (!ReadQuoted(line, &at, unquoted, &cells->emplace_back())) {
        *error = absl::StrCat("field ", cells->size(), ": its quote (", std::string(1, quote_), ") is not closed before the end of the line; ",
                              "a value must not contain a line end. data.csv.quote: \"\" reads quotes as ordinary characters");
        return false;
      }
      while (at < line.size() && (line[at] == blanks_[0] || line[at] == blanks_[1])) ++at;
      if (at < line.size() && line[at] != separator_) {
        *error = absl::StrCat("field ", cells->size(), ": its closing quote is followed by \"", std::string(1, line[at]),
                              "\", not by the separator (", SeparatorName(separator_), ")", SeparatorHint(line, separator_, 1, 0));
        return false;
      }
    }
    if (at == line.size()) return true;
    ++at;
  }
}

bool CsvSplitter::ReadQuoted(std::string_view line, size_t* at, std::string* unquoted, std::string_view* cell) const {
  const size_t begin = *at + 1;
  size_t end = line.find(quote_, begin);
  if (end == std::string_view::npos) return false;
  if (end + 1 == line.size() || line[end + 1] != quote_) {  // the usual case: no doubled quote
    *cell = line.substr(begin, end - begin);
    *at = end + 1;
    return true;
  }
  const size_t first = unquoted->size();
  for (size_t from = begin;;) {
    end = line.find(quote_, from);
    if (end == std::string_view::npos) return false;
    unquoted->append(line, from, end - from);
    if (end + 1 == line.size() || line[end + 1] != quote_) break;
    unquoted->push_back(quote_);
    from = end + 2;
  }
  *cell = std::string_view(*unquoted).substr(first);
  *at = end + 1;
  return true;
}

std::vector<std::string> MissingSpellings(const Data& data) {
  if (data.format() != csv) return {""};
  if (data.csv().missing_size() == 0) return {"", "?"};
  return {data.csv().missing().begin(), data.csv().missing().end()};
}

absl::StatusOr<std::vector<std::string>> ParseHeader(const CsvSplitter& splitter, std::string_view line) {
  std::vector<std::string_view> cells;
  std::string unquoted;
  std::string error;
  if (!splitter.Split(line, &cells, &unquoted, &error)) return absl::InvalidArgumentError(absl::StrCat("header: ", error));
  std::vector<std::string> names;
  absl::flat_hash_map<std::string, size_t> seen;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (FindBadUtf8(cells[i]) != std::string::npos) {
      return absl::InvalidArgumentError(absl::StrCat("header: the name of column ", i + 1, ", \"", Excerpt(cells[i]),
                                                     "\", has a byte that is not UTF-8; save the header as UTF-8"));
    }
    names.push_back(cells[i].empty() ? absl::StrCat("c", i) : std::string(cells[i]));
    const auto [first, inserted] = seen.try_emplace(names[i], i);
    if (!inserted) {
      return absl::InvalidArgumentError(absl::StrCat("header: columns ", first->second + 1, " and ", i + 1, " are both named \"", names[i],
                                                     "\"; columns are looked up by name, so names must differ",
                                                     SeparatorHint(line, splitter.separator(), cells.size(), 0)));
    }
  }
  return names;
}

std::vector<std::string> NumberedColumns(size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back(absl::StrCat("c", i));
  return names;
}

std::string NoColumnError(const CsvSplitter& splitter, const std::vector<std::string>& names, std::string_view name, std::string_view what) {
  constexpr size_t kNamesShown = 8;
  std::string shown = absl::StrJoin(names.begin(), names.begin() + std::min(names.size(), kNamesShown), ", ");
  if (names.size() > kNamesShown) shown += ", ...";
  const std::string line = absl::StrJoin(names, std::string(1, splitter.separator()));
  return absl::StrCat("there is no column \"", std::string(name), "\" (", std::string(what), ") among ", names.size(),
                      names.size() == 1 ? " column: " : " columns: ", shown, " (separator ", SeparatorName(splitter.separator()), ")",
                      SeparatorHint(line, splitter.separator(), names.size(), 0));
}

}  // namespace tessera
