// A parameter server that keeps only its step, and remembers what it was asked. Thread-safe.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/mutex.h"
#include "common/parameter_server_api.h"

namespace tessera {

class FakeServer : public ParameterServerApi {
 public:
  // The next `calls` calls of Open, Commit and Save fail as if nobody listened, or as if the answer came too late.
  void SetAway(int calls, absl::StatusCode code = absl::StatusCode::kUnavailable) {
    MutexLock lock(&mutex_);
    away_ = calls;
    away_code_ = code;
  }
  void FailSaves(absl::Status status) {
    MutexLock lock(&mutex_);
    save_error_ = std::move(status);
  }

  // What happens meanwhile: called by every open and save, before anything else. Set before the job starts.
  std::function<void()> on_open;
  std::function<void()> on_save;

  absl::Status Open(const OpenRequest& request, OpenReply* reply) override {
    if (on_open) on_open();
    MutexLock lock(&mutex_);
    if (IsAwayNow()) return absl::Status(away_code_, "nobody listens");
    opens_.push_back(request);
    incarnation_ = request.peer().incarnation();
    step_ = 0;
    if (!request.restore_from().empty()) {
      const std::string folder = absl::StrCat("shard-", request.peer().shard(), "-of-", request.peer().shards());
      std::ifstream(absl::StrCat(request.restore_from(), "/", folder, "/step")) >> step_;
    }
    reply->set_step(step_);
    return absl::OkStatus();
  }
  absl::Status Pull(const PullRequest& request, PullReply*) override { return Carry(request.decision()); }
  absl::Status Stage(const StageRequest& request, StageReply*) override { return Carry(request.decision()); }
  absl::Status Push(const PushRequest& request, PushReply*) override {
    MutexLock lock(&mutex_);
    ++step_;
    FenceReply& held = held_[{request.peer().worker(), request.peer().generation()}];
    *held.mutable_done() = request.task_done();
    held.set_begun_task(request.task_done().task());
    held.set_begun_row(request.task_done().end_row());
    ++batches_[{request.peer().worker(), request.peer().generation()}];
    return absl::OkStatus();
  }
  absl::Status Fence(const FenceRequest& request, FenceReply* reply) override {
    MutexLock lock(&mutex_);
    if (IsAwayNow()) return absl::Status(away_code_, "nobody listens");
    fences_.push_back(request);
    *reply = held_[{request.peer().worker(), request.peer().generation()}];
    reply->set_batches(batches_[{request.peer().worker(), request.peer().generation()}]);
    return absl::OkStatus();
  }
  absl::Status Commit(const CommitRequest& request, CommitReply* reply) override {
    MutexLock lock(&mutex_);
    if (IsAwayNow()) return absl::Status(away_code_, "nobody listens");
    if (request.peer().incarnation() != incarnation_) return absl::FailedPreconditionError("wrong peer");
    commits_.push_back(request.decision());
    step_ = request.decision().step();
    reply->set_step(step_);
    return absl::OkStatus();
  }
  absl::Status Save(const SaveRequest& request, SaveReply* reply) override {
    if (on_save) on_save();
    MutexLock lock(&mutex_);
    if (IsAwayNow()) return absl::Status(away_code_, "nobody listens");
    if (!save_error_.ok()) return save_error_;
    std::filesystem::create_directory(request.directory());
    std::ofstream(absl::StrCat(request.directory(), "/step")) << step_;
    saves_.push_back(request);
    SavedFile* file = reply->add_files();
    file->set_name(absl::StrCat(std::filesystem::path(request.directory()).filename().string(), "/step"));
    file->set_bytes(std::to_string(step_).size());
    reply->set_step(step_);
    reply->set_rows(100);
    reply->set_content_digest(~uint64_t{0});
    for (const auto& [who, batches] : batches_) {  // in the order of generations
      const bool known = reply->pushed_size() > 0 && reply->pushed().rbegin()->worker() == who.first;
      PushedBatches* const pushed = known ? reply->mutable_pushed(reply->pushed_size() - 1) : reply->add_pushed();
      pushed->set_worker(who.first);
      pushed->set_past_batches(pushed->past_batches() + pushed->batches());
      pushed->set_generation(who.second);
      pushed->set_batches(batches);
    }
    return absl::OkStatus();
  }
  absl::Status DescribeServer(const DescribeServerRequest&, DescribeServerReply* reply) override {
    MutexLock lock(&mutex_);
    if (IsAwayNow()) return absl::Status(away_code_, "nobody listens");
    reply->set_incarnation(incarnation_);
    reply->set_step(step_);
    return absl::OkStatus();
  }
  // As one that comes back older than it was.
  void LoseSteps(uint64_t steps) {
    MutexLock lock(&mutex_);
    step_ -= steps;
  }

  std::vector<OpenRequest> opens() const {
    MutexLock lock(&mutex_);
    return opens_;
  }
  std::vector<Decision> commits() const {
    MutexLock lock(&mutex_);
    return commits_;
  }
  std::vector<SaveRequest> saves() const {
    MutexLock lock(&mutex_);
    return saves_;
  }
  std::vector<FenceRequest> fences() const {
    MutexLock lock(&mutex_);
    return fences_;
  }
  uint64_t step() const {
    MutexLock lock(&mutex_);
    return step_;
  }

 private:
  bool IsAwayNow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return away_ > 0 && away_-- > 0; }
  // As a server does with the decision that every call of the next step carries.
  absl::Status Carry(const Decision& decision) {
    MutexLock lock(&mutex_);
    if (decision.incarnation() != incarnation_) return absl::FailedPreconditionError("wrong peer");
    if (decision.step() != step_ && decision.step() != step_ + 1) return absl::DataLossError("state lost");
    step_ = decision.step();
    return absl::OkStatus();
  }

  mutable Mutex mutex_;
  absl::StatusCode away_code_ ABSL_GUARDED_BY(mutex_) = absl::StatusCode::kUnavailable;
  int away_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status save_error_ ABSL_GUARDED_BY(mutex_);
  uint64_t incarnation_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t step_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<OpenRequest> opens_ ABSL_GUARDED_BY(mutex_);
  std::vector<Decision> commits_ ABSL_GUARDED_BY(mutex_);
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> batches_ ABSL_GUARDED_BY(mutex_);  // by worker and generation
  std::vector<SaveRequest> saves_ ABSL_GUARDED_BY(mutex_);
  std::vector<FenceRequest> fences_ ABSL_GUARDED_BY(mutex_);
  std::map<std::pair<uint32_t, uint64_t>, FenceReply> held_ ABSL_GUARDED_BY(mutex_);  // by worker and generation
};

}  // namespace tessera
