// How Tessera's programs reach each other: the options of every channel, in one place.
#pragma once

#include <memory>
#include <string>

namespace grpc {
class ChannelInterface;
}

namespace tessera {

// A channel to host:port. It connects by itself when first used, and again after the connection broke: the first retry within a second,
// then at most every 5 s. Proxies named in the environment are not used. The channel survives idle hours. Thread-safe.
std::shared_ptr<grpc::ChannelInterface> MakeChannel(const std::string& address);

}  // namespace tessera
