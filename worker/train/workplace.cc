#include "worker/train/workplace.h"

#include <utility>

#include "common/status_macros.h"
#include "worker/compute/cpu/cpu_backend.h"
#include "worker/train/evaluation.h"
#include "worker/train/scoring.h"

namespace tessera {
namespace {

Peer Speaker(const ParameterClient::Options& options) {
  Peer peer;
  peer.set_job(options.job);
  peer.set_incarnation(options.incarnation);
  peer.set_map_version(options.map_version);
  peer.set_worker(options.worker);
  peer.set_generation(options.generation);
  return peer;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Workplace>> Workplace::Create(const Plan& plan, std::vector<ParameterServerApi*> servers,
                                                             const ParameterClient::Options& peer, ThreadPool* pool, Clock* clock) {
  auto workplace = std::unique_ptr<Workplace>(new Workplace(plan));
  const Plan& own = workplace->plan_;
  workplace->servers_ = std::move(servers);
  workplace->peer_ = peer;
  workplace->pool_ = pool;
  workplace->clock_ = clock;
  TESSERA_ASSIGN_OR_RETURN(workplace->train_, Input::Open(own, own.train(), ReadOptions()));
  workplace->backend_ = MakeCpuBackend(pool);
  TESSERA_ASSIGN_OR_RETURN(workplace->model_, CtrModel::Create(own, workplace->backend_.get()));
  workplace->hints_ = std::make_unique<Hints>(workplace->servers_, Speaker(peer));
  workplace->peer_.hints = workplace->hints_.get();
  workplace->step_ =
      std::make_unique<TrainingStep>(own, workplace->train_, workplace->model_.get(), peer.stopping, workplace->hints_.get());
  return workplace;
}

ParameterClient* Workplace::ClientOf(uint64_t incarnation) {
  if (client_ == nullptr || peer_.incarnation != incarnation) {
    peer_.incarnation = incarnation;
    hints_->SetIncarnation(incarnation);
    client_ = std::make_unique<ParameterClient>(plan_, servers_, peer_, clock_);
  }
  return client_.get();
}

absl::StatusOr<EvaluationDone> Workplace::RunEvaluation(const EvaluationTask& task) {
  if (!task.holdout() && evaluate_ == nullptr) {
    TESSERA_ASSIGN_OR_RETURN(evaluate_, Input::Open(plan_, plan_.evaluate(), ReadOptions()));
  }
  Input* const input = task.holdout() ? train_.get() : evaluate_.get();
  ParameterClient::Options peer = peer_;
  peer.incarnation = task.incarnation();
  TESSERA_ASSIGN_OR_RETURN(const std::unique_ptr<Scorer> scorer, Scorer::Create(plan_, servers_, peer, pool_, clock_));
  return Evaluate(plan_, task, input, scorer.get());
}

}  // namespace tessera
