// Whoever calls coordinator and servers in a simulated world: a process that may die or stand still, and tries again while they are away.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "common/retry.h"
#include "tests/unit/simulation/simulated_coordinator.h"

namespace tessera {

class SimulatedCaller {
 public:
  SimulatedCaller(World* world, SimulatedCoordinator* coordinator, std::vector<std::unique_ptr<SimulatedServer>>* servers)
      : world_(world), coordinator_(coordinator), servers_(servers) {}
  ~SimulatedCaller() { Die(); }

 protected:
  using Status = absl::Status;

  bool alive() const { return *alive_; }
  void Die() { *alive_ = false; }
  void StandStill(absl::Duration time) { stalled_until_ = std::max(stalled_until_, world_->Now() + time); }
  absl::Time stalled_until() const { return stalled_until_; }

  // Answers come while it lives and runs.
  template <class Reply>
  std::function<void(const Status&, const Reply&)> WhileAlive(std::function<void(const Status&, const Reply&)> then) {
    return [this, alive = alive_, then](const Status& status, const Reply& reply) { Resume(alive, [=] { then(status, reply); }); };
  }
  void Resume(const std::shared_ptr<bool>& alive, std::function<void()> then) {
    if (!*alive) return;
    if (world_->Now() >= stalled_until_) return then();
    world_->At(stalled_until_ - world_->Now(), [this, alive, then] { Resume(alive, then); });
  }
  void After(absl::Duration wait, std::function<void()> then) {
    world_->At(wait, [this, alive = alive_, then] { Resume(alive, then); });
  }
  // Late is useless, and no answer is waited for.
  void SendHeartbeat(const HeartbeatRequest& request) {
    world_->Send<HeartbeatRequest, HeartbeatReply>(
        &coordinator_->process, request,
        [c = coordinator_](const HeartbeatRequest& arrived, std::function<void(const Status&, const HeartbeatReply&)> answer) {
          c->Heartbeat(arrived, answer);
        },
        absl::Milliseconds(kHeartbeatMs), [](const Status&, const HeartbeatReply&) {});
  }
  template <class Request, class Reply>
  void ToCoordinator(void (SimulatedCoordinator::*method)(const Request&, std::function<void(const Status&, const Reply&)>), Request request,
                     absl::Duration timeout, std::function<void(const Status&, const Reply&)> then, absl::Duration wait = Retry::kFirstWait) {
    world_->Send<Request, Reply>(
        &coordinator_->process, request,
        [c = coordinator_, method](const Request& arrived, std::function<void(const Status&, const Reply&)> answer) {
          (c->*method)(arrived, answer);
        },
        timeout, WhileAlive<Reply>([=, this](const Status& status, const Reply& reply) {
          if (!IsAway(status)) return then(status, reply);
          After(wait, [=, this] { ToCoordinator(method, request, timeout, then, std::min(2 * wait, Retry::kLongestWait)); });
        }));
  }
  template <class Request, class Reply>
  void ToServer(uint32_t shard, Status (Server::*method)(const Request&, Reply*), Request request, std::function<void(const Status&, const Reply&)> then,
                absl::Duration wait = Retry::kFirstWait) {
    SimulatedServer* const server = (*servers_)[shard].get();
    world_->Send<Request, Reply>(
        &server->process, request,
        [server, method](const Request& arrived, std::function<void(const Status&, const Reply&)> answer) {
          Reply reply;
          const Status status = (server->server()->*method)(arrived, &reply);
          answer(status, reply);
        },
        absl::Seconds(10), WhileAlive<Reply>([=, this](const Status& status, const Reply& reply) {
          if (!IsAway(status) && !IsFull(status)) return then(status, reply);
          After(wait, [=, this] { ToServer(shard, method, request, then, std::min(2 * wait, Retry::kLongestWait)); });
        }));
  }
  // The same to all servers at once; goes on with the first error by shard, or OK, and all replies.
  template <class Request, class Reply>
  void ToAll(Status (Server::*method)(const Request&, Reply*), const std::vector<Request>& requests,
             std::function<void(const Status&, const std::vector<Reply>&)> then) {
    struct Gathered {
      size_t left;
      std::vector<Status> statuses;
      std::vector<Reply> replies;
    };
    const auto all = std::make_shared<Gathered>(Gathered{requests.size(), std::vector<Status>(requests.size()), std::vector<Reply>(requests.size())});
    for (uint32_t shard = 0; shard < requests.size(); ++shard) {
      ToServer<Request, Reply>(shard, method, requests[shard], [=](const Status& status, const Reply& reply) {
        all->statuses[shard] = status;
        all->replies[shard] = reply;
        if (--all->left > 0) return;
        for (const Status& each : all->statuses) {
          if (!each.ok()) return then(each, all->replies);
        }
        then(absl::OkStatus(), all->replies);
      });
    }
  }

  World* const world_;
  SimulatedCoordinator* const coordinator_;
  std::vector<std::unique_ptr<SimulatedServer>>* const servers_;

 private:
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  absl::Time stalled_until_;
};

}  // namespace tessera
