#include "ps/server/gradients.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/packed.h"
#include "common/partition.h"
#include "common/status_macros.h"

namespace tessera {
namespace {

// Floats looked at by one thread at a time: 128 KiB.
constexpr size_t kPieceFloats = 32768;

// In blocks, so that the inner loop has no exit and vectorises. All exponent bits set: infinite or not a number.
bool AllFinite(absl::Span<const float> values) {
  constexpr size_t kBlock = 1024;
  for (size_t begin = 0; begin < values.size(); begin += kBlock) {
    const size_t end = std::min(values.size(), begin + kBlock);
    uint32_t bad = 0;
    for (size_t i = begin; i < end; ++i) bad |= (std::bit_cast<uint32_t>(values[i]) & 0x7f800000u) == 0x7f800000u ? 1u : 0u;
    if (bad != 0) return false;
  }
  return true;
}

bool AllFinite(absl::Span<const float> values, ThreadPool* pool) {
  std::atomic<bool> finite{true};
  pool->ParallelFor(static_cast<int64_t>((values.size() + kPieceFloats - 1) / kPieceFloats), [&](int64_t i) {
    if (!AllFinite(values.subspan(i * kPieceFloats, kPieceFloats))) finite.store(false, std::memory_order_relaxed);
  });
  return finite.load(std::memory_order_relaxed);
}

size_t FirstNotFinite(absl::Span<const float> values) {
  return std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); }) - values.begin();
}

std::string SegmentAt(const TableSpec& table, size_t value) {
  for (const Segment& segment : table.segments()) {
    if (value < segment.dim()) return segment.name();
    value -= segment.dim();
  }
  return "value";
}

absl::Status CheckFinite(const CheckedGradients& gradients, const GradientShape& shape, const std::string& sender, ThreadPool* pool) {
  if (!AllFinite(gradients.values, pool)) {
    const size_t at = FirstNotFinite(gradients.values);
    return absl::InvalidArgumentError(absl::StrCat(sender, ": the gradient of ", SegmentAt(*shape.table, at % shape.dim), " of table ",
                                                   shape.table->name(), ", id ", gradients.ids[at / shape.dim], ", is ", gradients.values[at],
                                                   "; nothing of it is kept"));
  }
  if (!AllFinite(gradients.dense, pool)) {
    const size_t at = FirstNotFinite(gradients.dense);
    return absl::InvalidArgumentError(absl::StrCat(sender, ": the gradient of ", shape.dense->NameAt(gradients.dense_slice, at), " is ",
                                                   gradients.dense[at], "; nothing of it is kept"));
  }
  return absl::OkStatus();
}

absl::Status WrongSize(const std::string& sender, absl::string_view what, size_t has, size_t wanted) {
  return absl::InvalidArgumentError(absl::StrCat(sender, ": ", has, " ", what, ", ", wanted, " are wanted"));
}

}  // namespace

std::string NameOf(const PushRequest& request) {
  return absl::StrCat("push ", request.sequence(), " of worker ", request.peer().worker(), " generation ", request.peer().generation(),
                      ", step ", request.optimizer_step());
}

absl::Status CheckWorker(const Peer& peer, const std::string& sender) {
  if (peer.worker() > 0 && peer.generation() > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(sender, ": worker and generation count from 1"));
}

absl::Status CheckShare(const StageRequest& request, const std::string& sender) {
  if (request.decision().assignment().empty()) return absl::OkStatus();
  for (const Assignment& assignment : request.decision().assignment()) {
    if (assignment.share() == request.share() && !assignment.position().end()) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(sender, ": the share has no rows in this step, by the decision of step ",
                                                 request.decision().step()));
}

absl::Status CheckPush(const PushRequest& request, const std::string& sender) {
  TESSERA_RETURN_IF_ERROR(CheckWorker(request.peer(), sender));
  if (request.optimizer_step() == 0) return absl::InvalidArgumentError(absl::StrCat(sender, ": optimizer_step is 0, counts from 1"));
  if (!std::isfinite(request.divisor()) || request.divisor() <= 0) {
    return absl::InvalidArgumentError(absl::StrCat(sender, ": divisor is ", request.divisor(), ", must be above 0"));
  }
  if (!std::isfinite(request.sparse_learning_rate()) || !std::isfinite(request.dense_learning_rate())) {
    return absl::InvalidArgumentError(absl::StrCat(sender, ": learning rates must be finite"));
  }
  return absl::OkStatus();
}

void CheckedGradients::ViewOf(const Gradients& gradients) {
  ids = PackedView<uint64_t>(gradients.ids(), "gradients.ids").value();
  values = PackedView<float>(gradients.values(), "gradients.values").value();
  dense = PackedView<float>(gradients.dense(), "gradients.dense").value();
  dense_slice = gradients.dense_slice();
  counts = PackedView<uint32_t>(gradients.counts(), "gradients.counts").value();
  sighted_ids = PackedView<uint64_t>(gradients.sighted_ids(), "gradients.sighted_ids").value();
  sighted_counts = PackedView<uint32_t>(gradients.sighted_counts(), "gradients.sighted_counts").value();
}

void CheckedGradients::Group() {
  grouped = PartitionedIds(ids);
  sighted = PartitionedIds(sighted_ids);
}

std::vector<RowGradients> RowsOf(absl::Span<const CheckedGradients* const> sources) {
  std::vector<RowGradients> rows;
  for (const CheckedGradients* source : sources) {
    if (source->id_count() > 0) rows.push_back(source->Rows());
  }
  return rows;
}

absl::StatusOr<PartitionedIds> CheckIds(absl::Span<const uint64_t> ids, const GradientShape& shape, const std::string& sender) {
  PartitionedIds grouped(ids);
  for (uint32_t p = 0; p < kPartitions; ++p) {
    if ((p >= shape.first_partition && p < shape.last_partition) || grouped.begin(p) == grouped.begin(p + 1)) continue;
    return absl::InvalidArgumentError(absl::StrCat(sender, ": id ", ids[grouped.position(grouped.begin(p))], " is in partition ", p,
                                                   "; this server holds [", shape.first_partition, ", ", shape.last_partition, ")"));
  }
  return grouped;
}

absl::StatusOr<CheckedGradients> CheckGradients(const Gradients& gradients, const GradientShape& shape, DensePart dense,
                                                const std::string& sender, ThreadPool* pool) {
  CheckedGradients checked;
  TESSERA_ASSIGN_OR_RETURN(checked.ids, PackedView<uint64_t>(gradients.ids(), "gradients.ids"));
  TESSERA_ASSIGN_OR_RETURN(checked.counts, PackedView<uint32_t>(gradients.counts(), "gradients.counts"));
  TESSERA_ASSIGN_OR_RETURN(checked.sighted_ids, PackedView<uint64_t>(gradients.sighted_ids(), "gradients.sighted_ids"));
  TESSERA_ASSIGN_OR_RETURN(checked.sighted_counts, PackedView<uint32_t>(gradients.sighted_counts(), "gradients.sighted_counts"));
  TESSERA_ASSIGN_OR_RETURN(checked.values, PackedView<float>(gradients.values(), "gradients.values"));
  TESSERA_ASSIGN_OR_RETURN(checked.dense, PackedView<float>(gradients.dense(), "gradients.dense"));
  const size_t ids = checked.ids.size();
  if (checked.counts.size() != ids) return WrongSize(sender, "counts", checked.counts.size(), ids);
  const size_t sighted = checked.sighted_ids.size();
  if (checked.sighted_counts.size() != sighted) return WrongSize(sender, "sighted counts", checked.sighted_counts.size(), sighted);
  if (checked.values.size() != ids * shape.dim) return WrongSize(sender, "gradient values", checked.values.size(), ids * shape.dim);
  checked.dense_slice = gradients.dense_slice();
  const bool none = checked.dense.empty() && dense != DensePart::kSlice;
  const bool known = dense != DensePart::kAbsent && checked.dense_slice < shape.dense_slices.size();
  const size_t dense_wanted = known ? shape.dense_slices[checked.dense_slice] : 0;
  if (!none && checked.dense.size() != dense_wanted) return WrongSize(sender, "dense gradient values", checked.dense.size(), dense_wanted);
  TESSERA_ASSIGN_OR_RETURN(checked.grouped, CheckIds(checked.ids, shape, sender));
  TESSERA_ASSIGN_OR_RETURN(checked.sighted, CheckIds(checked.sighted_ids, shape, sender));
  TESSERA_RETURN_IF_ERROR(CheckFinite(checked, shape, sender, pool));
  return checked;
}

absl::StatusOr<CheckedGradients> CheckStage(const StageRequest& request, const GradientShape& shape, const std::string& sender,
                                            ThreadPool* pool) {
  const size_t slices = shape.dense_slices.size();
  if (request.parts() < slices) {
    return absl::InvalidArgumentError(absl::StrCat(sender, ": ", request.parts(), " parts, this server has ", slices, " dense slices"));
  }
  const bool carries_slice = request.part() < slices;
  if (carries_slice && request.gradients().dense_slice() != request.part()) {
    return absl::InvalidArgumentError(absl::StrCat(sender, ": part ", request.part(), " carries dense slice ",
                                                   request.gradients().dense_slice(), "; part k carries slice k"));
  }
  return CheckGradients(request.gradients(), shape, carries_slice ? DensePart::kSlice : DensePart::kAbsent, sender, pool);
}

}  // namespace tessera
