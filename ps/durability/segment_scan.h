// Reading one file of the push log back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "ps/durability/log_segment.h"

namespace tessera {

// What reading a segment found.
struct SegmentScan {
  enum class Header {
    kSound,
    kNone,      // nothing, or nothing sound: of a segment that was being made, or damaged
    kRenamed,   // sound, of a file that had another number: a spare that was being turned into this one
  };
  Header header = Header::kNone;
  uint64_t first_lsn = 0;      // of the header
  uint64_t last_lsn = 0;       // of the last sound record in order; 0: none. kRenamed: of those the file had under its other number
  uint64_t end = 0;            // bytes up to there
  uint64_t beyond_lsn = 0;     // the sound record after one that is not which knows most of durable ones; 0: none
  uint64_t beyond_durable_lsn = 0;
  uint64_t headless_lsn = 0;   // kNone, yet this sound record stands where the first one would; 0: none does
};

// Calls body for each sound record in order, up to the first that is bad, and looks for sound ones behind it. Where the header is not
// sound, all records are behind it. The file is read into `buffer`, which grows; used for one segment after the other it is fresh memory
// only once. DATA_LOSS: the segment is another log's; FAILED_PRECONDITION: of another format; both name the file.
absl::StatusOr<SegmentScan> ScanSegment(const std::string& path, SegmentKey key, std::vector<uint64_t>* buffer,
                                        absl::FunctionRef<absl::Status(const LogRecord&)> body);

}  // namespace tessera
