#include "worker/client/hints.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/log.h"
#include "common/packed.h"
#include "common/partition.h"
#include "worker/client/request_parts.h"

namespace tessera {

Hints::Hints(std::vector<ParameterServerApi*> shards, const Peer& peer) : shards_(std::move(shards)), spilled_(shards_.size()), peer_(peer) {
  peer_.set_shards(static_cast<uint32_t>(shards_.size()));
  thread_ = std::thread([this] { Send(); });
}

Hints::~Hints() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.Signal();
  }
  thread_.join();
}

void Hints::SetIncarnation(uint64_t incarnation) {
  MutexLock lock(&mutex_);
  peer_.set_incarnation(incarnation);
  next_.clear();
}

void Hints::Offer(const Batch& batch) {
  const uint32_t shards = static_cast<uint32_t>(shards_.size());
  std::vector<AheadRequest> requests;
  for (uint32_t s = 0; s < shards; ++s) {
    if (!spilled_[s].load(std::memory_order_relaxed)) continue;
    const size_t begin = batch.partition_begin[PartitionBegin(s, shards)], end = batch.partition_begin[PartitionBegin(s + 1, shards)];
    if (begin == end) continue;
    for (const RequestPart& part : CutRequest(begin, end, sizeof(uint64_t), {})) {
      requests.emplace_back().mutable_peer()->set_shard(s);
      AppendPacked(absl::MakeConstSpan(batch.unique_ids).subspan(part.begin, part.end - part.begin), requests.back().mutable_ids());
    }
  }
  if (requests.empty()) return;
  MutexLock lock(&mutex_);
  for (AheadRequest& request : requests) {
    const uint32_t shard = request.peer().shard();
    *request.mutable_peer() = peer_;
    request.mutable_peer()->set_shard(shard);
  }
  next_ = std::move(requests);
  changed_.Signal();
}

void Hints::Send() {
  bool complained = false;
  while (true) {
    std::vector<AheadRequest> requests;
    {
      MutexLock lock(&mutex_);
      while (next_.empty() && !stopping_) changed_.Wait(&mutex_);
      if (stopping_) return;
      requests.swap(next_);
    }
    for (const AheadRequest& request : requests) {
      AheadReply reply;
      const absl::Status status = shards_[request.peer().shard()]->Ahead(request, &reply);
      if (status.ok() || complained) continue;
      complained = true;
      LogWarning(absl::StrCat("server ", request.peer().shard(), " takes no hints, rows on its disk are waited for: ", std::string(status.message())));
    }
  }
}

}  // namespace tessera
