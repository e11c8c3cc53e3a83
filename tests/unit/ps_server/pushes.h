// Pushes as a worker of async mode sends them.
#pragma once

#include "tests/unit/ps_server/server_fixture.h"

namespace tessera {

inline PushRequest MakePush(const ServerGroup& group, uint32_t shard, const Peer& peer, uint64_t sequence, const ShareGradients& share) {
  PushRequest request;
  *request.mutable_peer() = peer;
  request.set_sequence(sequence);
  request.set_optimizer_step(sequence);
  request.set_sparse_learning_rate(0.05);
  request.set_dense_learning_rate(0.01);
  request.set_divisor(10);
  group.FillGradients(shard, share, 0, 1, request.mutable_gradients());
  return request;
}

}  // namespace tessera
