// What a soak compares with its reference between rounds.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/packed.h"
#include "common/partition.h"
#include "common/status_macros.h"
#include "tests/integration/soak_load.h"

namespace tessera {
namespace {

constexpr size_t kIdsPerComparison = 4096;

}  // namespace

void SoakLoad::ApplyToReference() {
  MutexLock lock(&mutex_);
  std::sort(logged_.begin(), logged_.end(), [](const Logged& a, const Logged& b) { return a.lsn < b.lsn; });
  for (const Logged& logged : logged_) {
    if (logged.lsn <= applied_lsn_) Broken(absl::StrCat("two pushes are record ", logged.lsn));
    applied_lsn_ = logged.lsn;
    PushReply reply;
    Must("push to the reference", reference_->Push(logged.push, &reply));
  }
  logged_.clear();
}

absl::Status SoakLoad::EvictOnBoth(ParameterServerApi* server) {
  EvictRequest evict;
  EvictReply got, wanted;
  *evict.mutable_peer() = world_.MakePeer(0, 0);
  evict.mutable_rule()->set_unused_steps(options_.ids / 128 + random_.Below(options_.ids / 64));
  evict.set_partition(kPartitions / 2 + static_cast<uint32_t>(random_.Below(kPartitions / 2)));
  TESSERA_RETURN_IF_ERROR(Send("evict", [&] { return server->Evict(evict, &got); }));
  Must("evict from the reference", reference_->Evict(evict, &wanted));
  if (got.ids() != wanted.ids()) Broken("other rows were evicted by hand than must be");
  return absl::OkStatus();
}

absl::Status SoakLoad::Verify(ParameterServerApi* server) {
  uint64_t rows = 0;
  TESSERA_RETURN_IF_ERROR(CompareValues(server, /*evaluation=*/false, &rows));
  TESSERA_RETURN_IF_ERROR(CompareValues(server, /*evaluation=*/true, &rows));
  TESSERA_RETURN_IF_ERROR(CompareCounts(server, rows));
  return random_.Below(4) == 0 ? CompareSaved(server) : absl::OkStatus();
}

absl::Status SoakLoad::CompareValues(ParameterServerApi* server, bool evaluation, uint64_t* rows) {
  *rows = 0;
  for (size_t begin = 0; begin < ids_.size(); begin += kIdsPerComparison) {
    PullRequest pull;
    PullReply got, wanted;
    *pull.mutable_peer() = world_.MakePeer(options_.workers + 1);
    pull.set_dense(true);
    pull.set_evaluation(evaluation);
    const absl::Span<const uint64_t> ids = absl::MakeConstSpan(ids_).subspan(begin, kIdsPerComparison);
    AppendPacked(ids, pull.mutable_ids());
    TESSERA_RETURN_IF_ERROR(OkOrDown("pull", server->Pull(pull, &got)));
    Must("pull from the reference", reference_->Pull(pull, &wanted));
    if (got.dense() != wanted.dense()) Broken("dense values differ");
    if (got.absent() != wanted.absent()) Broken("other rows are there than must be");
    for (size_t at = 0; at < wanted.values().size(); ++at) {
      if (got.values().size() == wanted.values().size() && got.values()[at] == wanted.values()[at]) continue;
      Broken(absl::StrCat("values of id ", ids[at / sizeof(float) / kWorldDim], " differ; ", evaluation ? "evaluation" : "training"));
    }
    for (size_t i = 0; i < ids.size(); ++i) *rows += (static_cast<uint8_t>(wanted.absent()[i / 8]) >> (i % 8) & 1) == 0;
  }
  return absl::OkStatus();
}

absl::Status SoakLoad::CompareCounts(ParameterServerApi* server, uint64_t rows) const {
  DescribeServerReply got, wanted;
  TESSERA_RETURN_IF_ERROR(OkOrDown("describe", server->DescribeServer(DescribeServerRequest(), &got)));
  Must("describe the reference", reference_->DescribeServer(DescribeServerRequest(), &wanted));
  const TableStatus& table = got.table();
  if (CountsOf(table) != CountsOf(wanted.table())) Broken(absl::StrCat("the server says ", CountsOf(table), ", must be ", CountsOf(wanted.table())));
  if (table.inserted() != table.rows() + table.evicted() + table.refused()) Broken(absl::StrCat("does not add up: ", CountsOf(table)));
  if (table.rows() != rows) Broken(absl::StrCat("the server counts ", table.rows(), " rows, ", rows, " are there"));
  if (got.durability().lsn() < applied_lsn_) Broken("the log ends before a record that was acknowledged");
  return absl::OkStatus();
}

absl::Status SoakLoad::CompareSaved(ParameterServerApi* server) const {
  SaveReply got, wanted;
  TESSERA_RETURN_IF_ERROR(Save(server, "still", &got));
  Must("save the reference", Save(reference_.get(), "reference", &wanted));
  if (got.content_digest() != wanted.content_digest()) Broken("optimizer states differ");
  return absl::OkStatus();
}

absl::Status SoakLoad::CheckWasWorthIt(ParameterServerApi* server) const {
  DescribeServerReply described;
  TESSERA_RETURN_IF_ERROR(OkOrDown("describe", server->DescribeServer(DescribeServerRequest(), &described)));
  const TableStatus& table = described.table();
  if (table.rows() < 2 * table.memory_rows()) Broken(absl::StrCat("the soak is too small: ", table.memory_rows(), " rows of ", table.rows(), " fit memory"));
  if (table.evicted() == 0 || table.refused() == 0) Broken(absl::StrCat("the soak is too short: ", CountsOf(table)));
  if (table.written_rows() == 0 || described.durability().needed_lsn() <= 1) Broken("the soak is too short: nothing was written back, or the log never shortened");
  return absl::OkStatus();
}

}  // namespace tessera
