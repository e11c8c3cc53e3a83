#include "ps/server/sync_steps.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace tessera {
namespace {

// A share of many parts is a share of many messages: 65536 of 8 MiB are more than any server holds.
constexpr uint32_t kPartsMax = 65536;

absl::Status StateLost(absl::string_view why) { return absl::DataLossError(absl::StrCat("state lost: ", why)); }

// Whether two decisions change the tables alike. Flags and the next step's assignment are not the server's concern.
bool SameUpdate(const Decision& a, const Decision& b) {
  if (a.step() != b.step() || a.rows() != b.rows() || a.optimizer_step() != b.optimizer_step() || a.winners_size() != b.winners_size() ||
      a.sparse_learning_rate() != b.sparse_learning_rate() || a.dense_learning_rate() != b.dense_learning_rate()) {
    return false;
  }
  for (int i = 0; i < a.winners_size(); ++i) {
    const Winner& x = a.winners(i);
    const Winner& y = b.winners(i);
    if (x.share() != y.share() || x.worker() != y.worker() || x.generation() != y.generation()) return false;
  }
  return true;
}

absl::Status CheckDecision(const Decision& decision) {
  const std::string name = absl::StrCat("decision of step ", decision.step());
  for (int i = 1; i < decision.winners_size(); ++i) {
    if (decision.winners(i - 1).share() < decision.winners(i).share()) continue;
    return absl::InvalidArgumentError(absl::StrCat(name, ": share ", decision.winners(i).share(), " comes after share ",
                                                   decision.winners(i - 1).share(), "; winners stand in share order, each once"));
  }
  if (decision.winners_size() == 0) return absl::OkStatus();
  if (!std::isfinite(decision.rows()) || decision.rows() <= 0) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": rows is ", decision.rows(), ", must be above 0 where a share won"));
  }
  if (!std::isfinite(decision.sparse_learning_rate()) || !std::isfinite(decision.dense_learning_rate())) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": learning rates are ", decision.sparse_learning_rate(), " and ",
                                                   decision.dense_learning_rate(), ", must be finite"));
  }
  if (decision.optimizer_step() == 0) return absl::InvalidArgumentError(absl::StrCat(name, ": optimizer_step is 0, counts from 1"));
  return absl::OkStatus();
}

}  // namespace

std::string NameOf(const StageRequest& request) {
  return absl::StrCat("stage of share ", request.share(), " by worker ", request.peer().worker(), " generation ",
                      request.peer().generation(), ", step ", request.step());
}

void SyncSteps::Reset(uint64_t step, const Decision* decision) {
  MutexLock lock(&mutex_);
  step_ = step;
  last_ = decision == nullptr ? nullptr : std::make_unique<Decision>(*decision);
  staged_.clear();
}

uint64_t SyncSteps::step() const {
  MutexLock lock(&mutex_);
  return step_;
}

absl::StatusOr<SyncSteps::Standing> SyncSteps::StandingOf(uint64_t step, const Decision& decision) const {
  if (step == 0 || decision.step() != step - 1) {
    return absl::InvalidArgumentError(absl::StrCat("a call of step ", step, " carries the decision of step ", decision.step(),
                                                   "; it must carry that of the step before"));
  }
  MutexLock lock(&mutex_);
  if (step_ >= step) return absl::AbortedError(absl::StrCat("step over: a call of step ", step, ", this server has applied step ", step_));
  if (step_ + 1 == step) {
    if (last_ != nullptr && !SameUpdate(*last_, decision)) {
      return absl::FailedPreconditionError(absl::StrCat("two decisions of step ", step_, ": this server has applied {",
                                                        last_->ShortDebugString(), "}, the call carries {", decision.ShortDebugString(),
                                                        "}"));
    }
    return Standing::kHere;
  }
  if (step_ + 2 == step) return Standing::kCommitFirst;
  return StateLost(absl::StrCat("this server has applied step ", step_, ", the call carries the decision of step ", decision.step()));
}

absl::StatusOr<SyncSteps::Standing> SyncSteps::StandingOfCommit(const Decision& decision) const {
  if (decision.step() == std::numeric_limits<uint64_t>::max()) return absl::InvalidArgumentError("decision of the last possible step");
  // A decision that is sent by itself stands as if the first call of the next step carried it, except that d(a) may come again.
  return StandingOf(decision.step() + 1, decision);
}

absl::StatusOr<const StagedPart*> SyncSteps::FindStaged(const StageRequest& request) const {
  MutexLock lock(&mutex_);
  return FindStagedLocked(request);
}

absl::StatusOr<const StagedPart*> SyncSteps::FindStagedLocked(const StageRequest& request) const {
  if (request.parts() == 0 || request.parts() > kPartsMax || request.part() >= request.parts()) {
    return absl::InvalidArgumentError(absl::StrCat(NameOf(request), ": part ", request.part(), " of ", request.parts(), " parts"));
  }
  const auto found = staged_.find({request.share(), request.peer().worker(), request.peer().generation()});
  if (found != staged_.end()) {
    const StagedShare& share = found->second;
    if (share.parts.size() == request.parts()) return share.parts[request.part()].get();
    return absl::InvalidArgumentError(absl::StrCat(NameOf(request), ": now has ", request.parts(), " parts, had ", share.parts.size()));
  }
  size_t attempts = 0;
  const auto first = staged_.lower_bound({request.share(), 0, 0});
  for (auto it = first; it != staged_.end() && std::get<0>(it->first) == request.share(); ++it) ++attempts;
  if (attempts >= kAttemptsMax) {
    return absl::ResourceExhaustedError(absl::StrCat(NameOf(request), ": ", attempts, " attempts of this share are staged already"));
  }
  return nullptr;
}

absl::Status SyncSteps::Add(StagedPart part) {
  const StageRequest& request = *part.request;
  MutexLock lock(&mutex_);
  assert(request.step() == step_ + 1);
  TESSERA_ASSIGN_OR_RETURN(const StagedPart* const staged, FindStagedLocked(request));
  if (staged != nullptr) return absl::OkStatus();
  StagedShare& share = staged_[{request.share(), request.peer().worker(), request.peer().generation()}];
  share.parts.resize(request.parts());
  share.parts[request.part()] = std::make_unique<StagedPart>(std::move(part));
  return absl::OkStatus();
}

void SyncSteps::Drop(const StageRequest& request) {
  MutexLock lock(&mutex_);
  staged_.erase({request.share(), request.peer().worker(), request.peer().generation()});
}

bool SyncSteps::HasParts(const StageRequest& request) const {
  MutexLock lock(&mutex_);
  return staged_.count({request.share(), request.peer().worker(), request.peer().generation()}) > 0;
}

bool SyncSteps::IsTakenOver(const StageRequest& request) const {
  MutexLock lock(&mutex_);
  const Key own = {request.share(), request.peer().worker(), request.peer().generation()};
  const auto first = staged_.lower_bound({request.share(), 0, 0});
  for (auto it = first; it != staged_.end() && std::get<0>(it->first) == request.share(); ++it) {
    if (it->first != own) return true;
  }
  return false;
}

uint64_t SyncSteps::BytesAgain() const {
  MutexLock lock(&mutex_);
  uint64_t again = 0, largest = 0, of_share = 0;
  for (auto it = staged_.begin(); it != staged_.end(); ++it) {
    uint64_t bytes = 0;
    for (const std::unique_ptr<StagedPart>& part : it->second.parts) bytes += part == nullptr ? 0 : part->bytes;
    if (it == staged_.begin() || std::get<0>(std::prev(it)->first) != std::get<0>(it->first)) {
      again += of_share - largest;
      largest = of_share = 0;
    }
    largest = std::max(largest, bytes);
    of_share += bytes;
  }
  return again + of_share - largest;
}

absl::StatusOr<std::vector<const StagedPart*>> SyncSteps::WinnersOf(const Decision& decision) const {
  TESSERA_RETURN_IF_ERROR(CheckDecision(decision));
  MutexLock lock(&mutex_);
  assert(decision.step() == step_ + 1);
  std::vector<const StagedPart*> parts;
  for (const Winner& winner : decision.winners()) {
    const std::string name = absl::StrCat("the stage of share ", winner.share(), " by worker ", winner.worker(), " generation ",
                                          winner.generation(), " that the decision of step ", decision.step(), " names");
    const auto found = staged_.find({winner.share(), winner.worker(), winner.generation()});
    if (found == staged_.end()) return StateLost(absl::StrCat(name, " is not here"));
    for (const std::unique_ptr<StagedPart>& part : found->second.parts) {
      if (part == nullptr) return StateLost(absl::StrCat(name, " is here in part only"));
      parts.push_back(part.get());
    }
  }
  return parts;
}

void SyncSteps::Applied(const Decision& decision) {
  MutexLock lock(&mutex_);
  assert(decision.step() == step_ + 1);
  step_ = decision.step();
  last_ = std::make_unique<Decision>(decision);
  staged_.clear();
}

uint64_t SyncSteps::OldestStaged() const {
  MutexLock lock(&mutex_);
  uint64_t oldest = std::numeric_limits<uint64_t>::max();
  for (const auto& [key, share] : staged_) {
    for (const std::unique_ptr<StagedPart>& part : share.parts) {
      if (part != nullptr) oldest = std::min(oldest, part->lsn);
    }
  }
  return oldest;
}

void SyncSteps::Save(ShardRecord* record) const {
  MutexLock lock(&mutex_);
  record->set_step(step_);
  if (last_ != nullptr) *record->mutable_decision() = *last_;
}

}  // namespace tessera
