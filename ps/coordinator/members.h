// Who takes part: workers by the nonce of their process, each with a number, a generation and a lease.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/coordinator.pb.h"
#include "proto/coordinator_record.pb.h"

namespace tessera {

// One process that joined. Worker numbers count from 1; the generation tells processes apart for ever within an incarnation.
struct Member {
  uint32_t worker = 0;
  uint64_t generation = 0;
  bool operator==(const Member& other) const { return worker == other.worker && generation == other.generation; }
};

// Thread-compatible. Time is given by the caller.
class Members {
 public:
  struct Info {
    Member member;
    uint64_t nonce = 0;
    std::string name;                 // host and pid
    std::string identity;             // empty: of this process alone
    std::vector<uint64_t> past_nonces;  // processes that left, or whose place was taken; the oldest go
    absl::Time lease_end;
    bool fenced = false;              // its lease ended, or it left; it may never speak again
    uint64_t plan_incarnation = 0;    // the incarnation it has shown to know the plan of
    bool told_stop = false;
    bool changed = true;              // since TakeChanges
  };

  // Generations begin beyond `gap`, and after Restore beyond the last known one and `gap`. Random, it keeps those apart that a process gave
  // before its death, and of which nothing was written, from those that the next process gives.
  explicit Members(absl::Duration lease, uint64_t gap = 0) : lease_(lease), gap_(gap), generations_(gap) {}

  // The same nonce gives the same member, and a full lease; one that was fenced comes back under a new generation. A new process of a known
  // identity takes the place of the old one, under a new generation too: the lease of the old life ends at once. FAILED_PRECONDITION for a
  // process whose place was taken so.
  absl::StatusOr<Info*> Join(const JoinRequest& request, absl::Time now);
  // nullptr where there is none, or the identity is empty.
  const Info* OfIdentity(const std::string& identity) const;
  // nullptr if nobody of that generation joined. The pointer stays valid.
  Info* Find(uint32_t worker, uint64_t generation);
  const Info* Find(uint32_t worker, uint64_t generation) const;
  // It left by itself, and is fenced for good: a join of this process that arrives late changes nothing.
  void Leave(Info* member);
  void Fence(Info* member) { member->fenced = member->changed = true; }
  void Renew(Info* member, absl::Time now) { member->lease_end = now + lease_; }
  // Fences those whose lease has ended, and returns them. A tick that is late (this process stood still, so it may not have heard
  // heartbeats) extends every lease by its lateness.
  std::vector<const Info*> Tick(absl::Time now);
  // By how much the last tick was late.
  absl::Duration late() const { return late_; }

  // What of the members must outlive this process, of those that changed since the last call, or of all.
  std::vector<MemberRecord> TakeChanges(bool all);
  // As they were, those not fenced with a full lease.
  void Restore(const CoordinatorRecord& record, absl::Time now);

  // Not fenced, in worker order.
  std::vector<Member> Live() const;
  size_t joined() const { return members_.size(); }
  // "worker 2 (host:4711)".
  std::string Describe(Member member) const;
  // Live members that were told to stop.
  std::vector<Member> ToldToStop() const;
  // Whether all were.
  bool AllToldToStop() const;

 private:
  const absl::Duration lease_;
  const uint64_t gap_;
  std::map<uint32_t, Info> members_;
  uint64_t generations_;
  absl::Time last_tick_ = absl::InfiniteFuture();
  absl::Duration late_;
};

}  // namespace tessera
