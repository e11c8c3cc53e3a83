// What a worker has at hand once it knows the plan: its input, backend, model and connections.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/parameter_server_api.h"
#include "common/thread_pool.h"
#include "proto/coordinator.pb.h"
#include "proto/plan.pb.h"
#include "worker/client/hints.h"
#include "worker/client/parameter_client.h"
#include "worker/compute/backend.h"
#include "worker/data/input.h"
#include "worker/model/model.h"
#include "worker/train/training_step.h"

namespace tessera {

// Owned by one thread.
class Workplace {
 public:
  // `peer` says who this worker is; its incarnation is named by each instruction. What the pointers lead to outlives the workplace.
  static absl::StatusOr<std::unique_ptr<Workplace>> Create(const Plan& plan, std::vector<ParameterServerApi*> servers,
                                                           const ParameterClient::Options& peer, ThreadPool* pool, Clock* clock);

  TrainingStep& step() { return *step_; }
  // The client that speaks in this incarnation of the job. A new one begins its pushes at 1, as the servers then do.
  ParameterClient* ClientOf(uint64_t incarnation);
  absl::StatusOr<EvaluationDone> RunEvaluation(const EvaluationTask& task);

 private:
  explicit Workplace(const Plan& plan) : plan_(plan) {}

  const Plan plan_;
  std::vector<ParameterServerApi*> servers_;
  ParameterClient::Options peer_;
  ThreadPool* pool_ = nullptr;
  Clock* clock_ = nullptr;
  std::shared_ptr<Input> train_;
  std::shared_ptr<Input> evaluate_;  // opened when first asked for
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<CtrModel> model_;
  std::unique_ptr<Hints> hints_;  // before step and client, which use it
  std::unique_ptr<TrainingStep> step_;
  std::unique_ptr<ParameterClient> client_;
};

}  // namespace tessera
