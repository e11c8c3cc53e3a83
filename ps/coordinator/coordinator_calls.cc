// The calls of CoordinatorApi, each from whatever thread its caller has.
#include <algorithm>
#include <utility>

#include "common/limits.h"
#include "ps/coordinator/coordinator_impl.h"

namespace tessera {

Coordinator::Impl::Impl(CoordinatorOptions options, Clock* clock)
    : options_(std::move(options)),
      clock_(clock),
      store_(options_.checkpoint_directory),
      servers_(options_.job.name(), options_.servers, options_.addresses, clock) {}

void Coordinator::Impl::Notify() {
  if (journal_ != nullptr) {
    const std::optional<CoordinatorRecord> record = state_->TakeRecord(journal_->IsLong(), clock_->Now());
    const absl::Status written = record.has_value() ? journal_->Append(*record) : absl::OkStatus();
    if (!written.ok()) state_->FailRecord(written, clock_->Now());
  }
  if (state_->news() != notified_news_) workers_changed_.SignalAll();
  notified_news_ = state_->news();
  if (state_->has_order()) owner_changed_.Signal();
  if (!state_->over() || over_since_ != absl::InfiniteFuture()) return;
  over_since_ = Clock::Real()->Now();
  over_changed_.SignalAll();
}

absl::Status Coordinator::Impl::Join(const JoinRequest& request, JoinReply* reply) {
  MutexLock lock(&mutex_);
  state_->Tick(clock_->Now());
  const absl::Status status = state_->Join(request, clock_->Now(), reply);
  Notify();
  return status;
}

absl::Status Coordinator::Impl::Heartbeat(const HeartbeatRequest& request, HeartbeatReply* reply) {
  MutexLock lock(&mutex_);
  state_->Tick(clock_->Now());
  reply->set_fenced(!state_->Heartbeat(request, clock_->Now()));
  Notify();
  return absl::OkStatus();
}

absl::Status Coordinator::Impl::Done(const DoneRequest& request, Instruction* reply) {
  MutexLock lock(&mutex_);
  state_->Tick(clock_->Now());
  const absl::Time deadline = Clock::Real()->Now() + absl::Milliseconds(kPollMs);
  while (true) {
    // A repeated report changes nothing; one that came too early counts once the state is ready for it.
    state_->Report(request, clock_->Now());
    state_->Poll(request, clock_->Now());
    Notify();
    if (state_->Answer(request, reply)) break;
    const absl::Duration left = deadline - Clock::Real()->Now();
    if (left <= absl::ZeroDuration() || closing_) {
      // What was reported must be reported again.
      if (state_->returning()) return absl::UnavailableError("the coordinator was restarted and looks for the servers");
      reply->mutable_again();
      return absl::OkStatus();
    }
    workers_changed_.WaitWithTimeout(&mutex_, left);
  }
  if (reply->has_stop()) over_changed_.SignalAll();
  return absl::OkStatus();
}

absl::Status Coordinator::Impl::Advance(const AdvanceRequest& request, AdvanceReply* reply) {
  MutexLock lock(&mutex_);
  state_->Tick(clock_->Now());
  const absl::Time deadline = Clock::Real()->Now() + absl::Milliseconds(kPollMs);
  while (true) {
    const bool answered = state_->Advance(request, clock_->Now(), reply);
    Notify();
    if (answered) return absl::OkStatus();
    const absl::Duration left = deadline - Clock::Real()->Now();
    if (left <= absl::ZeroDuration() || closing_) {
      if (state_->returning()) return absl::UnavailableError("the coordinator was restarted and looks for the servers");
      return absl::OkStatus();
    }
    workers_changed_.WaitWithTimeout(&mutex_, left);
  }
}

absl::Status Coordinator::Impl::DescribeJob(const DescribeJobRequest& request, Report* reply) {
  MutexLock lock(&mutex_);
  state_->Tick(clock_->Now());
  Notify();
  *reply = state_->MakeReport(clock_->Now());
  if (request.plan() && state_->plan() != nullptr) *reply->mutable_plan() = *state_->plan();
  return absl::OkStatus();
}

absl::Status Coordinator::Impl::Interrupt(const std::string& reason) {
  MutexLock lock(&mutex_);
  state_->Interrupt(reason, clock_->Now());
  Notify();
  return absl::OkStatus();
}

bool Coordinator::Impl::WaitUntilOver(absl::Duration timeout) {
  const absl::Time deadline = Clock::Real()->Now() + timeout;
  MutexLock lock(&mutex_);
  while (true) {
    const absl::Time now = Clock::Real()->Now();
    // Who is lost will never ask; everybody else is told before this process may end.
    if (state_->over() && (state_->AllToldToStop() || now >= over_since_ + absl::Milliseconds(kLeaseMs))) return true;
    if (now >= deadline) return false;
    over_changed_.WaitWithTimeout(&mutex_, std::min(deadline - now, absl::Milliseconds(100)));
  }
}

}  // namespace tessera
