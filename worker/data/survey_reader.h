// The first rows of a job's files as text, before there is a schema: what columns there are, and what stands in them. Roles of columns,
// statistics of numerics and defaults are chosen from it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/plan.pb.h"

namespace tessera {

struct SurveyCell {
  std::string_view text;  // quotes and surrounding blanks taken off, doubled quotes undone
  bool missing = false;   // one of data.csv.missing; criteo: empty
};

struct SurveyEntry {
  uint64_t index = 0;
  float value = 0;
};

struct SurveyRow {
  float label = 0;                   // 0 or 1
  std::vector<SurveyCell> cells;     // csv, criteo: one for each of columns(), the label's too; they live until the next call
  std::vector<SurveyEntry> entries;  // libsvm: as they stand in the line
  uint64_t bytes = 0;                // of the line with its line end: rows of a file can be estimated from it
};

// Reads rows file by file, in order. Owned by one thread.
//
// csv columns are looked up by name in each file's own header: another order is fine, further columns are passed over, an absent one is an
// error.
class SurveyReader {
 public:
  // `data` needs format, and for csv labels[0].column and csv.*; codec and sizes of `files` are filled in (DescribeFile). Fails with
  // file:line when the first header cannot be right (no label column, another separator).
  static absl::StatusOr<std::unique_ptr<SurveyReader>> Open(const Data& data, const google::protobuf::RepeatedPtrField<InputFile>& files);
  virtual ~SurveyReader() = default;

  // Names of the columns in the order of the first file, label included. criteo: label, I1 .. I13, C1 .. C26. Without a header: c0, c1, ...
  // libsvm: empty. csv without a header and without a row: empty.
  virtual const std::vector<std::string>& columns() const = 0;
  // Reads the next row; false after the last one of the last file. A bad row is an error with file:line.
  virtual absl::StatusOr<bool> Next(SurveyRow* row) = 0;
  // "path:line" of the row read last.
  virtual std::string Where() const = 0;
};

}  // namespace tessera
