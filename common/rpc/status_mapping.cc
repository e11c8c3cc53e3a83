#include "common/rpc/status_mapping.h"

#include <string>

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
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace tessera
