#include "tools/embedded_run.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "worker/train/worker.h"

namespace tessera {

EmbeddedRun::EmbeddedRun(Options options, Clock* clock) : options_(std::move(options)), clock_(clock), pool_(options_.threads) {}

EmbeddedRun::~EmbeddedRun() {
  if (coordinator_ != nullptr && !coordinator_->WaitUntilOver(absl::ZeroDuration())) (void)coordinator_->Interrupt("the run was given up");
  Join();
}

absl::Status EmbeddedRun::Start() {
  CoordinatorOptions options;
  options.job = options_.job.job;
  options.origins = options_.job.origins;
  options.state_directory = options_.folders.state;
  options.checkpoint_directory = options_.folders.checkpoints;
  for (uint32_t shard = 0; shard < options_.servers; ++shard) {
    servers_.push_back(std::make_unique<Server>(
        ServerOptions{.job = options.job.name(), .shard = shard, .shards = options_.servers, .state_directory = options_.folders.state},
        &pool_));
    apis_.push_back(servers_.back().get());
    options.addresses.push_back(absl::StrCat("shard ", shard, " of this process"));
  }
  options.servers = apis_;
  coordinator_ = std::make_unique<Coordinator>(std::move(options), clock_);
  TESSERA_RETURN_IF_ERROR(coordinator_->Init());
  {
    MutexLock lock(&mutex_);
    running_ = options_.workers;
  }
  for (uint32_t i = 0; i < options_.workers; ++i) workers_.emplace_back([this, i] { Work(i); });
  return absl::OkStatus();
}

void EmbeddedRun::Work(uint32_t index) {
  WorkerOptions options;
  options.name = absl::StrCat("worker ", index, " of process ", getpid());
  options.nonce = MixKey(static_cast<uint64_t>(absl::ToUnixNanos(clock_->Now())), getpid(), index);
  options.connect = [this](const std::vector<std::string>&) { return absl::StatusOr<std::vector<ParameterServerApi*>>(apis_); };
  options.pool = &pool_;
  const absl::Status status = RunWorker(coordinator_.get(), options, clock_);
  MutexLock lock(&mutex_);
  --running_;
  if (result_.ok()) result_ = status;
}

bool EmbeddedRun::Over(absl::Duration timeout) {
  if (coordinator_->WaitUntilOver(timeout)) return true;
  MutexLock lock(&mutex_);
  return running_ == 0;
}

absl::Status EmbeddedRun::Result() {
  Join();
  MutexLock lock(&mutex_);
  return result_;
}

void EmbeddedRun::Join() {
  for (std::thread& worker : workers_) {
    if (worker.joinable()) worker.join();
  }
}

}  // namespace tessera
