#include "tests/integration/compared_load.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/packed.h"
#include "common/status_macros.h"

namespace tessera {
namespace {

constexpr uint64_t kComparedIds = 40000;
constexpr uint32_t kShares = 2;
constexpr uint64_t kUpdatesPerPeriod = 400;
constexpr size_t kComparedAtATime = 4096;

ServerOptions ReferenceOptions(const std::string& folder) {
  ServerOptions options;
  options.job = kWorldJob;
  options.shard = kWorldShard;
  options.shards = kWorldShards;
  options.state_directory = folder + "/reference";
  return options;
}

void MustDo(absl::string_view what, const absl::Status& status) {
  if (!status.ok()) Broken(absl::StrCat("the reference: ", what, ": ", status.ToString()));
}

}  // namespace

ComparedLoad::ComparedLoad(Durability durability, bool sync, uint64_t seed, const std::string& folder)
    : world_(durability, /*exact=*/false, kComparedIds),
      sync_(sync),
      folder_(folder),
      random_(seed),
      reference_(ReferenceOptions(folder), &pool_) {
  OpenRequest open = world_.open();
  open.clear_storage();
  OpenReply reply;
  MustDo("open", reference_.Open(open, &reply));
  decision_.set_incarnation(1);
}

void ComparedLoad::MakePush() {
  push_ = std::make_unique<PushRequest>();
  *push_->mutable_peer() = world_.MakePeer(1);
  push_->set_sequence(last_push_.sequence() + 1);
  push_->set_optimizer_step(push_->sequence());
  push_->set_sparse_learning_rate(0.05);
  push_->set_dense_learning_rate(0.001);
  push_->set_divisor(10);
  push_->set_period(period_);
  *push_->mutable_gradients() = world_.MakeGradients(&random_, random_.Below(2) == 0, /*sighted=*/true);
}

absl::Status ComparedLoad::SendPush(ParameterServerApi* server) {
  PushReply reply;
  TESSERA_RETURN_IF_ERROR(Send("push", [&] { return server->Push(*push_, &reply); }));
  MustDo("push", reference_.Push(*push_, &reply));
  last_push_ = *std::move(push_);
  push_.reset();
  ++acknowledged_;
  return absl::OkStatus();
}

absl::Status ComparedLoad::RepeatPush(ParameterServerApi* server) {
  if (last_push_.sequence() == 0) return absl::OkStatus();
  PushRequest again = last_push_;
  again.set_sequence(1 + random_.Below(again.sequence()));
  if (random_.Below(2) == 0) *again.mutable_gradients() = world_.MakeGradients(&random_, true, true);
  PushReply reply;
  return Send("repeated push", [&] { return server->Push(again, &reply); });
}

void ComparedLoad::MakeEvict() {
  evict_ = std::make_unique<EvictRequest>();
  *evict_->mutable_peer() = world_.MakePeer(0, 0);
  evict_->mutable_rule()->set_unused_steps(50 + random_.Below(500));
  evict_->set_partition(128 + static_cast<uint32_t>(random_.Below(128)));
}

absl::Status ComparedLoad::SendEvict(ParameterServerApi* server) {
  EvictReply reply;
  TESSERA_RETURN_IF_ERROR(Send("evict", [&] { return server->Evict(*evict_, &reply); }));
  MustDo("evict", reference_.Evict(*evict_, &reply));
  evict_.reset();
  return absl::OkStatus();
}

// Each share is staged in one or two parts, some by two workers; the decision names one of them.
void ComparedLoad::MakeStages() {
  staged_ = 0;
  winners_.clear();
  for (uint32_t share = 0; share < kShares; ++share) {
    const uint32_t attempts = random_.Below(4) == 0 ? 2 : 1;
    for (uint32_t attempt = 0; attempt < attempts; ++attempt) {
      StageRequest stage;
      *stage.mutable_peer() = world_.MakePeer(1 + share + kShares * attempt);
      stage.set_step(step_);
      *stage.mutable_decision() = decision_;
      stage.set_share(share);
      stage.set_parts(1 + static_cast<uint32_t>(random_.Below(2)));
      for (uint32_t part = 0; part < stage.parts(); ++part) {
        stage.set_part(part);
        *stage.mutable_gradients() = world_.MakeGradients(&random_, /*dense=*/part == 0, /*sighted=*/true);
        stages_.push_back(stage);
      }
    }
    Winner& winner = winners_.emplace_back();
    winner.set_share(share);
    winner.set_worker(1 + share + kShares * static_cast<uint32_t>(random_.Below(attempts)));
    winner.set_generation(1);
    winner.set_rows(10);
  }
  for (size_t i = stages_.size() - 1; i > 0; --i) std::swap(stages_[i], stages_[random_.Below(i + 1)]);
}

absl::Status ComparedLoad::SendStage(ParameterServerApi* server) {
  const StageRequest& stage = stages_[staged_];
  StageReply reply;
  TESSERA_RETURN_IF_ERROR(Send("stage", [&] { return server->Stage(stage, &reply); }));
  MustDo("stage", reference_.Stage(stage, &reply));
  ++staged_;
  ++acknowledged_;
  return absl::OkStatus();
}

absl::Status ComparedLoad::RepeatStage(ParameterServerApi* server) {
  StageReply reply;
  if (staged_ > 0) {
    StageRequest again = stages_[random_.Below(staged_)];
    // Of two different ones of the same share the first counts.
    if (random_.Below(2) == 0) *again.mutable_gradients() = world_.MakeGradients(&random_, again.part() == 0, true);
    TESSERA_RETURN_IF_ERROR(Send("repeated stage", [&] { return server->Stage(again, &reply); }));
  }
  // Once one stage of this step is acknowledged, the step before is over.
  if (staged_ == 0 || last_stage_.step() == 0) return absl::OkStatus();
  return Send("stage of a step that is over", [&] {
    const absl::Status status = server->Stage(last_stage_, &reply);
    if (status.ok()) return absl::InternalError("was taken");
    return absl::IsAborted(status) ? absl::OkStatus() : status;
  });
}

void ComparedLoad::Decide() {
  decision_.Clear();
  decision_.set_incarnation(1);
  decision_.set_step(step_);
  for (const Winner& winner : winners_) *decision_.add_winners() = winner;
  decision_.set_rows(10 * kShares);
  decision_.set_sparse_learning_rate(0.05);
  decision_.set_dense_learning_rate(0.001);
  decision_.set_optimizer_step(step_);
  decision_.set_period(period_);
  last_stage_ = stages_.front();
  stages_.clear();
  staged_ = 0;
  ++step_;
}

// A flagged decision is sent by itself.
absl::Status ComparedLoad::Commit(ParameterServerApi* server) {
  CommitRequest request;
  CommitReply reply;
  *request.mutable_peer() = world_.MakePeer(0, 0);
  *request.mutable_decision() = decision_;
  TESSERA_RETURN_IF_ERROR(Send("commit", [&] { return server->Commit(request, &reply); }));
  if (reply.step() != decision_.step()) Broken(absl::StrCat("step ", decision_.step(), " was committed, the server is at ", reply.step()));
  MustDo("commit", reference_.Commit(request, &reply));
  return absl::OkStatus();
}

absl::Status ComparedLoad::CompareSaved(ParameterServerApi* server) {
  SaveRequest request;
  SaveReply got, wanted;
  *request.mutable_peer() = world_.MakePeer(0, 0);
  const auto save = [&](ParameterServerApi* from, const std::string& name, SaveReply* reply) {
    const std::string checkpoint = absl::StrCat(folder_, "/", name, ".unfinished");
    std::filesystem::create_directories(checkpoint);
    request.set_directory(absl::StrCat(checkpoint, "/shard-", kWorldShard, "-of-", kWorldShards));
    return from->Save(request, reply);
  };
  TESSERA_RETURN_IF_ERROR(Send("save", [&] { return save(server, "server", &got); }));
  MustDo("save", save(&reference_, "reference", &wanted));
  if (got.content_digest() == wanted.content_digest() && got.rows() == wanted.rows()) return absl::OkStatus();
  Broken(absl::StrCat("what is saved differs: ", got.rows(), " rows of digest ", got.content_digest(), ", must be ", wanted.rows(), " of ",
                      wanted.content_digest()));
}

absl::Status ComparedLoad::Advance(ParameterServerApi* server) {
  if (random_.Below(1000) == 0) TESSERA_RETURN_IF_ERROR(CompareSaved(server));
  if (random_.Below(100) == 0) {
    MakeEvict();
    TESSERA_RETURN_IF_ERROR(SendEvict(server));
  }
  if (random_.Below(4) == 0) TESSERA_RETURN_IF_ERROR(sync_ ? RepeatStage(server) : RepeatPush(server));
  if (random_.Below(4) == 0) {
    uint64_t ids[40];
    for (uint64_t& id : ids) id = world_.ids()[world_.RandomId(&random_)];
    std::sort(std::begin(ids), std::end(ids));
    const size_t unique = static_cast<size_t>(std::unique(std::begin(ids), std::end(ids)) - std::begin(ids));
    TESSERA_RETURN_IF_ERROR(Compare(server, absl::MakeConstSpan(ids, unique), false));
  }
  if (!sync_) {
    if (push_ == nullptr) MakePush();
    TESSERA_RETURN_IF_ERROR(SendPush(server));
    period_ += last_push_.sequence() % kUpdatesPerPeriod == 0;
    return absl::OkStatus();
  }
  if (stages_.empty()) MakeStages();
  TESSERA_RETURN_IF_ERROR(SendStage(server));
  if (staged_ < stages_.size()) return absl::OkStatus();
  period_ += step_ % kUpdatesPerPeriod == 0;
  Decide();
  return random_.Below(5) == 0 ? Commit(server) : absl::OkStatus();
}

void ComparedLoad::Run(ParameterServerApi* server, Phase* phase) {
  while (!phase->over()) {
    if (!Advance(server).ok()) return phase->Down();
    phase->Acknowledged();
  }
}

absl::Status ComparedLoad::CatchUp(ParameterServerApi* server) {
  if (evict_ != nullptr) TESSERA_RETURN_IF_ERROR(SendEvict(server));
  if (push_ != nullptr) TESSERA_RETURN_IF_ERROR(SendPush(server));
  if (staged_ < stages_.size()) TESSERA_RETURN_IF_ERROR(SendStage(server));
  if (staged_ > 0 && staged_ == stages_.size()) Decide();
  return absl::OkStatus();
}

absl::Status ComparedLoad::Compare(ParameterServerApi* server, absl::Span<const uint64_t> ids, bool evaluation) {
  PullRequest request;
  *request.mutable_peer() = world_.MakePeer(1);
  if (sync_) {
    request.set_step(step_);
    *request.mutable_decision() = decision_;
  }
  AppendPacked(ids, request.mutable_ids());
  request.set_dense(true);
  request.set_evaluation(evaluation);
  PullReply got, wanted;
  TESSERA_RETURN_IF_ERROR(Send("pull", [&] { return server->Pull(request, &got); }));
  MustDo("pull", reference_.Pull(request, &wanted));
  const auto check = [&](absl::string_view what, const std::string& a, const std::string& b) {
    if (a == b) return;
    size_t at = 0;
    while (at < std::min(a.size(), b.size()) && a[at] == b[at]) ++at;
    const uint64_t id = what == "values" ? ids[at / sizeof(float) / kWorldDim] : 0;
    Broken(absl::StrCat(what, " of a pull differ from byte ", at, " of ", a.size(), " and ", b.size(), ", id ", id, "; step ", got.step(), " and ",
                        wanted.step()));
  };
  check("values", got.values(), wanted.values());
  check("dense values", got.dense(), wanted.dense());
  check("absent bits", got.absent(), wanted.absent());
  if (got.step() != wanted.step()) Broken(absl::StrCat("the server is at step ", got.step(), ", not ", wanted.step()));
  return absl::OkStatus();
}

absl::Status ComparedLoad::Verify(ParameterServerApi* server) {
  const bool evaluation = random_.Below(2) == 0;
  for (size_t begin = 0; begin < world_.ids().size(); begin += kComparedAtATime) {
    TESSERA_RETURN_IF_ERROR(Compare(server, absl::MakeConstSpan(world_.ids()).subspan(begin, kComparedAtATime), evaluation));
  }
  DescribeServerReply got, wanted;
  TESSERA_RETURN_IF_ERROR(Send("describe", [&] { return server->DescribeServer(DescribeServerRequest(), &got); }));
  MustDo("describe", reference_.DescribeServer(DescribeServerRequest(), &wanted));
  const auto counts = [](const TableStatus& table) {
    return absl::StrCat(table.rows(), " rows, ", table.inserted(), " inserted, ", table.evicted(), " evicted, ", table.refused(), " refused");
  };
  if (counts(got.table()) != counts(wanted.table())) Broken(absl::StrCat("the server says ", counts(got.table()), ", must be ", counts(wanted.table())));
  // After a pull: it may have committed a step here that the server had committed before it ended.
  return random_.Below(4) == 0 ? CompareSaved(server) : absl::OkStatus();
}

}  // namespace tessera
