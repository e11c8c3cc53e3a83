// The bodies of log records: what an update was made of, so that it can be made again. The format stands in proto/shard.proto.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/shard.pb.h"
#include "ps/server/gradients.h"

namespace tessera {

// A body, without copying the gradients. Valid while `gradients` is unchanged.
class LogBody {
 public:
  // `gradients` may be null: no arrays.
  LogBody(LoggedHeader header, const Gradients* gradients);
  LogBody(const LogBody&) = delete;
  LogBody& operator=(const LogBody&) = delete;
  absl::Span<const absl::string_view> pieces() const { return pieces_; }

 private:
  std::string header_;
  std::vector<absl::string_view> pieces_;
};
// Bytes the gradients take in the log, about.
uint64_t LoggedBytes(const Gradients& gradients);

// Writes facts into a header and reads them.
void SetFacts(const RowFacts& facts, LoggedHeader* header);
RowFacts FactsOf(const LoggedHeader& header);

// A body read back. The gradients view the bytes it was read from; their ids are grouped.
struct ReadBody {
  LoggedHeader header;
  CheckedGradients gradients;
};
// DATA_LOSS says what is wrong. REQUIRES: bytes are aligned to 8.
absl::StatusOr<ReadBody> ReadLogBody(absl::Span<const char> bytes);
// The same gradients as a message of their own.
void CopyGradients(const ReadBody& body, Gradients* gradients);

}  // namespace tessera
