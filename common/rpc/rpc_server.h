// A listening gRPC server with our options: message limits, keepalive, and a port that nobody else may share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace grpc {
class Service;
}

namespace tessera {

// Listens from Start until Shutdown. Thread-safe.
class RpcServer {
 public:
  // `address` is host:port of this machine; port 0 picks a free one. Fails at once with "address in use: ..." where another process
  // listens there. The services are called from many threads.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(const std::string& address, std::vector<std::shared_ptr<grpc::Service>> services);
  virtual ~RpcServer() = default;

  virtual int port() const = 0;
  // Refuses new calls, gives those in progress `grace` to end, then cancels them. Idempotent.
  virtual void Shutdown(absl::Duration grace) = 0;
};

}  // namespace tessera
