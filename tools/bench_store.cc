#include "tools/bench_store.h"

#include <utility>

#include "common/status_macros.h"

namespace tessera {
namespace {

constexpr char kJob[] = "bench";
constexpr uint64_t kIncarnation = 1;
constexpr uint32_t kWorker = 1;
constexpr uint64_t kGeneration = 1;

}  // namespace

BenchStore::BenchStore(TemporaryFolder folder, ThreadPool* pool)
    : folder_(std::move(folder)), server_(ServerOptions{.job = kJob, .shard = 0, .shards = 1, .state_directory = folder_.path()}, pool) {}

absl::StatusOr<std::unique_ptr<BenchStore>> BenchStore::Open(const Plan& plan, ThreadPool* pool, Clock* clock) {
  TESSERA_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::Create());
  std::unique_ptr<BenchStore> store(new BenchStore(std::move(folder), pool));
  OpenRequest request;
  request.mutable_peer()->set_job(kJob);
  request.mutable_peer()->set_incarnation(kIncarnation);
  request.mutable_peer()->set_map_version(1);
  request.mutable_peer()->set_shards(1);
  request.set_seed(1);
  *request.mutable_table() = plan.table();
  *request.mutable_variables() = plan.variables();
  OpenReply reply;
  TESSERA_RETURN_IF_ERROR(store->server_.Open(request, &reply));
  ParameterClient::Options peer;
  peer.job = kJob;
  peer.incarnation = kIncarnation;
  peer.map_version = 1;
  peer.worker = kWorker;
  peer.generation = kGeneration;
  store->client_ = std::make_unique<ParameterClient>(plan, std::vector<ParameterServerApi*>{&store->server_}, peer, clock);
  store->last_.set_incarnation(kIncarnation);
  return store;
}

StepBenchStore BenchStore::Functions() {
  return {.pull = [this](const Batch& batch) { return Pull(batch); },
          .push = [this](const Batch& batch, const ModelGradients& gradients) { return Push(batch, gradients); }};
}

absl::StatusOr<ModelValues> BenchStore::Pull(const Batch& batch) {
  TESSERA_RETURN_IF_ERROR(client_->Pull(batch, last_.step() + 1, &last_, false, &values_));
  return ModelValues{.rows = values_.rows, .dense = values_.dense};
}

absl::Status BenchStore::Push(const Batch& batch, const ModelGradients& gradients) {
  const uint64_t step = last_.step() + 1;
  TESSERA_RETURN_IF_ERROR(client_->Stage(batch, step, last_, 0, gradients.rows, gradients.dense));
  Decision next;
  next.set_incarnation(kIncarnation);
  next.set_step(step);
  Winner* winner = next.add_winners();
  winner->set_worker(kWorker);
  winner->set_generation(kGeneration);
  winner->set_rows(batch.size());
  next.set_rows(static_cast<double>(batch.size()));
  next.set_sparse_learning_rate(0.02);
  next.set_dense_learning_rate(0.001);
  next.set_optimizer_step(step);
  last_ = std::move(next);
  return absl::OkStatus();
}

}  // namespace tessera
