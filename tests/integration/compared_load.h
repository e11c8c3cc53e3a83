// One stream of updates, sent in step or not, whose order matters: Adagrad, Adam, admission, eviction, periods. A second server in this
// process, which never ends and keeps neither a log nor a budget, gets each update once; both must answer the same bits.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/thread_pool.h"
#include "ps/server/server.h"
#include "tests/integration/load.h"
#include "tests/integration/push_world.h"

namespace tessera {

class ComparedLoad : public Load {
 public:
  // `folder` is for the second server, and for what both save.
  ComparedLoad(Durability durability, bool sync, uint64_t seed, const std::string& folder);

  const OpenRequest& open() const override { return world_.open(); }
  absl::Status CatchUp(ParameterServerApi* server) override;
  absl::Status Verify(ParameterServerApi* server) override;
  void Run(ParameterServerApi* server, Phase* phase) override;
  uint64_t acknowledged() const override { return acknowledged_; }

 private:
  // What is under way stands in the fields below, so that it can be sent again.
  absl::Status Advance(ParameterServerApi* server);
  void MakeEvict();
  void MakePush();
  void MakeStages();
  void Decide();
  absl::Status SendEvict(ParameterServerApi* server);
  absl::Status SendPush(ParameterServerApi* server);
  absl::Status SendStage(ParameterServerApi* server);
  absl::Status RepeatPush(ParameterServerApi* server);
  absl::Status RepeatStage(ParameterServerApi* server);
  absl::Status Commit(ParameterServerApi* server);
  // Both save: digests of all rows, chunks and their optimizer state.
  absl::Status CompareSaved(ParameterServerApi* server);
  absl::Status Compare(ParameterServerApi* server, absl::Span<const uint64_t> ids, bool evaluation);

  const PushWorld world_;
  const bool sync_;
  const std::string folder_;
  RandomSequence random_;
  ThreadPool pool_{1};
  Server reference_;
  uint64_t acknowledged_ = 0;
  uint32_t period_ = 1;

  std::unique_ptr<EvictRequest> evict_;  // not answered yet
  // async
  std::unique_ptr<PushRequest> push_;    // not acknowledged yet
  PushRequest last_push_;
  // sync
  uint64_t step_ = 1;                    // to be staged
  Decision decision_;                    // of the step before
  std::vector<StageRequest> stages_;     // of step_: those of the shares' winners and of others
  size_t staged_ = 0;                    // so many are acknowledged
  std::vector<Winner> winners_;
  StageRequest last_stage_;              // of the step before
};

}  // namespace tessera
