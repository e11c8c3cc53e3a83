// The csv splitter against a slow and simple one, on random lines.
#include <gtest/gtest.h>

#include "common/random.h"
#include "worker/data/csv_split.h"

namespace tessera {
namespace {

struct SlowSplit {
  bool ok = true;
  std::vector<std::string> cells;
};

// Character by character, by the rules in csv_split.h.
SlowSplit Split(const std::string& line, char separator) {
  SlowSplit result;
  const auto blank = [separator](char c) { return (c == ' ' || c == '\t') && c != separator; };
  size_t at = 0;
  for (;;) {
    while (at < line.size() && blank(line[at])) ++at;
    std::string cell;
    if (at < line.size() && line[at] == '"') {
      bool closed = false;
      for (++at; at < line.size() && !closed; ++at) {
        if (line[at] != '"') {
          cell += line[at];
        } else if (at + 1 < line.size() && line[at + 1] == '"') {
          cell += '"';
          ++at;
        } else {
          closed = true;
        }
      }
      while (at < line.size() && blank(line[at])) ++at;
      if (!closed || (at < line.size() && line[at] != separator)) {
        result.ok = false;
        return result;
      }
    } else {
      for (; at < line.size() && line[at] != separator; ++at) cell += line[at];
      while (!cell.empty() && blank(cell.back())) cell.pop_back();
    }
    result.cells.push_back(cell);
    if (at >= line.size()) return result;
    ++at;
  }
}

TEST(CsvFuzzTest, FastAndSlowSplitAlike) {
  constexpr std::string_view kAlphabet = "ab,,;\" \"\t";
  RandomSequence random(20240229);
  std::vector<std::string_view> cells;
  std::string unquoted;
  for (const char* separator : {",", ";", "\t", " "}) {
    Csv csv;
    csv.set_separator(separator);
    const absl::StatusOr<CsvSplitter> splitter = CsvSplitter::Create(csv);
    ASSERT_TRUE(splitter.ok());
    for (int i = 0; i < 100000; ++i) {
      std::string line;
      // One line in 20 is longer than what is scanned at a time.
      const size_t length = random.Below(20) == 0 ? random.Below(300) : random.Below(14);
      const size_t letters = random.Below(2) == 0 ? 5 : kAlphabet.size();  // half of the lines have no quote
      while (line.size() < length) line += kAlphabet[random.Below(letters)];
      const SlowSplit expected = Split(line, separator[0]);
      std::string error;
      const bool ok = splitter->Split(line, &cells, &unquoted, &error);
      ASSERT_EQ(ok, expected.ok) << line;
      EXPECT_EQ(error.empty(), ok);
      if (!ok) continue;
      ASSERT_EQ(std::vector<std::string>(cells.begin(), cells.end()), expected.cells) << line;
    }
  }
}

}  // namespace
}  // namespace tessera
