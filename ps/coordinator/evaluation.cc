#include "ps/coordinator/evaluation.h"

#include <algorithm>
#include <utility>

#include "common/status_macros.h"

namespace tessera {

EvaluationRound::EvaluationRound(uint64_t number, bool holdout, std::vector<Member> members)
    : number_(number), holdout_(holdout), members_(std::move(members)) {
  if (members_.empty()) members_.emplace_back();
  done_.resize(members_.size());
}

std::optional<uint32_t> EvaluationRound::OpenPart(Member member) const {
  for (size_t i = 0; i < members_.size(); ++i) {
    if (members_[i] == member && !done_[i]) return static_cast<uint32_t>(i);
  }
  return std::nullopt;
}

void EvaluationRound::Give(Member member, absl::Span<const Member> live) {
  if (OpenPart(member).has_value()) return;
  for (size_t i = 0; i < members_.size(); ++i) {
    if (done_[i] || std::find(live.begin(), live.end(), members_[i]) != live.end()) continue;
    members_[i] = member;
    return;
  }
}

absl::StatusOr<bool> EvaluationRound::Add(const EvaluationDone& done, Member member) {
  const uint32_t part = done.part();
  if (done.evaluation() != number_ || part >= parts() || done_[part] || !(members_[part] == member)) return false;
  TESSERA_RETURN_IF_ERROR(counter_.Merge(done.counts()));
  done_[part] = true;
  return true;
}

std::vector<Member> EvaluationRound::Awaited() const {
  std::vector<Member> awaited;
  for (size_t i = 0; i < members_.size(); ++i) {
    if (!done_[i]) awaited.push_back(members_[i]);
  }
  return awaited;
}

}  // namespace tessera
