#include "common/rpc/channel.h"

#include "common/rpc/grpc_options.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"

namespace tessera {

std::shared_ptr<grpc::ChannelInterface> MakeChannel(const std::string& address) {
  QuietGrpc();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
  arguments.SetMaxSendMessageSize(kMessageBytesMax);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // Callers retry, with knowledge of what may be repeated and until when.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  // Each server has a connection of its own, even where two channels of a process lead to one address.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 500);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);  // despite its name: how long one attempt to connect may take
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace tessera
