// The coordinator behind its interface: the state machine under one lock, the calls that feed it, and one thread that carries out its orders.
// Private to this folder.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "ps/checkpoint/checkpoint_store.h"
#include "ps/coordinator/coordinator.h"
#include "ps/coordinator/coordinator_state.h"
#include "ps/coordinator/journal.h"
#include "ps/coordinator/server_group.h"

namespace tessera {

// Thread-safe.
class Coordinator::Impl {
 public:
  Impl(CoordinatorOptions options, Clock* clock);
  ~Impl();

  absl::Status Init();
  absl::Status Join(const JoinRequest& request, JoinReply* reply);
  absl::Status Heartbeat(const HeartbeatRequest& request, HeartbeatReply* reply);
  absl::Status Done(const DoneRequest& request, Instruction* reply);
  absl::Status Advance(const AdvanceRequest& request, AdvanceReply* reply);
  absl::Status DescribeJob(const DescribeJobRequest& request, Report* reply);
  absl::Status Interrupt(const std::string& reason);
  bool WaitUntilOver(absl::Duration timeout);

 private:
  // Makes durable what the events since the last call decided, then wakes those whom it concerns. Comes after every event, before anything
  // of it is told.
  void Notify() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The owner thread (owner.cc); none of these is called with the lock held.
  void Run();
  bool IsCancelled(uint64_t order);

  const CoordinatorOptions options_;
  Clock* const clock_;

  // Used by the owner thread alone.
  CheckpointStore store_;
  ServerGroup servers_;

  mutable Mutex mutex_;
  CondVar owner_changed_;    // the owner thread waits here
  CondVar workers_changed_;  // long polls wait here
  CondVar over_changed_;     // WaitUntilOver waits here
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<CoordinatorState> state_ ABSL_GUARDED_BY(mutex_);  // made by Init
  std::unique_ptr<Journal> journal_ ABSL_GUARDED_BY(mutex_);  // null: durability is left to the checkpoints
  uint64_t notified_news_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time over_since_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();  // by the real clock

  std::thread owner_;
};

}  // namespace tessera
