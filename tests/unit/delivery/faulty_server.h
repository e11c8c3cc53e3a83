// A bad network in front of a real server: calls are lost, repeated, delayed and reordered, answers are lost, the server is restarted.
#pragma once

#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/delivery/slow_apply.h"
#include "tests/unit/ps_server/server_fixture.h"

namespace tessera {

// What befalls calls. All that happens is a function of the seed and the order of the calls.
struct Faults {
  uint64_t seed = 0;         // 0: none
  bool restarts = false;     // the server, too, ends without a word, and comes back
  SlowApply* slow = nullptr; // calls outlive their deadline
};

// In front of one shard; used by one thread at a time.
class FaultyServer : public ParameterServerApi {
 public:
  FaultyServer(ServerGroup* group, uint32_t shard, const Faults& faults)
      : group_(group), shard_(shard), faults_(faults), random_(MixKey(faults.seed, shard)) {}
  ~FaultyServer() override { EndSlow(); }

  absl::Status Pull(const PullRequest& request, PullReply* reply) override { return Call(&Server::Pull, request, reply); }
  absl::Status Stage(const StageRequest& request, StageReply* reply) override { return Call(&Server::Stage, request, reply); }
  absl::Status Push(const PushRequest& request, PushReply* reply) override { return Call(&Server::Push, request, reply); }
  absl::Status Fence(const FenceRequest& request, FenceReply* reply) override { return Call(&Server::Fence, request, reply); }
  absl::Status Commit(const CommitRequest& request, CommitReply* reply) override { return Call(&Server::Commit, request, reply); }
  absl::Status Open(const OpenRequest& request, OpenReply* reply) override { return server().Open(request, reply); }
  absl::Status Save(const SaveRequest& request, SaveReply* reply) override { return server().Save(request, reply); }
  absl::Status DescribeServer(const DescribeServerRequest& request, DescribeServerReply* reply) override {
    return server().DescribeServer(request, reply);
  }

  // All that is still on its way arrives.
  void DeliverAll() {
    while (!late_.empty()) DeliverOne();
  }
  uint64_t faults() const { return count_; }
  uint64_t outlived() const { return outlived_; }  // calls that were still under way when they were repeated

 private:
  enum Fault { kRequestLost, kReplyLost, kTwice, kDelayed, kReplyLostAndTwice, kRestartBefore, kRestartAfter, kTooSlow, kFaults };

  template <class Request, class Reply>
  absl::Status Call(absl::Status (Server::*method)(const Request&, Reply*), const Request& request, Reply* reply) {
    const auto deliver = [this, method, request] {
      Reply lost;
      return (server().*method)(request, &lost);
    };
    if (first_.joinable()) {
      faults_.slow->ReleaseForAnother();
      const absl::Status status = (server().*method)(request, reply);
      EndSlow();
      return status;
    }
    while (!late_.empty() && random_.Below(3) == 0) DeliverOne();
    if (faults_.seed == 0 || random_.Below(2) == 0) return (server().*method)(request, reply);
    ++count_;
    switch (static_cast<Fault>(random_.Below(kFaults))) {
      case kRequestLost:
        return absl::UnavailableError("the request was lost");
      case kReplyLost:
        return Answer(deliver());
      case kTwice:
        Check(deliver());
        return (server().*method)(request, reply);
      case kDelayed:
        late_.push_back(deliver);
        return absl::DeadlineExceededError("the request is late");
      case kReplyLostAndTwice:
        late_.push_back(deliver);
        return Answer(deliver());
      case kRestartBefore:
        return Restart();
      case kRestartAfter:
        Check(deliver());
        return Restart();
      case kTooSlow:
        return Outlive(deliver);
      default:
        break;
    }
    return absl::InternalError("no such fault");
  }

  Server& server() { return group_->server(shard_); }

  absl::Status Restart() {
    if (!faults_.restarts) return absl::UnavailableError("the connection broke");
    const absl::Status status = group_->CrashAndRecover(shard_);
    EXPECT_TRUE(status.ok()) << status;
    return absl::UnavailableError("the server was restarted");
  }

  // The deadline passes while the call is held in the server.
  absl::Status Outlive(const std::function<absl::Status()>& deliver) {
    if (faults_.slow == nullptr) return Answer(deliver());
    faults_.slow->Arm(1 + random_.Below(3));
    first_ = std::thread([this, deliver] {
      Check(deliver());
      faults_.slow->End();
    });
    if (faults_.slow->WaitUntilHeld()) {
      ++outlived_;
    } else {
      first_.join();
    }
    return absl::DeadlineExceededError("deadline");
  }
  void EndSlow() {
    if (!first_.joinable()) return;
    faults_.slow->ReleaseNow();
    first_.join();
  }

  void DeliverOne() {
    const size_t i = random_.Below(late_.size());
    const std::function<absl::Status()> deliver = std::move(late_[i]);
    late_.erase(late_.begin() + static_cast<ptrdiff_t>(i));
    const absl::Status status = deliver();
    // "step over": what came late is of a step that has gone by.
    EXPECT_TRUE(status.ok() || absl::IsAborted(status)) << status;
  }
  static void Check(const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; }
  static absl::Status Answer(const absl::Status& lost) {
    Check(lost);
    return absl::DeadlineExceededError("the answer was lost");
  }

  ServerGroup* const group_;
  const uint32_t shard_;
  const Faults faults_;
  RandomSequence random_;
  std::vector<std::function<absl::Status()>> late_;
  std::thread first_;  // delivers a call that is held
  uint64_t count_ = 0;
  uint64_t outlived_ = 0;
};

}  // namespace tessera
