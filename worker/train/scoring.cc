#include "worker/train/scoring.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/batch/append_rows.h"
#include "worker/compute/cpu/cpu_backend.h"
#include "worker/train/block_reader.h"

namespace tessera {
namespace {

// More threads than this cannot be fed by one disk and starve the model of cores.
constexpr int kReaderThreadsMax = 4;

// Moves or copies rows [begin, end) of `from` to the end of `to`.
void TakeRows(Rows* from, size_t begin, size_t end, Rows* to) {
  if (to->size() == 0 && begin == 0 && end == from->size()) {
    *to = std::move(*from);
    return;
  }
  std::vector<RowRef> refs;
  for (size_t i = begin; i < end; ++i) refs.push_back({from, static_cast<uint32_t>(i)});
  AppendRows(refs, to);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Scorer>> Scorer::Create(const Plan& plan, std::vector<ParameterServerApi*> servers,
                                                       const ParameterClient::Options& peer, ThreadPool* pool, Clock* clock,
                                                       size_t batch_rows) {
  TESSERA_RETURN_IF_ERROR(CheckOccurrences(batch_rows, batch_rows * static_cast<uint64_t>(plan.schema().fields_size())));
  auto scorer = std::unique_ptr<Scorer>(new Scorer(plan, batch_rows));
  scorer->reader_threads_ = std::min(pool->threads(), kReaderThreadsMax);
  scorer->stopping_ = peer.stopping;
  scorer->backend_ = MakeCpuBackend(pool);
  TESSERA_ASSIGN_OR_RETURN(scorer->model_, CtrModel::Create(scorer->plan_, scorer->backend_.get()));
  scorer->client_ = std::make_unique<ParameterClient>(scorer->plan_, std::move(servers), peer, clock);
  return scorer;
}

absl::Status Scorer::Score(Input* input, std::vector<uint64_t> blocks, std::function<bool(uint64_t)> wanted, const Version& version,
                           absl::FunctionRef<absl::Status(const ScoredRows&)> sink) {
  BlockReader reader(input, std::move(blocks), reader_threads_, std::move(wanted));
  Rows pending;
  std::vector<Run> runs;
  while (true) {
    uint64_t block = 0;
    Rows rows;
    TESSERA_ASSIGN_OR_RETURN(const bool more, reader.Next(&block, &rows));
    if (!more) break;
    const size_t count = rows.size();
    for (size_t begin = 0, end; begin < count; begin = end) {
      end = std::min(count, begin + batch_rows_ - pending.size());
      TakeRows(&rows, begin, end, &pending);
      runs.push_back({block, pending.size()});
      if (pending.size() < batch_rows_) continue;
      TESSERA_RETURN_IF_ERROR(ScoreBatch(std::move(pending), runs, input, version, sink));
      pending = Rows();
      runs.clear();
    }
  }
  return pending.size() == 0 ? absl::OkStatus() : ScoreBatch(std::move(pending), runs, input, version, sink);
}

absl::Status Scorer::ScoreBatch(Rows rows, absl::Span<const Run> runs, Input* input, const Version& version,
                                absl::FunctionRef<absl::Status(const ScoredRows&)> sink) {
  if (stopping_ != nullptr && stopping_->load(std::memory_order_relaxed)) return absl::CancelledError("stopped");
  TESSERA_RETURN_IF_ERROR(CheckOccurrences(rows.size(), rows.ids.size()));
  Batch batch = MakeBatch(std::move(rows), rare_ids_);
  TESSERA_RETURN_IF_ERROR(client_->Pull(batch, version.step, version.decision, /*evaluation=*/true, &values_));
  if (!values_.absent.empty()) UseRareRows(values_.absent, &batch);
  TESSERA_RETURN_IF_ERROR(model_->Predict(batch, {values_.rows, values_.dense}, &logits_));
  for (size_t i = 0; i < logits_.size(); ++i) {
    if (std::isfinite(logits_[i])) continue;
    return absl::InternalError(absl::StrCat(input->Where(batch.rows.keys[i]), ": the prediction is not finite"));
  }
  size_t begin = 0;
  for (const Run& run : runs) {
    TESSERA_RETURN_IF_ERROR(sink({run.block, batch.rows, begin, absl::MakeConstSpan(logits_).subspan(begin, run.end - begin)}));
    begin = run.end;
  }
  return absl::OkStatus();
}

}  // namespace tessera
