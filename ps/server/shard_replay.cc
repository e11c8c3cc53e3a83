// After a crash: what the database holds, and then the log from the oldest record that some row may still lack. A record is applied to the
// rows and chunks whose lsn is below its own; the ledger and the steps are only learnt from it.
#include <limits>
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/fault_point.h"
#include "common/status_macros.h"
#include "ps/server/shard_state.h"
#include "ps/table/shard_format.h"

namespace tessera {

// Stages wait here for the commit that names them, also those of steps that are over: a row may have missed the commit.
class ShardState::Replay {
 public:
  explicit Replay(const ShardRecord& record) : needed_lsn(record.needed_lsn()), counted_lsn(record.lsn()) {}

  void Add(const LoggedHeader& header, StagedPart part) {
    stages_[{header.step(), header.share(), header.worker(), header.generation(), header.part()}] = std::move(part);
  }
  // As SyncSteps::Drop.
  void Drop(const LoggedHeader& header) {
    const auto key = [&](uint32_t part) { return std::make_tuple(header.step(), header.share(), header.worker(), header.generation(), part); };
    stages_.erase(stages_.lower_bound(key(0)), stages_.upper_bound(key(std::numeric_limits<uint32_t>::max())));
  }
  // The parts of a share's stage; empty if one is not in the log any more.
  std::vector<const StagedPart*> Find(uint64_t step, const Winner& winner) const {
    std::vector<const StagedPart*> parts;
    for (uint32_t k = 0;; ++k) {
      const auto found = stages_.find({step, winner.share(), winner.worker(), winner.generation(), k});
      if (found == stages_.end()) return {};
      parts.push_back(&found->second);
      if (parts.size() == found->second.request->parts()) return parts;
    }
  }
  void DropUpTo(uint64_t step) {
    while (!stages_.empty() && std::get<0>(stages_.begin()->first) <= step) stages_.erase(stages_.begin());
  }
  // What is staged for the step to come.
  absl::Status MoveTo(SyncSteps* steps) {
    for (auto& [key, part] : stages_) {
      if (std::get<0>(key) == steps->step() + 1) TESSERA_RETURN_IF_ERROR(steps->Add(std::move(part)));
    }
    return absl::OkStatus();
  }

  const uint64_t needed_lsn;
  uint64_t last_lsn = 0;
  const uint64_t counted_lsn;  // the record of the shard includes the effects of all up to here on ledger, steps and counts

 private:
  std::map<std::tuple<uint64_t, uint32_t, uint32_t, uint64_t, uint32_t>, StagedPart> stages_;
};

absl::Status ShardState::ReplayAll(const ShardRecord& record) {
  const absl::Time begin = Clock::Real()->Now();
  TESSERA_RETURN_IF_ERROR(rows_->Recover());
  TESSERA_RETURN_IF_ERROR(dense_->Recover(*db_, shape_.first_partition, shape_.last_partition));
  for (uint32_t p = shape_.first_partition; admits() && p < shape_.last_partition; ++p) {
    TESSERA_ASSIGN_OR_RETURN(const std::string value, db_->Get(KeyBound(RecordKind::kSightings, p)));
    TESSERA_ASSIGN_OR_RETURN(const absl::string_view counters, DecodeSightings(p, value));
    TESSERA_RETURN_IF_ERROR(rows_->LoadSightings(p, counters));
  }
  rows_->SetAccounting({record.inserted(), record.evicted(), record.refused()}, record.lsn());
  rows_->SetPeriod(record.period());
  steps_.Reset(record.step(), record.has_decision() ? &record.decision() : nullptr);
  pushed_step_ = record.pushed_step();
  needed_lsn_ = record.needed_lsn();
  {
    MutexLock lock(&update_mutex_);
    ledger_.Load(record);
  }
  Replay replay(record);
  TESSERA_RETURN_IF_ERROR(
      OpenLog(record.needed_lsn(), record.lsn() + 1, [&](const LogRecord& logged) { return ReplayRecord(logged, &replay); }));
  {
    MutexLock lock(&update_mutex_);
    updates_ = ledger_.batches();
  }
  TESSERA_RETURN_IF_ERROR(CheckNothingLost(record, replay.last_lsn));
  TESSERA_RETURN_IF_ERROR(replay.MoveTo(&steps_));
  replay_time_ = Clock::Real()->Now() - begin;
  return absl::OkStatus();
}

absl::Status ShardState::CheckNothingLost(const ShardRecord& record, uint64_t last_lsn) const {
  // Records from L on are in the log up to the last one the shard's record knows of; rows on disk may know of later ones.
  const uint64_t known = std::max<uint64_t>(rows_->highest_disk_lsn(), dense_->highest_lsn());
  const uint64_t wanted = std::max<uint64_t>(known, record.needed_lsn() <= record.lsn() ? record.lsn() : 0);
  if (wanted <= std::max<uint64_t>(last_lsn, record.needed_lsn() - 1)) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("state lost: the log below ", folder_, " ends at record ", last_lsn, ", but record ", wanted,
                                          " was applied; storage.durability 'process' does not survive a loss of power"));
}

absl::Status ShardState::ReplayRecord(const LogRecord& record, Replay* replay) {
  FaultPoint("replay.record");
  replay->last_lsn = record.lsn;
  ++replayed_records_;
  replayed_bytes_ += record.body.size();
  if (record.kind == LogKind::kCut) return absl::OkStatus();
  absl::StatusOr<ReadBody> read = ReadLogBody(record.body);
  if (!read.ok()) {
    return absl::DataLossError(absl::StrCat("record ", record.lsn, " of the log below ", folder_, ": ", read.status().message()));
  }
  const LoggedHeader& header = read->header;
  const CheckedGradients* const source = &read->gradients;
  UpdateRule rule;
  rule.lsn = record.lsn;
  switch (record.kind) {
    case LogKind::kStage: {
      if (header.dropped()) {
        replay->Drop(header);
        return absl::OkStatus();
      }
      StagedPart part;
      part.request = std::make_unique<StageRequest>();
      part.request->mutable_peer()->set_worker(header.worker());
      part.request->mutable_peer()->set_generation(header.generation());
      part.request->set_step(header.step());
      part.request->set_share(header.share());
      part.request->set_part(header.part());
      part.request->set_parts(header.parts());
      CopyGradients(*read, part.request->mutable_gradients());
      part.gradients.ViewOf(part.request->gradients());
      part.gradients.Group();
      part.lsn = record.lsn;
      part.bytes = LoggedBytes(part.request->gradients());
      replay->Add(header, std::move(part));
      return absl::OkStatus();
    }
    case LogKind::kCommit:
      return ReplayCommit(record.lsn, *read, replay);
    case LogKind::kPush:
      rule.divisor = header.divisor();
      rule.optimizer_step = header.optimizer_step();
      rule.step = header.optimizer_step();
      rule.period = header.period();
      TESSERA_RETURN_IF_ERROR(
          ReplayUpdate(*read, {&source, 1}, header.sparse_learning_rate(), header.dense_learning_rate(), rule));
      if (record.lsn > replay->counted_lsn) {
        MutexLock lock(&update_mutex_);
        ledger_.Record(header, record.lsn);
        pushed_step_ = std::max<uint64_t>(pushed_step_, header.optimizer_step());
      }
      return absl::OkStatus();
    case LogKind::kFence:
      if (record.lsn > replay->counted_lsn) {
        MutexLock lock(&update_mutex_);
        ledger_.Fence(header.worker(), header.generation(), record.lsn);
      }
      return absl::OkStatus();
    case LogKind::kEvict:
      return ReplayUpdate(*read, {}, 0, 0, rule);
    default:
      return absl::DataLossError(absl::StrCat("record ", record.lsn, " of the log below ", folder_, " is of unknown kind ",
                                              static_cast<int>(record.kind), "; use the release that wrote it"));
  }
}

absl::Status ShardState::ReplayCommit(uint64_t lsn, const ReadBody& body, Replay* replay) {
  const Decision& decision = body.header.decision();
  std::vector<const CheckedGradients*> sources;
  bool complete = true;
  for (const Winner& winner : decision.winners()) {
    const std::vector<const StagedPart*> parts = replay->Find(decision.step(), winner);
    complete = complete && !parts.empty();
    for (const StagedPart* part : parts) sources.push_back(&part->gradients);
  }
  // A stage below the oldest record needed may be gone: then every row of the commit is on disk.
  if (!complete && body.header.first_lsn() >= replay->needed_lsn) {
    return absl::DataLossError(absl::StrCat("record ", lsn, " of the log below ", folder_, " commits step ", decision.step(),
                                            ", but a stage it names is not in the log"));
  }
  if (complete && !sources.empty()) {
    UpdateRule rule;
    rule.lsn = lsn;
    rule.first_lsn = body.header.first_lsn();
    rule.divisor = decision.rows();
    rule.optimizer_step = decision.optimizer_step();
    rule.step = decision.step();
    rule.period = decision.period();
    TESSERA_RETURN_IF_ERROR(
        ReplayUpdate(body, sources, decision.sparse_learning_rate(), decision.dense_learning_rate(), rule));
  }
  replay->DropUpTo(decision.step());
  if (decision.step() > steps_.step()) steps_.Reset(decision.step(), &decision);
  return absl::OkStatus();
}

absl::Status ShardState::ReplayUpdate(const ReadBody& body, absl::Span<const CheckedGradients* const> sources, double sparse_learning_rate,
                                      double dense_learning_rate, const UpdateRule& rule) {
  const RowFacts facts = FactsOf(body.header);
  UpdateRule with_rate = rule;
  with_rate.learning_rate = sparse_learning_rate;
  TESSERA_ASSIGN_OR_RETURN(const PreparedUpdate update, rows_->Prepare(RowsOf(sources), with_rate, &facts));
  TESSERA_RETURN_IF_ERROR(ApplyUpdate(update, sources, dense_learning_rate, with_rate));
  // What was read from the log is durable. Nothing may be dropped from it: records not yet replayed are not done.
  if (memory_rows_max_ == 0 || rows_->dirty_rows() <= memory_rows_max_ / 2) return absl::OkStatus();
  return rows_->WriteBack(std::numeric_limits<uint64_t>::max(), memory_rows_max_ / 4, [](uint64_t) { return absl::OkStatus(); }).status();
}

}  // namespace tessera
