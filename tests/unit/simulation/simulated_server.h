// A real parameter server, whose process ends without a word and comes back, in a simulated world.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "common/parameter_server_api.h"
#include "ps/server/server.h"
#include "tests/unit/simulation/world.h"

namespace tessera {

class SimulatedServer {
 public:
  SimulatedServer(World* world, uint32_t shard, uint32_t shards, const std::string& folder, ThreadPool* pool)
      : world_(world), pool_(pool), options_{"simulated", shard, shards, folder} {
    Start();
  }

  void Crash() {
    if (!process.up) return;
    world_->Trace(absl::StrCat("server ", options_.shard, " is killed"));
    process.up = false;
    server_.reset();
  }
  void Restart() {
    if (process.up) return;
    Start();
    DescribeServerReply reply;
    (void)server_->DescribeServer(DescribeServerRequest(), &reply);
    world_->Trace(absl::StrCat("server ", options_.shard, " is back at step ", reply.step(), ", incarnation ", reply.incarnation()));
  }
  // The disk comes from a backup: what was acknowledged since is lost.
  void KeepDisk() {
    if (!process.up) return;
    server_.reset();
    std::filesystem::remove_all(backup());
    std::filesystem::copy(options_.state_directory, backup(), std::filesystem::copy_options::recursive);
    Start();
  }
  bool LoseDisk() {
    if (process.up || !std::filesystem::exists(backup())) return false;
    world_->Trace(absl::StrCat("server ", options_.shard, " gets an old disk"));
    std::filesystem::remove_all(options_.state_directory);
    std::filesystem::rename(backup(), options_.state_directory);
    return true;
  }
  // REQUIRES: process.up.
  Server* server() { return server_.get(); }

  Process process;

 private:
  std::string backup() const { return options_.state_directory + ".backup"; }
  void Start() {
    server_ = std::make_unique<Server>(options_, pool_);
    const absl::Status status = server_->Recover();
    if (!status.ok()) world_->Violate(absl::StrCat("server ", options_.shard, " cannot start: ", status.message()));
    process.up = true;
    process.stalled_until = world_->Now();
  }

  World* const world_;
  ThreadPool* const pool_;
  const ServerOptions options_;
  std::unique_ptr<Server> server_;
};

// How the coordinator's owner reaches it: calls wait, and the world goes on meanwhile.
class OwnersServer : public ParameterServerApi {
 public:
  OwnersServer(World* world, SimulatedServer* server) : world_(world), server_(server) {}

  absl::Status Open(const OpenRequest& request, OpenReply* reply) override { return Call("open", &Server::Open, request, reply); }
  absl::Status Commit(const CommitRequest& request, CommitReply* reply) override { return Call("commit", &Server::Commit, request, reply); }
  absl::Status Save(const SaveRequest& request, SaveReply* reply) override { return Call("save", &Server::Save, request, reply); }
  absl::Status Fence(const FenceRequest& request, FenceReply* reply) override { return Call("fence", &Server::Fence, request, reply); }
  absl::Status DescribeServer(const DescribeServerRequest& request, DescribeServerReply* reply) override {
    return Call("describe", &Server::DescribeServer, request, reply);
  }
  absl::Status Pull(const PullRequest&, PullReply*) override { return absl::UnimplementedError("pull"); }
  absl::Status Stage(const StageRequest&, StageReply*) override { return absl::UnimplementedError("stage"); }
  absl::Status Push(const PushRequest&, PushReply*) override { return absl::UnimplementedError("push"); }

 private:
  template <class Request, class Reply>
  absl::Status Call(const char* name, absl::Status (Server::*method)(const Request&, Reply*), const Request& request, Reply* reply) {
    absl::Status result;
    bool answered = false;
    // After its caller has gone on, an answer must touch nothing of it.
    const auto waiting = std::make_shared<bool>(true);
    world_->Send<Request, Reply>(
        &server_->process, request,
        [server = server_, method](const Request& arrived, std::function<void(const absl::Status&, const Reply&)> answer) {
          Reply made;
          const absl::Status status = (server->server()->*method)(arrived, &made);
          answer(status, made);
        },
        absl::Seconds(10),
        [&, waiting](const absl::Status& status, const Reply& made) {
          if (!*waiting) return;
          result = status;
          *reply = made;
          answered = true;
        });
    while (!answered && world_->RunNext()) {
    }
    *waiting = false;
    world_->Trace(absl::StrCat("  coordinator's ", name, " at server ", request.peer().shard(), ": ", result.ok() ? "done" : result.message()));
    return result;
  }

  World* const world_;
  SimulatedServer* const server_;
};

}  // namespace tessera
