#include "worker/train/share_batches.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "common/status_macros.h"

namespace tessera {
namespace {

bool Same(const Position& a, const Position& b) {
  return a.epoch() == b.epoch() && a.block() == b.block() && a.row() == b.row() && a.offset() == b.offset() && a.end() == b.end();
}

}  // namespace

absl::Status ShareBatches::Next(const Assignment& share, TrainingBatch* out) {
  Stream& stream = streams_[share.share()];
  if (stream.batches == nullptr || stream.rows_max != share.rows_max() || !Same(stream.position, share.position())) {
    stream.batches.reset();  // its threads end before new ones begin to read
    TESSERA_ASSIGN_OR_RETURN(std::unique_ptr<RowStream> rows,
                             RowStream::ForShare(plan_, input_, share.share(), plan_.job().training().shares(), share.position()));
    stream.rows_max = share.rows_max();
    stream.batches = std::make_unique<BatchAhead>(std::move(rows), share.rows_max(), rare_ids_, on_next_);
  }
  TESSERA_RETURN_IF_ERROR(stream.batches->Next(out));
  stream.position = out->next;
  return absl::OkStatus();
}

void ShareBatches::KeepOnly(const google::protobuf::RepeatedPtrField<Assignment>& shares) {
  absl::flat_hash_set<uint32_t> kept;
  for (const Assignment& share : shares) kept.insert(share.share());
  absl::erase_if(streams_, [&](const auto& entry) { return !kept.contains(entry.first); });
}

}  // namespace tessera
