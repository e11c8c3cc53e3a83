#include "common/rpc/rpc_server.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/rpc/grpc_options.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"

namespace tessera {
namespace {

class GrpcServer : public RpcServer {
 public:
  GrpcServer(std::vector<std::shared_ptr<grpc::Service>> services, std::unique_ptr<grpc::Server> server, int port)
      : services_(std::move(services)), server_(std::move(server)), port_(port) {}
  ~GrpcServer() override { Shutdown(absl::ZeroDuration()); }

  int port() const override { return port_; }
  void Shutdown(absl::Duration grace) override { server_->Shutdown(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), ToGpr(grace))); }

 private:
  static gpr_timespec ToGpr(absl::Duration duration) { return gpr_time_from_millis(absl::ToInt64Milliseconds(duration), GPR_TIMESPAN); }

  const std::vector<std::shared_ptr<grpc::Service>> services_;  // outlive the server
  const std::unique_ptr<grpc::Server> server_;
  const int port_;
};

// The library says only that it could not bind; the system says why.
absl::Status WhyNotBound(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return absl::InvalidArgumentError(absl::StrCat(address, ": an address is host:port"));
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found); error != 0) {
    return absl::InvalidArgumentError(absl::StrCat("cannot listen on ", address, ": ", gai_strerror(error)));
  }
  int why = 0;
  const int probe = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(probe, found->ai_addr, found->ai_addrlen) != 0 || listen(probe, 1) != 0) why = errno;
  close(probe);
  freeaddrinfo(found);
  if (why == EADDRINUSE || why == 0) {
    return absl::AlreadyExistsError(
        absl::StrCat("address in use: ", address, " is taken by another process; stop it (ss -ltnp shows it) or choose another port"));
  }
  return absl::FailedPreconditionError(absl::StrCat("cannot listen on ", address, ": ", std::strerror(why)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(const std::string& address,
                                                            std::vector<std::shared_ptr<grpc::Service>> services) {
  QuietGrpc();
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(kMessageBytesMax);
  builder.SetMaxSendMessageSize(kMessageBytesMax);
  // Without this a second server on a used port would start, and each would get half of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kKeepaliveMinMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  for (const auto& service : services) builder.RegisterService(service.get());
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port <= 0) return WhyNotBound(address);
  return std::make_unique<GrpcServer>(std::move(services), std::move(server), port);
}

}  // namespace tessera
