// What happens to the coordinator: calls of workers, time, an interrupt, the end of an order.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "ps/coordinator/coordinator_state.h"
#include "ps/coordinator/server_group.h"

namespace tessera {
namespace {

constexpr absl::Duration kLease = absl::Milliseconds(kLeaseMs);
// A task of async mode is bounded in size (kTaskBytesMax), but not in time: this only keeps a job from waiting for ever.
constexpr absl::Duration kTaskMax = absl::Hours(24);
constexpr absl::Duration kLastCalls = absl::Milliseconds(2 * kCallMs);

// As servers say it (parameter_server.proto).
bool IsStateLost(const Failure& failure) {
  return failure.code() == static_cast<int>(absl::StatusCode::kDataLoss) && absl::StrContains(failure.message(), "state lost");
}

// A refusal that says whose it is.
template <class Done>
Done WithSender(const Done& done, const std::string& sender) {
  Done named = done;
  if (!done.refusal().empty()) named.set_refusal(absl::StrCat(done.refusal(), " [", sender, "]"));
  return named;
}

}  // namespace

CoordinatorState::CoordinatorState(CoordinatorStart start, absl::Time now)
    : start_(std::move(start)),
      members_(kLease, start_.generation_gap),
      incarnation_(start_.incarnation),
      next_incarnation_(start_.incarnation + 1),
      saved_(start_.saved),
      phase_begin_(now) {
  Enter(Stage::kFirstWorker, now + Patience());
  if (CanGoOn()) GoOn(now);
}

absl::Status CoordinatorState::Join(const JoinRequest& request, absl::Time now, JoinReply* reply) {
  const Members::Info* other = members_.OfIdentity(request.identity());
  std::optional<Member> before;
  if (other != nullptr && other->nonce != request.nonce() && !other->fenced) before = other->member;
  TESSERA_ASSIGN_OR_RETURN(const Members::Info* info, members_.Join(request, now));
  alone_since_ = absl::InfiniteFuture();
  if (before.has_value()) Lose(*before, /*dead=*/true, "another process took its place", now);
  if (!surveyor_.has_value()) surveyor_ = info->member;
  reply->set_worker(info->member.worker);
  reply->set_generation(info->member.generation);
  reply->set_job(start_.job.name());
  reply->set_incarnation(incarnation_);
  reply->set_map_version(kMapVersion);
  for (const std::string& address : start_.addresses) reply->add_servers(address);
  reply->set_lease_ms(kLeaseMs);
  reply->set_patience_ms(absl::ToInt64Milliseconds(Patience()));
  Advance(now);
  return absl::OkStatus();
}

bool CoordinatorState::Heartbeat(const HeartbeatRequest& request, absl::Time now) {
  Members::Info* info = members_.Find(request.worker(), request.generation());
  if (info == nullptr || info->fenced) return false;
  members_.Renew(info, now);
  return true;
}

void CoordinatorState::Report(const DoneRequest& request, absl::Time now) {
  Members::Info* info = members_.Find(request.worker(), request.generation());
  if (info == nullptr || info->fenced || over()) return;
  members_.Renew(info, now);
  NotePlanKnown(request, info);
  const absl::Status status = Add(request, info->member, now);
  if (!status.ok()) return EndJob(Phase::kFailed, status.code(), std::string(status.message()), now);
  Advance(now);
}

absl::Status CoordinatorState::Add(const DoneRequest& request, Member member, absl::Time now) {
  const uint64_t step = phase_ == Phase::kTraining ? training_->step() : 0;
  const uint64_t changes = phase_ == Phase::kTraining ? training_->changes() : 0;
  const bool current = request.incarnation() == incarnation_;  // else of work that all went back from
  bool news = false;  // a repeat is none: whoever waits would wake the others, and they him, for ever
  absl::Status status;
  switch (request.done_case()) {
    case DoneRequest::kSurvey:
      if (plan_ != nullptr || !(surveyor_ == member)) break;
      plan_ = std::make_shared<const Plan>(request.survey().plan());
      sightings_ = request.survey().sightings();
      news = true;
      break;
    case DoneRequest::kShare:
      if (phase_ != Phase::kTraining || !current) break;
      status = training_->Add(WithSender(request.share(), members_.Describe(member)), member, members_.Live(), now);
      if (status.ok()) TESSERA_RETURN_IF_ERROR(training_->CheckRefusals());
      news = training_->step() != step;  // a step is short: nobody is woken who would find nothing to do
      break;
    case DoneRequest::kTask:
      if (phase_ != Phase::kTraining || !current) break;
      status = training_->Add(WithSender(request.task(), members_.Describe(member)), now);
      if (status.ok()) TESSERA_RETURN_IF_ERROR(training_->CheckRefusals());
      news = training_->changes() != changes;
      break;
    case DoneRequest::kEvaluation: {
      if (!evaluation_.has_value() || !current) break;
      const absl::StatusOr<bool> added = evaluation_->Add(request.evaluation(), member);
      status = added.status();
      news = added.ok() && *added;
      break;
    }
    case DoneRequest::kFailure: {
      const Failure& failure = request.failure();
      const std::string who = members_.joined() > 1 ? absl::StrCat(" [", members_.Describe(member), "]") : "";
      if (IsStateLost(failure) && failure.incarnation() > 0) {
        // In another phase it is known, or about to be found out.
        const bool news = failure.incarnation() == incarnation_ && (phase_ == Phase::kTraining || phase_ == Phase::kEvaluating);
        if (news) GoBack(absl::DataLossError(absl::StrCat(failure.message(), who)), now);
        return absl::OkStatus();
      }
      const auto code = failure.code() == 0 ? absl::StatusCode::kUnknown : static_cast<absl::StatusCode>(failure.code());
      return absl::Status(code, absl::StrCat(failure.message(), who));
    }
    case DoneRequest::kLeaving:
      if (request.leaving().has_task() && current && phase_ == Phase::kTraining && !training_->sync()) {
        const TaskDone done = WithSender(request.leaving().task(), members_.Describe(member));
        TESSERA_RETURN_IF_ERROR(training_->Return(done, done.end_row(), now));
        TESSERA_RETURN_IF_ERROR(training_->CheckRefusals());
      }
      members_.Leave(members_.Find(member.worker, member.generation));
      Lose(member, /*dead=*/false, "it was told to stop", now);
      return absl::OkStatus();
    case DoneRequest::kNothing:
    case DoneRequest::DONE_NOT_SET:
      return absl::OkStatus();
  }
  if (!status.ok()) return absl::Status(status.code(), absl::StrCat(status.message(), " [", members_.Describe(member), "]"));
  if (news) ++news_;
  return absl::OkStatus();
}

// Who reports on work of the present incarnation has the plan that came with the work.
void CoordinatorState::NotePlanKnown(const DoneRequest& request, Members::Info* info) const {
  if (request.incarnation() != incarnation_) return;
  const bool known = (request.has_share() && phase_ == Phase::kTraining) || (request.has_task() && phase_ == Phase::kTraining) ||
                     (request.has_evaluation() && evaluation_.has_value() && request.evaluation().evaluation() == evaluation_->number());
  if (known) info->plan_incarnation = incarnation_;
}

void CoordinatorState::Tick(absl::Time now) {
  if (over()) return;
  for (const Members::Info* info : members_.Tick(now)) {
    Lose(info->member, /*dead=*/true,
         absl::StrCat("no heartbeat for ", absl::FormatDuration(kLease), ": it died, hangs or cannot reach the coordinator"), now);
  }
  // This process stood still: nobody could be heard.
  deadline_ += members_.late();
  if (!over() && phase_ == Phase::kTraining) CheckProgress(now);
  CheckAnybodyLeft(now);
  Advance(now);
}

void CoordinatorState::Lose(Member member, bool dead, const std::string& why, absl::Time now) {
  if (dead) {
    happened_.set_workers_lost(happened_.workers_lost() + 1);
  } else {
    happened_.set_workers_left(happened_.workers_left() + 1);
  }
  const std::string who = members_.Describe(member);
  const std::string what = absl::StrCat(who, dead ? " is lost: " : " has left: ", why);
  Note(what);
  last_loss_ = what;
  ++news_;  // its work is for others
  const std::vector<Member> live = members_.Live();
  if (surveyor_ == member) surveyor_ = live.empty() ? std::nullopt : std::optional<Member>(live.front());
  if (live.empty()) alone_since_ = now;
  if (!training_.has_value()) return;
  if (const absl::Status status = training_->Lose(member, dead); !status.ok()) {
    EndJob(Phase::kFailed, status.code(), absl::StrCat(status.message(), " (", what, ")"), now);
  }
}

void CoordinatorState::CheckAnybodyLeft(absl::Time now) {
  if (over() || !NeedsWorkers() || !members_.Live().empty()) return;
  // Nobody will come to a boundary, so there is nothing to wait for.
  if (interrupt_.has_value() && stage_ == Stage::kTrain && training_->sync()) training_->SaveNow();
  if (interrupt_.has_value() && (stage_ == Stage::kScore || stage_ == Stage::kScoreFinal)) return EndInterrupted(now);
  alone_since_ = std::min(alone_since_, now) + members_.late();
  if (now - alone_since_ <= Patience()) return;
  const std::string lost = last_loss_.empty() ? "no worker is there" : absl::StrCat(last_loss_, ". It was the last one");
  EndJob(Phase::kFailed, absl::StatusCode::kUnavailable,
         absl::StrCat(lost, ", and no other joined within ", absl::FormatDuration(Patience()),
                      " (training.patience); see its log, then start the job again to go on"),
         now);
}

void CoordinatorState::Note(const std::string& event) {
  constexpr int kEventsMax = 100;
  const uint64_t step = training_.has_value() ? training_->step() : 0;
  happened_.add_events(absl::StrCat("step ", step, ": ", event));
  if (happened_.events_size() > kEventsMax) happened_.mutable_events()->DeleteSubrange(0, 1);
  happened_changed_ = true;
}

absl::Duration CoordinatorState::ProgressLimit() const {
  // Workers themselves retry a server for `patience`, with a last call after that; theirs is the better message.
  return training_->paced() ? Patience() + kLastCalls : kTaskMax;
}

void CoordinatorState::CheckProgress(absl::Time now) {
  training_->Postpone(members_.late());
  if (ordered_ || now - training_->last_progress() <= ProgressLimit()) return;
  const std::vector<Member> awaited = training_->Awaited();
  if (awaited.empty()) return;
  if (training_->paced() && awaited.size() < members_.Live().size()) return OrderLook();
  const std::string why = training_->paced() ? absl::StrCat(" (training.patience and ", absl::FormatDuration(kLastCalls), ")") : "";
  EndJob(Phase::kFailed, absl::StatusCode::kDeadlineExceeded,
         absl::StrCat("step ", training_->step() + 1, ": no progress for ", absl::FormatDuration(ProgressLimit()), why, " from ",
                      DescribeAll(awaited)),
         now);
}

void CoordinatorState::GiveUpAwaited(absl::Time now) {
  looking_ = false;
  if (now - training_->last_progress() <= ProgressLimit()) return;
  for (const Member& member : training_->Awaited()) {
    Members::Info* info = members_.Find(member.worker, member.generation);
    if (info == nullptr || info->fenced) continue;
    members_.Fence(info);
    Lose(member, /*dead=*/true, absl::StrCat("no progress for ", absl::FormatDuration(ProgressLimit())), now);
  }
  if (!over()) training_->Touch(now);
}

void CoordinatorState::Interrupt(const std::string& reason, absl::Time now) {
  if (over() || interrupt_.has_value()) return;
  interrupt_ = reason;
  if (phase_ >= Phase::kTraining) training_->Interrupt();
  CheckAnybodyLeft(now);
  Advance(now);
}

void CoordinatorState::Finish(uint64_t order, const absl::StatusOr<OrderResult>& result, absl::Time now) {
  if (order != orders_ || !ordered_) return;
  ordered_ = false;
  if (over()) return;
  if (!result.ok()) {
    looking_ = false;
    const bool trained = stage_ == Stage::kReturn || stage_ == Stage::kTrain || stage_ == Stage::kCommit || stage_ == Stage::kSave;
    if (trained && absl::IsDataLoss(result.status())) return GoBack(result.status(), now);
    if (interrupt_.has_value() && absl::IsCancelled(result.status())) return EndInterrupted(now);
    return EndJob(Phase::kFailed, result.status().code(), std::string(result.status().message()), now);
  }
  FinishOrder(*result, now);
  Advance(now);
}

std::optional<Order> CoordinatorState::TakeOrder() {
  std::optional<Order> order = std::move(order_);
  order_.reset();
  return order;
}

}  // namespace tessera
