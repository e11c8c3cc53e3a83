#include "common/rpc/status_mapping.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "grpcpp/support/status.h"

namespace tessera {

static_assert(static_cast<int>(grpc::StatusCode::DATA_LOSS) == static_cast<int>(absl::StatusCode::kDataLoss));
static_assert(static_cast<int>(grpc::StatusCode::ABORTED) == static_cast<int>(absl::StatusCode::kAborted));
static_assert(static_cast<int>(grpc::StatusCode::UNAVAILABLE) == static_cast<int>(absl::StatusCode::kUnavailable));
static_assert(static_cast<int>(grpc::StatusCode::UNAUTHENTICATED) == static_cast<int>(absl::StatusCode::kUnauthenticated));

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status();
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const auto code = static_cast<absl::StatusCode>(status.error_code());
  // Our clients cancel nothing, and our services answer with another code.
  if (code == absl::StatusCode::kCancelled) return absl::UnavailableError("it ended the call without an answer: it is being stopped");
  if (!status.error_message().empty()) return absl::Status(code, status.error_message());
  // gRPC itself answers so, without a word, where a service is not registered or a message cannot be read.
  if (code == absl::StatusCode::kUnimplemented) {
    return absl::Status(code, "whoever listens there does not offer this service; the coordinator is in server 0 (--shard 0)");
  }
  return absl::Status(code, absl::StrCat("no reason given (", absl::StatusCodeToString(code), ")"));
}

}  // namespace tessera
