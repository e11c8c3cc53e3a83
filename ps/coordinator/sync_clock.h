// The step clock of sync mode: which shares step t has, which are done, and the decision that ends it (PROTOCOL.md section 4, rules 5, 6).
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/coordinator.pb.h"
#include "proto/parameter_server.pb.h"
#include "proto/plan.pb.h"
#include "ps/coordinator/members.h"

namespace tessera {

// What is the same in every step of a job.
struct StepRules {
  uint32_t shares = 1;
  uint32_t batch_size = 1;  // REQUIRES: >= shares, else a share would never take a row
  double sparse_learning_rate = 0;
  double dense_learning_rate = 0;
  uint32_t period = 0;     // of the training data
};
// INVALID_ARGUMENT with the key path if the plan's step cannot be cut into its shares.
absl::StatusOr<StepRules> StepRulesOf(const Plan& plan);

// d(0): every share at the beginning of the first epoch. REQUIRES: members is not empty.
Decision FirstDecision(const StepRules& rules, uint64_t incarnation, absl::Span<const Member> members);
// A saved d(t) to go on from: positions stay, shares are handed to the members there are now.
Decision RestoredDecision(const Decision& saved, uint64_t incarnation, absl::Span<const Member> members);

// Thread-compatible, pure: no time, no I/O. What a step comes to depends on what its shares report, not on when or by whom.
class SyncClock {
 public:
  SyncClock(const StepRules& rules, Decision last) : rules_(rules), last_(std::move(last)) {}

  const Decision& last() const { return last_; }    // d(t-1)
  uint64_t step() const { return last_.step() + 1; }  // t

  // Non-empty shares of t that are this member's and not done.
  std::vector<const Assignment*> Open(Member member) const;
  // A non-empty share of t that is not done and belongs to nobody of `live`; nullptr where there is none.
  const Assignment* Orphan(absl::Span<const Member> live) const;
  // From now on the share is this member's, until the next decision.
  void Give(uint32_t share, Member member) { given_[share] = member; }
  // The member is dead: how many have died so, each of whom had this share of t, and which share it is that had most.
  std::pair<int, const Assignment*> CountDeath(Member member);
  // All members with such shares, in share order.
  std::vector<Member> Awaited() const;

  // Records a report. False if it changes nothing: the share is done already, or its step is decided. INVALID_ARGUMENT if it cannot be
  // true.
  absl::StatusOr<bool> Add(const ShareDone& done, Member member);
  // Every non-empty share of t is done.
  bool Complete() const;

  struct Outcome {
    Decision decision;     // d(t), flags not set
    uint64_t rows = 0;
    double loss = 0;       // added up in share order
    uint64_t refused_batches = 0;
    uint64_t refused_rows = 0;
    std::string refusal;   // of the last share that has one
    bool epoch_over = false;
  };
  // REQUIRES: Complete(), and members is not empty.
  Outcome Decide(absl::Span<const Member> members) const;
  // Makes d(t) the last decision; step t + 1 begins.
  void Advance(Decision decision);

 private:
  Member OwnerOf(const Assignment& assignment) const;
  struct Report {
    Member member;
    ShareDone done;
  };
  StepRules rules_;
  Decision last_;
  // Of step t, by share.
  std::map<uint32_t, Report> done_;
  std::map<uint32_t, Member> given_;  // last receiver, where that is not d(t-1)'s
  std::map<uint32_t, int> deaths_;
};

}  // namespace tessera
