#include "worker/client/parameter_client.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/packed.h"
#include "common/partition.h"
#include "common/retry.h"
#include "common/status_macros.h"
#include "worker/client/dense_layout.h"
#include "worker/client/hints.h"
#include "worker/client/request_parts.h"
#include "worker/client/row_gradients.h"
#include "worker/client/shard_threads.h"

namespace tessera {
namespace {

// The run of a batch's ids that lives on one shard.
RequestPart ShardIds(const Batch& batch, uint32_t shard, uint32_t shards) {
  return {batch.partition_begin[PartitionBegin(shard, shards)], batch.partition_begin[PartitionBegin(shard + 1, shards)]};
}

absl::Status CheckSize(const std::string& bytes, size_t floats, uint32_t shard, const char* what) {
  if (bytes.size() == floats * sizeof(float)) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("server ", shard, " answered a pull with ", bytes.size(), " bytes of ", what, ", not ",
                                          floats * sizeof(float), ": do worker and server run the same version?"));
}

}  // namespace

class ParameterClient::Impl {
 public:
  Impl(const Plan& plan, std::vector<ParameterServerApi*> shards, const Options& options, Clock* clock)
      : row_dim_(RowDim(plan.table())),
        shard_count_(static_cast<uint32_t>(shards.size())),
        layout_(plan.variables(), shard_count_),
        retry_(clock, options.patience, options.stopping),
        hints_(options.hints),
        shards_(shard_count_),
        threads_(shard_count_) {
    for (uint32_t s = 0; s < shard_count_; ++s) {
      shards_[s].api = shards[s];
      Peer& peer = shards_[s].peer;
      peer.set_job(options.job);
      peer.set_incarnation(options.incarnation);
      peer.set_map_version(options.map_version);
      peer.set_shard(s);
      peer.set_shards(shard_count_);
      peer.set_worker(options.worker);
      peer.set_generation(options.generation);
    }
  }

  absl::Status Pull(const Batch& batch, uint64_t step, const Decision* decision, bool evaluation, PulledValues* values) {
    values->rows.resize(batch.unique_ids.size() * row_dim_);
    values->dense.resize(layout_.floats());
    TESSERA_RETURN_IF_ERROR(threads_.ForEach([&](uint32_t s) { return PullShard(s, batch, step, decision, evaluation, values); }));
    values->absent.clear();
    for (const Shard& shard : shards_) values->absent.insert(values->absent.end(), shard.absent.begin(), shard.absent.end());
    return absl::OkStatus();
  }

  absl::Status Stage(const Batch& batch, uint64_t step, const Decision& decision, uint32_t share, absl::Span<const float> rows,
                     absl::Span<const float> dense) {
    assert(rows.size() == batch.unique_ids.size() * row_dim_ && dense.size() == layout_.floats());
    return threads_.ForEach([&](uint32_t s) {
      StageRequest request;
      *request.mutable_peer() = shards_[s].peer;
      request.set_step(step);
      *request.mutable_decision() = decision;
      request.set_share(share);
      const std::vector<RequestPart> parts = GradientParts(batch, s);
      request.set_parts(static_cast<uint32_t>(parts.size()));
      for (uint32_t part = 0; part < parts.size(); ++part) {
        request.set_part(part);
        FillGradients(s, parts[part], part, batch, rows, dense, request.mutable_gradients());
        StageReply reply;
        TESSERA_RETURN_IF_ERROR(retry_.Run([&] { return shards_[s].api->Stage(request, &reply); }));
      }
      return absl::OkStatus();
    });
  }

  absl::Status Push(const Batch& batch, const PushOptions& options, absl::Span<const float> rows, absl::Span<const float> dense,
                    uint64_t* staleness) {
    assert(rows.size() == batch.unique_ids.size() * row_dim_ && dense.size() == layout_.floats());
    TESSERA_RETURN_IF_ERROR(threads_.ForEach([&](uint32_t s) {
      PushRequest request;
      *request.mutable_peer() = shards_[s].peer;
      request.set_optimizer_step(options.optimizer_step);
      request.set_sparse_learning_rate(options.sparse_learning_rate);
      request.set_dense_learning_rate(options.dense_learning_rate);
      request.set_divisor(options.divisor);
      request.set_compensate(options.compensate);
      request.set_read_updates(shards_[s].read_updates);
      *request.mutable_task_done() = options.task_done;
      request.set_period(options.period);
      const std::vector<RequestPart> parts = GradientParts(batch, s);
      for (uint32_t part = 0; part < parts.size(); ++part) {
        request.set_sequence(shards_[s].pushed + 1);
        request.set_last_part(part + 1 == parts.size());
        FillGradients(s, parts[part], part, batch, rows, dense, request.mutable_gradients());
        PushReply reply;
        TESSERA_RETURN_IF_ERROR(retry_.Run([&] { return shards_[s].api->Push(request, &reply); }));
        ++shards_[s].pushed;
        shards_[s].staleness = reply.staleness();
      }
      return absl::OkStatus();
    }));
    *staleness = 0;
    for (const Shard& shard : shards_) *staleness = std::max(*staleness, shard.staleness);
    return absl::OkStatus();
  }

 private:
  // Used by one thread at a time: the one that serves the shard.
  struct Shard {
    ParameterServerApi* api = nullptr;
    Peer peer;
    uint64_t pushed = 0;  // sequence of the last push the server took
    uint64_t read_updates = 0;  // of the last pull
    uint64_t staleness = 0;     // of the last push
    PullReply reply;      // kept for its buffers
    std::vector<uint32_t> absent;  // of the last pull
  };

  absl::Status PullShard(uint32_t s, const Batch& batch, uint64_t step, const Decision* decision, bool evaluation, PulledValues* values) {
    Shard& shard = shards_[s];
    PullRequest request;
    *request.mutable_peer() = shard.peer;
    request.set_step(step);
    if (decision != nullptr) *request.mutable_decision() = *decision;
    request.set_evaluation(evaluation);
    const RequestPart ids = ShardIds(batch, s, shard_count_);
    // The larger of a request's and a reply's bytes for one id; a bit of the reply says whether it is absent.
    const size_t id_bytes = std::max(sizeof(uint64_t), row_dim_ * sizeof(float)) + (batch.rare.empty() ? 0 : 1);
    const std::vector<RequestPart> parts = CutRequest(ids.begin, ids.end, id_bytes, SliceBytes(s));
    shard.absent.clear();
    for (uint32_t k = 0; k < parts.size(); ++k) {
      const RequestPart& part = parts[k];
      request.clear_ids();
      AppendPacked(absl::MakeConstSpan(batch.unique_ids).subspan(part.begin, part.end - part.begin), request.mutable_ids());
      request.set_dense(k < layout_.slices(s));
      request.set_dense_slice(k);
      shard.reply.clear_spilled();
      shard.reply.clear_absent();  // a server called directly fills in what it has to say
      TESSERA_RETURN_IF_ERROR(retry_.Run([&] { return shard.api->Pull(request, &shard.reply); }));
      if (k == 0) shard.read_updates = shard.reply.updates();
      const size_t floats = (part.end - part.begin) * row_dim_;
      TESSERA_RETURN_IF_ERROR(CheckSize(shard.reply.values(), floats, s, "rows"));
      if (floats > 0) std::memcpy(values->rows.data() + part.begin * row_dim_, shard.reply.values().data(), floats * sizeof(float));
      if (!batch.rare.empty()) TESSERA_RETURN_IF_ERROR(TakeAbsent(s, part));
      if (k < layout_.slices(s)) TESSERA_RETURN_IF_ERROR(TakeDense(s, k, values));
      if (hints_ != nullptr) hints_->NoteSpilled(s, shard.reply.spilled());
      if (s == 0) values->step = shard.reply.step();
    }
    return absl::OkStatus();
  }

  absl::Status TakeAbsent(uint32_t s, const RequestPart& part) {
    const std::string& bits = shards_[s].reply.absent();
    const size_t ids = part.end - part.begin;
    if (!bits.empty() && bits.size() != (ids + 7) / 8) {
      return absl::InternalError(absl::StrCat("server ", s, " answered a pull of ", ids, " ids with ", bits.size(),
                                              " bytes of absent ones: do worker and server run the same version?"));
    }
    for (size_t i = 0; i < (bits.empty() ? 0 : ids); ++i) {
      if (static_cast<uint8_t>(bits[i / 8]) >> (i % 8) & 1) shards_[s].absent.push_back(static_cast<uint32_t>(part.begin + i));
    }
    return absl::OkStatus();
  }

  absl::Status TakeDense(uint32_t s, uint32_t slice, PulledValues* values) {
    const PullReply& reply = shards_[s].reply;
    TESSERA_RETURN_IF_ERROR(CheckSize(reply.dense(), layout_.slice_floats(s, slice), s, "dense values"));
    TESSERA_ASSIGN_OR_RETURN(const absl::Span<const float> chunks, PackedView<float>(reply.dense(), "dense"));
    layout_.Scatter(s, slice, chunks, absl::MakeSpan(values->dense));
    return absl::OkStatus();
  }

  std::vector<RequestPart> GradientParts(const Batch& batch, uint32_t s) const {
    const RequestPart ids = ShardIds(batch, s, shard_count_);
    const size_t id_bytes = sizeof(uint64_t) + sizeof(uint32_t) + row_dim_ * sizeof(float);
    return CutRequest(ids.begin, ids.end, id_bytes, SliceBytes(s));
  }

  std::vector<size_t> SliceBytes(uint32_t s) const {
    std::vector<size_t> bytes;
    for (uint32_t slice = 0; slice < layout_.slices(s); ++slice) bytes.push_back(layout_.slice_floats(s, slice) * sizeof(float));
    return bytes;
  }

  void FillGradients(uint32_t s, const RequestPart& part, uint32_t number, const Batch& batch, absl::Span<const float> rows,
                     absl::Span<const float> dense, Gradients* out) const {
    out->Clear();
    out->set_rows(batch.size());
    AppendRowGradients(batch, part, row_dim_, rows, out);
    if (number >= layout_.slices(s)) return;
    out->set_dense_slice(number);
    layout_.Gather(s, number, dense, PackedResize<float>(out->mutable_dense(), layout_.slice_floats(s, number)));
  }

  const size_t row_dim_;
  const uint32_t shard_count_;
  const DenseLayout layout_;
  const Retry retry_;
  Hints* const hints_;
  std::vector<Shard> shards_;
  ShardThreads threads_;  // last: its threads use all of the above
};

ParameterClient::ParameterClient(const Plan& plan, std::vector<ParameterServerApi*> shards, Options options, Clock* clock)
    : impl_(std::make_unique<Impl>(plan, std::move(shards), options, clock)) {}
ParameterClient::~ParameterClient() = default;

absl::Status ParameterClient::Pull(const Batch& batch, uint64_t step, const Decision* decision, bool evaluation, PulledValues* values) {
  return impl_->Pull(batch, step, decision, evaluation, values);
}
absl::Status ParameterClient::Stage(const Batch& batch, uint64_t step, const Decision& decision, uint32_t share,
                                    absl::Span<const float> rows, absl::Span<const float> dense) {
  return impl_->Stage(batch, step, decision, share, rows, dense);
}
absl::Status ParameterClient::Push(const Batch& batch, const PushOptions& options, absl::Span<const float> rows,
                                   absl::Span<const float> dense, uint64_t* staleness) {
  return impl_->Push(batch, options, rows, dense, staleness);
}

}  // namespace tessera
