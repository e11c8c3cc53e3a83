// A client with fake servers and a clock of its own.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "tests/unit/client/fake_server.h"
#include "worker/client/parameter_client.h"

namespace tessera {

// Rows of 1 + `embedding` floats, dense variables of several chunks.
inline Plan ClientPlan(uint32_t embedding = 4) {
  Plan plan;
  plan.mutable_table()->add_segments()->set_dim(1);
  plan.mutable_table()->add_segments()->set_dim(embedding);
  for (uint64_t floats : {uint64_t{3} * kDenseChunkFloats + 5, uint64_t{1}, uint64_t{70}}) plan.add_variables()->add_shape(floats);
  return plan;
}

// A client as worker 3 of servers that remember.
class ClientCluster {
 public:
  ClientCluster(const Plan& plan, uint32_t shards, absl::Duration patience = absl::Seconds(10), const std::atomic<bool>* stopping = nullptr) {
    std::vector<ParameterServerApi*> apis;
    for (uint32_t s = 0; s < shards; ++s) {
      servers.push_back(std::make_unique<FakeServer>(plan, s, shards));
      apis.push_back(servers.back().get());
    }
    ParameterClient::Options options;
    options.job = "job";
    options.incarnation = 5;
    options.worker = 3;
    options.generation = 9;
    options.patience = patience;
    options.stopping = stopping;
    client = std::make_unique<ParameterClient>(plan, apis, options, &clock);
  }
  std::vector<float> taken_dense() const {
    std::vector<float> all;
    for (const auto& server : servers) {
      const std::vector<float> part = server->taken_dense();
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

  FakeClock clock;
  std::vector<std::unique_ptr<FakeServer>> servers;
  std::unique_ptr<ParameterClient> client;
};

}  // namespace tessera
