// A set of input files, readable block by block.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "proto/plan.pb.h"
#include "worker/data/rows.h"

namespace tessera {

// What to read of a row beside its features.
struct ReadOptions {
  bool labels = true;  // false: prediction; files may lack the label column, as header or first row tell: labels become NaN
  bool kept = false;   // fill Rows::kept
};

// Thread-safe: blocks may be read from several threads.
//
// Blocks are numbered file by file; block k of a file is the bytes [k * block_bytes, (k + 1) * block_bytes) of its plain (decompressed)
// content. A row belongs to the block that holds its first byte. So every row is in exactly one block, wherever the cuts fall.
// Rows end with LF or CRLF, the last one with the end of the file; empty lines are skipped, unless rows are read
// without labels and have room for nothing else (csv of one column, libsvm without labels): then every empty line but the last ones of a file is a row.
class Input {
 public:
  // REQUIRES: plan.schema, plan.job.data are set; files are plan.train, plan.evaluate, or others of the same schema with codec and sizes
  // filled in (DescribeFile).
  static absl::StatusOr<std::unique_ptr<Input>> Open(const Plan& plan, const google::protobuf::RepeatedPtrField<InputFile>& files,
                                                     ReadOptions options);
  virtual ~Input() = default;

  virtual uint64_t block_count() const = 0;
  // Appends the block's rows in file order. Errors (a bad row, a cut gz) name file and line, and leave `rows` as it was.
  virtual absl::Status ReadBlock(uint64_t block, Rows* rows) = 0;
  // "path:line" of a row, for messages; reads the file up to the row.
  virtual std::string Where(uint64_t key) = 0;
};

// Looks at a file: codec told by content, sizes (a compressed file is read through once), fingerprint.
absl::StatusOr<InputFile> DescribeFile(const std::string& path);

}  // namespace tessera
