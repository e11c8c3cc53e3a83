// Reading a whole log: the segments of a folder in order.
#pragma once

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "ps/durability/log_segment.h"

namespace tessera {

struct FoundSegment {
  uint64_t number = 0;
  uint64_t last_lsn = 0;  // 0: holds nothing of the log
  uint64_t end = 0;       // bytes up to there are part of the log
};
struct FoundLog {
  std::vector<FoundSegment> segments;  // in order
  std::vector<uint64_t> spares;
  uint64_t last_lsn = 0;
};

// Calls `replay` for each record from first_lsn on. DATA_LOSS names file and place where a record that was durable is not sound, or is
// missing, or where a file is not of the log `log`. A gap below first_lsn is none: nothing in it is needed. Changes nothing.
absl::StatusOr<FoundLog> ReadLog(const std::string& folder, uint64_t log, uint64_t first_lsn,
                                 absl::FunctionRef<absl::Status(const LogRecord&)> replay);

// Files of dropped segments, kept to be used again.
std::string SpareName(uint64_t number);

}  // namespace tessera
