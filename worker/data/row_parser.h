// What a text format is to the rest: a line in, a row out. A further format is one file that implements this.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/plan.pb.h"
#include "worker/data/input.h"
#include "worker/data/rows.h"

namespace tessera {

// Room that parsing needs again for each line. Owned by one thread.
struct RowScratch {
  std::vector<std::string_view> cells;
  std::vector<std::string_view> ordered;
  std::string unquoted;
  std::vector<uint32_t> field_of;
  std::vector<uint32_t> next;
  std::vector<uint64_t> ids;
  std::vector<float> values;
};

// Whether rows have the label's column where no header tells. For prediction a file may lack it: in all rows, as its first row shows.
enum class RowLabels { kPresent, kAbsent };

// Thread-safe: constant after construction.
class RowParser {
 public:
  virtual ~RowParser() = default;
  // Sets the layout of rows that have none yet.
  virtual void Prepare(Rows* rows) const = 0;
  // Whether rows of the file may be written as empty lines.
  virtual bool EmptyLinesAreRows() const { return false; }
  // Whether the line holds no row but a comment.
  virtual bool IsComment(std::string_view) const { return false; }
  // Appends the row of a line (no line end, no comment), all but its key. False with what is wrong with the line; `rows` may then hold a
  // part of the row. REQUIRES: Prepare(rows), *error is empty.
  virtual bool Parse(std::string_view line, RowScratch* scratch, Rows* rows, std::string* error) const = 0;
  // Whether a file whose first row is this one has rows of this parser's RowLabels.
  virtual bool Fits(std::string_view) const { return true; }
};

class RowEncoder;

// One parser for all files, or for all whose rows have labels, or have none.
std::shared_ptr<const RowParser> NewCriteoParser(std::shared_ptr<const RowEncoder> encoder, RowLabels labels);
absl::StatusOr<std::shared_ptr<const RowParser>> NewLibsvmParser(const Plan& plan, ReadOptions options, RowLabels labels);
// `header`: the names in the file's first row; nullptr where the job says that files have none, then `labels` tells
// which columns rows have. An error is to be prefixed by the place.
absl::StatusOr<std::shared_ptr<const RowParser>> NewCsvParser(const Plan& plan, std::shared_ptr<const RowEncoder> encoder,
                                                              const std::vector<std::string>* header, RowLabels labels);

// Names of Criteo's columns: label, I1 .. I13, C1 .. C26.
const std::vector<std::string>& CriteoColumns();

}  // namespace tessera
