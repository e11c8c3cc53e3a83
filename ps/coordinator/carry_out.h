// What an order of the state machine means outside it.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "ps/checkpoint/checkpoint_store.h"
#include "ps/coordinator/order.h"
#include "ps/coordinator/server_group.h"

namespace tessera {

// Carries it out, waiting for servers that are away until the order's patience has passed or `cancelled` says so. May be repeated: what is done already
// stays so. One thread at a time may use a group and a store.
absl::StatusOr<OrderResult> CarryOut(const Order& order, const std::string& state_directory, ServerGroup* servers, CheckpointStore* store,
                                     const std::function<bool()>& cancelled);

}  // namespace tessera
