#include "ps/coordinator/members.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tessera {
namespace {

// Ticks come several times a second; a longer gap means that this process did not run.
constexpr absl::Duration kTickGapMax = absl::Seconds(2);
constexpr size_t kPastNoncesMax = 64;

}  // namespace

absl::StatusOr<Members::Info*> Members::Join(const JoinRequest& request, absl::Time now) {
  Info* info = nullptr;
  for (auto& [worker, other] : members_) {
    const std::vector<uint64_t>& past = other.past_nonces;
    if (std::find(past.begin(), past.end(), request.nonce()) != past.end()) {
      return absl::FailedPreconditionError(
          other.nonce == 0 ? "this process has left the job"
                           : absl::StrCat("another process, ", other.name, ", joined as worker \"", other.identity, "\" since; this one is given up"));
    }
    if (other.nonce == request.nonce() || (!request.identity().empty() && other.identity == request.identity())) info = &other;
  }
  if (info == nullptr) {
    const uint32_t worker = static_cast<uint32_t>(members_.size()) + 1;
    info = &members_[worker];
    info->member.worker = worker;
    info->fenced = true;  // until it has a generation
    info->nonce = request.nonce();
    info->identity = request.identity();
  }
  if (info->nonce != request.nonce()) {
    if (info->nonce != 0) Leave(info);
    info->nonce = request.nonce();
  }
  if (info->fenced) {
    info->member.generation = ++generations_;
    info->fenced = false;
    info->plan_incarnation = 0;
    info->told_stop = false;
    info->changed = true;
  }
  info->name = request.name();
  Renew(info, now);
  return info;
}

void Members::Leave(Info* member) {
  member->past_nonces.push_back(std::exchange(member->nonce, 0));
  if (member->past_nonces.size() > kPastNoncesMax) member->past_nonces.erase(member->past_nonces.begin());
  Fence(member);
}

const Members::Info* Members::OfIdentity(const std::string& identity) const {
  for (const auto& [worker, info] : members_) {
    if (!identity.empty() && info.identity == identity) return &info;
  }
  return nullptr;
}

Members::Info* Members::Find(uint32_t worker, uint64_t generation) {
  const auto it = members_.find(worker);
  return it == members_.end() || it->second.member.generation != generation ? nullptr : &it->second;
}

const Members::Info* Members::Find(uint32_t worker, uint64_t generation) const {
  return const_cast<Members*>(this)->Find(worker, generation);
}

std::vector<const Members::Info*> Members::Tick(absl::Time now) {
  const absl::Duration gap = now - last_tick_;
  late_ = gap > kTickGapMax ? gap : absl::ZeroDuration();
  last_tick_ = now;
  std::vector<const Info*> ended;
  for (auto& [worker, info] : members_) {
    if (info.fenced) continue;
    info.lease_end += late_;
    if (now <= info.lease_end) continue;
    Fence(&info);
    ended.push_back(&info);
  }
  return ended;
}

std::vector<MemberRecord> Members::TakeChanges(bool all) {
  std::vector<MemberRecord> changes;
  for (auto& [worker, info] : members_) {
    if (!info.changed && !all) continue;
    info.changed = false;
    MemberRecord& record = changes.emplace_back();
    record.set_worker(worker);
    record.set_generation(info.member.generation);
    record.set_nonce(info.nonce);
    record.set_name(info.name);
    record.set_fenced(info.fenced);
    record.set_told_stop(info.told_stop);
    record.set_identity(info.identity);
    record.mutable_past_nonces()->Add(info.past_nonces.begin(), info.past_nonces.end());
  }
  return changes;
}

void Members::Restore(const CoordinatorRecord& record, absl::Time now) {
  members_.clear();
  generations_ = 0;
  for (const MemberRecord& member : record.members()) {
    Info& info = members_[member.worker()];
    info.member = {member.worker(), member.generation()};
    info.nonce = member.nonce();
    info.name = member.name();
    info.fenced = member.fenced();
    info.told_stop = member.told_stop();
    info.identity = member.identity();
    info.past_nonces.assign(member.past_nonces().begin(), member.past_nonces().end());
    info.changed = false;
    Renew(&info, now);
    generations_ = std::max(generations_, member.generation());
  }
  generations_ += gap_;
}

std::vector<Member> Members::Live() const {
  std::vector<Member> live;
  for (const auto& [worker, info] : members_) {
    if (!info.fenced) live.push_back(info.member);
  }
  return live;
}

std::vector<Member> Members::ToldToStop() const {
  std::vector<Member> told;
  for (const auto& [worker, info] : members_) {
    if (!info.fenced && info.told_stop) told.push_back(info.member);
  }
  return told;
}

std::string Members::Describe(Member member) const {
  const auto it = members_.find(member.worker);
  if (it == members_.end()) return absl::StrCat("worker ", member.worker);
  return absl::StrCat("worker ", member.worker, " (", it->second.name, ")");
}

bool Members::AllToldToStop() const {
  for (const auto& [worker, info] : members_) {
    if (!info.fenced && !info.told_stop) return false;
  }
  return true;
}

}  // namespace tessera
