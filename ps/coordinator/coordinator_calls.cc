// The calls of CoordinatorApi, each from whatever thread its caller has.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "ps/coordinator/coordinator_impl.h"

namespace tessera {
namespace {

constexpr absl::Duration kLease = absl::Milliseconds(kLeaseMs);

}  // namespace

Coordinator::Impl::Impl(CoordinatorOptions options, Clock* clock)
    : options_(std::move(options)),
      clock_(clock),
      store_(options_.checkpoint_directory),
      servers_(options_.job.name(), options_.servers, options_.addresses, clock),
      members_(kLease),
      phase_begin_(clock->Now()) {}

absl::Status Coordinator::Impl::Join(const JoinRequest& request, JoinReply* reply) {
  MutexLock lock(&mutex_);
  Tick();
  const Members::Info* info = members_.Join(request.nonce(), request.name(), clock_->Now());
  if (!surveyor_.has_value()) surveyor_ = info->member;
  reply->set_worker(info->member.worker);
  reply->set_generation(info->member.generation);
  reply->set_job(options_.job.name());
  reply->set_incarnation(incarnation_);
  reply->set_map_version(kMapVersion);
  for (const std::string& address : options_.addresses) reply->add_servers(address);
  reply->set_lease_ms(kLeaseMs);
  reply->set_patience_ms(absl::ToInt64Milliseconds(Patience()));
  owner_changed_.Signal();
  return absl::OkStatus();
}

absl::Status Coordinator::Impl::Heartbeat(const HeartbeatRequest& request, HeartbeatReply* reply) {
  MutexLock lock(&mutex_);
  Tick();
  Members::Info* info = members_.Find(request.worker(), request.generation());
  reply->set_fenced(info == nullptr || info->fenced);
  if (!reply->fenced()) members_.Renew(info, clock_->Now());
  return absl::OkStatus();
}

absl::Status Coordinator::Impl::Done(const DoneRequest& request, Instruction* reply) {
  MutexLock lock(&mutex_);
  Tick();
  Members::Info* info = members_.Find(request.worker(), request.generation());
  if (info == nullptr) {
    reply->mutable_fenced()->set_message(absl::StrCat("worker ", request.worker(), ", generation ", request.generation(),
                                                      ", is unknown here; join again"));
    return absl::OkStatus();
  }
  if (!info->fenced && !over()) {
    members_.Renew(info, clock_->Now());
    NotePlanKnown(request, info);
    if (absl::Status status = Record(request, info->member); !status.ok()) {
      EndJob(Phase::kFailed, status.code(), std::string(status.message()));
    }
  }
  const absl::Time deadline = Clock::Real()->Now() + absl::Milliseconds(kPollMs);
  while (!Answer(request, info, reply)) {
    const absl::Duration left = deadline - Clock::Real()->Now();
    if (left <= absl::ZeroDuration() || closing_) {
      reply->mutable_again();
      return absl::OkStatus();
    }
    workers_changed_.WaitWithTimeout(&mutex_, left);
  }
  return absl::OkStatus();
}

absl::Status Coordinator::Impl::DescribeJob(const DescribeJobRequest& request, Report* reply) {
  MutexLock lock(&mutex_);
  Tick();
  *reply = MakeReport();
  if (request.plan() && plan_ != nullptr) *reply->mutable_plan() = *plan_;
  return absl::OkStatus();
}

absl::Status Coordinator::Impl::Interrupt(const std::string& reason) {
  MutexLock lock(&mutex_);
  if (over() || interrupt_.has_value()) return absl::OkStatus();
  interrupt_ = reason;
  if (phase_ == Phase::kTraining || phase_ == Phase::kEvaluating) training_->Interrupt();
  owner_changed_.Signal();
  return absl::OkStatus();
}

bool Coordinator::Impl::WaitUntilOver(absl::Duration timeout) {
  const absl::Time deadline = Clock::Real()->Now() + timeout;
  MutexLock lock(&mutex_);
  while (true) {
    const absl::Time now = Clock::Real()->Now();
    // Who is lost will never ask; everybody else is told before this process may end.
    if (over() && (members_.AllToldToStop() || now >= over_since_ + kLease)) return true;
    if (now >= deadline) return false;
    over_changed_.WaitWithTimeout(&mutex_, std::min(deadline - now, absl::Milliseconds(100)));
  }
}

}  // namespace tessera
