// One evaluation: each live worker scores a part of the blocks, their counts are merged, and one score comes out.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/score.h"
#include "proto/coordinator.pb.h"
#include "ps/coordinator/members.h"

namespace tessera {

// Thread-compatible, pure. The score does not depend on the number of workers nor on who answers first.
class EvaluationRound {
 public:
  // One part for each member; without any, one for whoever comes.
  EvaluationRound(uint64_t number, bool holdout, std::vector<Member> members);

  uint64_t number() const { return number_; }
  bool holdout() const { return holdout_; }
  uint32_t parts() const { return static_cast<uint32_t>(members_.size()); }
  // The part this member still has to score.
  std::optional<uint32_t> OpenPart(Member member) const;
  // Gives a member that has none a part whose member is not among `live`.
  void Give(Member member, absl::Span<const Member> live);
  // Merges a report. False if it is a repeated one, or of another evaluation. INVALID_ARGUMENT if two parts overlap.
  absl::StatusOr<bool> Add(const EvaluationDone& done, Member member);
  bool Complete() const { return Awaited().empty(); }
  std::vector<Member> Awaited() const;
  // REQUIRES: Complete().
  Score Finish() const { return counter_.Finish(); }

 private:
  const uint64_t number_;
  const bool holdout_;
  std::vector<Member> members_;  // by part
  std::vector<bool> done_;
  ScoreCounter counter_;
};

}  // namespace tessera
