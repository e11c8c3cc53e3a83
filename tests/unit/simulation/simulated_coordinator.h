// The real state machine of the coordinator, its real calls to servers and its checkpoints, in a simulated world. Its journal is a record in memory:
// what was written stays when the process ends.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "common/limits.h"
#include "ps/coordinator/carry_out.h"
#include "ps/coordinator/coordinator_state.h"
#include "ps/coordinator/incarnation_file.h"
#include "ps/coordinator/journal.h"
#include "tests/unit/simulation/simulated_server.h"

namespace tessera {

class SimulatedCoordinator {
 public:
  SimulatedCoordinator(World* world, const Job& job, std::vector<std::unique_ptr<SimulatedServer>>* servers, const std::string& folder)
      : world_(world), job_(job), state_directory_(folder + "/state"), store_(folder + "/checkpoints") {
    std::filesystem::create_directories(state_directory_);
    for (auto& server : *servers) {
      apis_.push_back(std::make_unique<OwnersServer>(world, server.get()));
      addresses_.push_back(absl::StrCat("server-", addresses_.size()));
    }
  }

  void Start() {
    CoordinatorStart start;
    start.job = job_;
    start.addresses = addresses_;
    start.checkpoint_directory = store_.directory();
    if (absl::StatusOr<CheckpointStore::Entry> newest = store_.Newest(); newest.ok()) start.saved = *std::move(newest);
    start.incarnation = ReadIncarnation(state_directory_).value();
    start.generation_gap = world_->Below(uint64_t{1} << 32);
    start.journaled = true;
    start.record = journal_;
    std::vector<ParameterServerApi*> apis;
    for (auto& api : apis_) apis.push_back(api.get());
    servers_ = std::make_shared<ServerGroup>(job_.name(), apis, addresses_, world_, ServerGroup::Calls::kOneByOne);
    state_ = std::make_unique<CoordinatorState>(std::move(start), world_->Now());
    process.up = true;
    process.stalled_until = world_->Now();
    notified_ = 0;
    ++life_;
    Notify();
    Tick(life_);
  }
  void Crash() {
    if (!process.up) return;
    world_->Trace("the coordinator is killed");
    process.up = false;
    ++life_;
    state_.reset();
    waiting_.clear();
  }
  void Restart() {
    if (process.up) return;
    // The old process is gone for good only once it has let go of what it waits for.
    if (in_order_) return world_->At(absl::Milliseconds(50), [this] { Restart(); });
    world_->Trace("the coordinator is back");
    Start();
  }

  using Answer = std::function<void(const absl::Status&, const Instruction&)>;
  void Join(const JoinRequest& request, std::function<void(const absl::Status&, const JoinReply&)> answer) {
    state_->Tick(world_->Now());
    JoinReply reply;
    const absl::Status status = state_->Join(request, world_->Now(), &reply);
    Notify();
    answer(status, reply);
  }
  void Heartbeat(const HeartbeatRequest& request, std::function<void(const absl::Status&, const HeartbeatReply&)> answer) {
    state_->Tick(world_->Now());
    HeartbeatReply reply;
    reply.set_fenced(!state_->Heartbeat(request, world_->Now()));
    Notify();
    answer(absl::OkStatus(), reply);
  }
  // Long polls: answered at once, or later.
  void Done(const DoneRequest& request, Answer answer) {
    Poll([this, request, answer](bool last) {
      state_->Report(request, world_->Now());
      state_->Poll(request, world_->Now());
      Notify();
      Instruction reply;
      if (state_->Answer(request, &reply)) return answer(absl::OkStatus(), reply), true;
      if (!last) return false;
      reply.mutable_again();
      answer(state_->returning() ? absl::UnavailableError("looks for the servers") : absl::OkStatus(), reply);
      return true;
    });
  }
  void Advance(const AdvanceRequest& request, std::function<void(const absl::Status&, const AdvanceReply&)> answer) {
    Poll([this, request, answer](bool last) {
      AdvanceReply reply;
      const bool answered = state_->Advance(request, world_->Now(), &reply);
      Notify();
      if (!answered && !last) return false;
      answer(!answered && state_->returning() ? absl::UnavailableError("looks for the servers") : absl::OkStatus(), reply);
      return true;
    });
  }

  bool over() const { return state_ != nullptr && state_->over(); }
  Report report() const { return state_->MakeReport(world_->Now()); }

  Process process;

 private:
  // Asks again whenever there is news, and one last time when the poll is over.
  void Poll(std::function<bool(bool last)> ask) {
    state_->Tick(world_->Now());
    if (ask(false)) return;
    const auto place = waiting_.insert(waiting_.end(), std::make_shared<std::function<bool(bool)>>(std::move(ask)));
    world_->At(absl::Milliseconds(kPollMs), [this, life = life_, poll = std::weak_ptr(*place)] {
      const auto still = poll.lock();
      if (life != life_ || still == nullptr) return;
      waiting_.remove(still);
      state_->Tick(world_->Now());
      (*still)(true);
    });
  }

  // As the real one: what was decided is durable before anybody hears of it.
  void Notify() {
    const std::optional<CoordinatorRecord> record = state_->TakeRecord(/*whole=*/false, world_->Now());
    if (record.has_value()) Fold(*record, &journal_);
    if (state_->has_order()) world_->At(absl::ZeroDuration(), [this, life = life_] { CarryOut(life); });
    if (state_->news() == notified_) return;
    notified_ = state_->news();
    world_->At(absl::ZeroDuration(), [this, life = life_] { Wake(life); });
  }
  void Wake(uint64_t life) {
    if (life != life_) return;
    const auto waiting = std::exchange(waiting_, {});
    for (const auto& poll : waiting) {
      if (!(*poll)(false)) waiting_.push_back(poll);
    }
  }
  void Tick(uint64_t life) {
    if (life != life_ || !process.up) return;
    if (world_->Now() >= process.stalled_until) {
      state_->Tick(world_->Now());
      Notify();
    }
    world_->At(absl::Milliseconds(100), [this, life] { Tick(life); });
  }

  void CarryOut(uint64_t life) {
    if (life != life_ || in_order_) return;
    std::optional<Order> order = state_->TakeOrder();
    if (!order.has_value()) return;
    in_order_ = true;
    const auto cancelled = [this, life, number = order->number] { return life != life_ || !state_->IsWanted(number); };
    const std::shared_ptr<ServerGroup> servers = servers_;
    const absl::StatusOr<OrderResult> result = tessera::CarryOut(*order, state_directory_, servers.get(), &store_, cancelled);
    in_order_ = false;
    if (life != life_) return;
    state_->Finish(order->number, result, world_->Now());
    Notify();
  }
  World* const world_;
  const Job job_;
  const std::string state_directory_;
  CheckpointStore store_;
  std::vector<std::unique_ptr<OwnersServer>> apis_;
  std::vector<std::string> addresses_;

  // On disk.
  CoordinatorRecord journal_;

  // Of the process.
  std::unique_ptr<CoordinatorState> state_;
  std::shared_ptr<ServerGroup> servers_;
  uint64_t life_ = 0;
  uint64_t notified_ = 0;
  bool in_order_ = false;
  std::list<std::shared_ptr<std::function<bool(bool)>>> waiting_;
};

}  // namespace tessera
