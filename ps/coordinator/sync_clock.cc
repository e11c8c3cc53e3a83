#include "ps/coordinator/sync_clock.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/learning_rate.h"

namespace tessera {
namespace {

Member MemberOf(const Assignment& assignment) { return {assignment.worker(), assignment.generation()}; }

// Share s belongs to the members in turn.
void Assign(absl::Span<const Member> members, Decision* decision) {
  assert(!members.empty());
  for (Assignment& assignment : *decision->mutable_assignment()) {
    const Member& member = members[assignment.share() % members.size()];
    assignment.set_worker(member.worker);
    assignment.set_generation(member.generation);
  }
}

// Every share at the beginning of an epoch.
void StartEpoch(const StepRules& rules, uint32_t epoch, Decision* decision) {
  decision->set_epoch(epoch);
  decision->clear_assignment();
  for (uint32_t share = 0; share < rules.shares; ++share) {
    Assignment* assignment = decision->add_assignment();
    assignment->set_share(share);
    assignment->mutable_position()->set_epoch(epoch);
    assignment->set_rows_max(rules.batch_size / rules.shares + (share < rules.batch_size % rules.shares));
  }
}

}  // namespace

absl::StatusOr<StepRules> StepRulesOf(const Plan& plan) {
  const Training& training = plan.job().training();
  StepRules rules;
  rules.shares = training.shares();
  rules.batch_size = training.batch_size();
  if (rules.shares == 0) return absl::InvalidArgumentError("training.shares: must be at least 1");
  if (rules.batch_size < rules.shares) {
    return absl::InvalidArgumentError(absl::StrCat("training.batch_size: ", rules.batch_size, " rows cannot be cut into training.shares = ",
                                                   rules.shares, " shares of at least one row; raise it or lower training.shares"));
  }
  rules.sparse_learning_rate = LearningRate(plan.job().optimizers().sparse());
  rules.dense_learning_rate = LearningRate(plan.job().optimizers().dense());
  rules.period = plan.job().data().period();
  return rules;
}

Decision FirstDecision(const StepRules& rules, uint64_t incarnation, absl::Span<const Member> members) {
  Decision decision;
  decision.set_incarnation(incarnation);
  StartEpoch(rules, 0, &decision);
  Assign(members, &decision);
  return decision;
}

Decision RestoredDecision(const Decision& saved, uint64_t incarnation, absl::Span<const Member> members) {
  Decision decision = saved;
  decision.set_incarnation(incarnation);
  decision.clear_cut();
  decision.clear_evaluate();
  decision.clear_stop();
  Assign(members, &decision);
  return decision;
}

Member SyncClock::OwnerOf(const Assignment& assignment) const {
  const auto given = given_.find(assignment.share());
  return given != given_.end() ? given->second : MemberOf(assignment);
}

std::vector<const Assignment*> SyncClock::Open(Member member) const {
  std::vector<const Assignment*> open;
  for (const Assignment& assignment : last_.assignment()) {
    if (assignment.position().end() || !(OwnerOf(assignment) == member) || done_.count(assignment.share()) != 0) continue;
    open.push_back(&assignment);
  }
  return open;
}

const Assignment* SyncClock::Orphan(absl::Span<const Member> live) const {
  for (const Assignment& assignment : last_.assignment()) {
    if (assignment.position().end() || done_.count(assignment.share()) != 0) continue;
    if (std::find(live.begin(), live.end(), OwnerOf(assignment)) == live.end()) return &assignment;
  }
  return nullptr;
}

std::pair<int, const Assignment*> SyncClock::CountDeath(Member member) {
  std::pair<int, const Assignment*> most = {0, nullptr};
  for (const Assignment* assignment : Open(member)) {
    const int deaths = ++deaths_[assignment->share()];
    if (deaths > most.first) most = {deaths, assignment};
  }
  return most;
}

std::vector<Member> SyncClock::Awaited() const {
  std::vector<Member> awaited;
  for (const Assignment& assignment : last_.assignment()) {
    if (assignment.position().end() || done_.count(assignment.share()) != 0) continue;
    const Member member = OwnerOf(assignment);
    bool known = false;
    for (const Member& other : awaited) known |= other == member;
    if (!known) awaited.push_back(member);
  }
  return awaited;
}

absl::StatusOr<bool> SyncClock::Add(const ShareDone& done, Member member) {
  if (done.step() < step()) return false;
  const std::string what = absl::StrCat("step ", done.step(), ", share ", done.share(), ": ");
  if (done.step() > step()) {
    return absl::InvalidArgumentError(absl::StrCat(what, "reported done while step ", step(), " is being computed"));
  }
  if (done.share() >= rules_.shares) return absl::InvalidArgumentError(absl::StrCat(what, "the job has ", rules_.shares, " shares"));
  const Assignment& assignment = last_.assignment(static_cast<int>(done.share()));
  if (assignment.position().end()) return absl::InvalidArgumentError(absl::StrCat(what, "the share has no row in this step"));
  if (const uint64_t rows = done.rows() + done.refused_rows(); rows > assignment.rows_max()) {
    return absl::InvalidArgumentError(absl::StrCat(what, rows, " rows, at most ", assignment.rows_max(), " were asked for"));
  }
  if (done.rows() > 0 && done.refused_rows() > 0) return absl::InvalidArgumentError(absl::StrCat(what, "its rows are both done and refused"));
  if (done.rows() + done.refused_rows() == 0 && !done.position().end()) {
    return absl::InvalidArgumentError(absl::StrCat(what, "no rows, but not at its end"));
  }
  if (!std::isfinite(done.loss())) return absl::InvalidArgumentError(absl::StrCat(what, "its loss is not a finite number"));
  return done_.emplace(done.share(), Report{member, done}).second;
}

bool SyncClock::Complete() const {
  for (const Assignment& assignment : last_.assignment()) {
    if (!assignment.position().end() && done_.count(assignment.share()) == 0) return false;
  }
  return true;
}

SyncClock::Outcome SyncClock::Decide(absl::Span<const Member> members) const {
  assert(Complete());
  Outcome outcome;
  Decision& d = outcome.decision;
  d.set_incarnation(last_.incarnation());
  d.set_step(step());
  d.set_optimizer_step(step());
  d.set_sparse_learning_rate(rules_.sparse_learning_rate);
  d.set_dense_learning_rate(rules_.dense_learning_rate);
  d.set_epoch(last_.epoch());
  d.set_period(rules_.period);
  *d.mutable_assignment() = last_.assignment();
  outcome.epoch_over = true;
  for (Assignment& assignment : *d.mutable_assignment()) {
    if (const auto it = done_.find(assignment.share()); it != done_.end()) {
      const auto& [member, done] = it->second;
      *assignment.mutable_position() = done.position();
      outcome.rows += done.rows();
      outcome.loss += done.loss();
      if (done.refused_rows() > 0) {
        ++outcome.refused_batches;
        outcome.refused_rows += done.refused_rows();
        outcome.refusal = done.refusal();
      }
      if (done.rows() > 0) {
        Winner* winner = d.add_winners();
        winner->set_share(done.share());
        winner->set_worker(member.worker);
        winner->set_generation(member.generation);
        winner->set_rows(done.rows());
      }
    }
    outcome.epoch_over &= assignment.position().end();
  }
  d.set_rows(static_cast<double>(outcome.rows));
  if (outcome.epoch_over) StartEpoch(rules_, last_.epoch() + 1, &d);
  Assign(members, &d);
  return outcome;
}

void SyncClock::Advance(Decision decision) {
  assert(decision.step() == step());
  last_ = std::move(decision);
  done_.clear();
  given_.clear();
  deaths_.clear();
}

}  // namespace tessera
