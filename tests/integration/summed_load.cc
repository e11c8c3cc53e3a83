#include "tests/integration/summed_load.h"

#include <algorithm>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/packed.h"
#include "common/status_macros.h"

namespace tessera {
namespace {

constexpr uint64_t kSummedIds = 40000;
constexpr size_t kOlderMax = 8;
constexpr size_t kIdsPerPull = 4096;
// A call to a full server waits for room for twenty seconds.
constexpr absl::Duration kComparePatience = absl::Minutes(2);

}  // namespace

SummedLoad::SummedLoad(Durability durability, uint32_t workers, uint64_t seed)
    : world_(durability, /*exact=*/true, kSummedIds),
      comparing_(kComparePatience),
      values_(kSummedIds * kWorldDim),
      dense_(world_.dense_floats()),
      touched_(kSummedIds) {
  for (uint32_t number = 1; number <= workers; ++number) workers_.emplace_back(number, seed);
}

void SummedLoad::MakePush(Worker* worker) {
  worker->push = std::make_unique<PushRequest>();
  *worker->push->mutable_peer() = world_.MakePeer(worker->number);
  worker->push->set_sequence(++worker->sequence);
  worker->push->set_optimizer_step(worker->sequence);
  worker->push->set_sparse_learning_rate(1);
  worker->push->set_dense_learning_rate(1);
  worker->push->set_divisor(1);
  *worker->push->mutable_gradients() = world_.MakeGradients(&worker->random, worker->random.Below(2) == 0, /*sighted=*/false);
}

absl::Status SummedLoad::SendPush(ParameterServerApi* server, Worker* worker) {
  PushReply reply;
  TESSERA_RETURN_IF_ERROR(Send("push", [&] {
    if (!comparing_.EnterShared()) return comparing_.Busy();
    const SharedPass pass(&comparing_);
    const absl::Status status = server->Push(*worker->push, &reply);
    if (status.ok()) Add(*worker->push);
    return status;
  }));
  ++acknowledged_;
  worker->older.push_back(*std::move(worker->push));
  worker->push.reset();
  if (worker->older.size() > kOlderMax) worker->older.pop_front();
  return absl::OkStatus();
}

absl::Status SummedLoad::SendOlder(ParameterServerApi* server, Worker* worker) {
  if (worker->older.empty()) return absl::OkStatus();
  PushRequest again = worker->older[worker->random.Below(worker->older.size())];
  // Whatever it carries, its number says that it has been applied.
  if (worker->random.Below(2) == 0) *again.mutable_gradients() = world_.MakeGradients(&worker->random, true, false);
  PushReply reply;
  return Send("repeated push", [&] { return server->Push(again, &reply); });
}

absl::Status SummedLoad::SendEarly(ParameterServerApi* server, Worker* worker) {
  PushRequest early = *worker->push;
  early.set_sequence(early.sequence() + 1);
  PushReply reply;
  return Send("push before its turn", [&] {
    const absl::Status status = server->Push(early, &reply);
    if (status.ok()) return absl::InternalError("was taken");
    return absl::IsDataLoss(status) ? absl::OkStatus() : status;  // the one between looks as if it was lost
  });
}

void SummedLoad::Add(const PushRequest& push) {
  const absl::Span<const uint64_t> ids = PackedView<uint64_t>(push.gradients().ids(), "ids").value();
  const absl::Span<const float> sums = PackedView<float>(push.gradients().values(), "values").value();
  const absl::Span<const float> dense = PackedView<float>(push.gradients().dense(), "dense").value();
  MutexLock lock(&mutex_);
  for (size_t i = 0; i < ids.size(); ++i) {
    const size_t at = static_cast<size_t>(std::lower_bound(world_.ids().begin(), world_.ids().end(), ids[i]) - world_.ids().begin());
    touched_[at] = true;
    for (size_t k = 0; k < kWorldDim; ++k) values_[at * kWorldDim + k] -= sums[i * kWorldDim + k];
  }
  for (size_t i = 0; i < dense.size(); ++i) dense_[i] -= dense[i];
}

absl::Status SummedLoad::CatchUp(ParameterServerApi* server) {
  for (Worker& worker : workers_) {
    TESSERA_RETURN_IF_ERROR(SendOlder(server, &worker));
    if (worker.push != nullptr) TESSERA_RETURN_IF_ERROR(SendPush(server, &worker));
  }
  return absl::OkStatus();
}

absl::Status SummedLoad::Verify(ParameterServerApi* server) {
  if (!comparing_.EnterExclusive("a comparison")) Broken(comparing_.Busy().ToString());
  const ExclusivePass pass(&comparing_);
  PullRequest request;
  PullReply reply;
  *request.mutable_peer() = world_.MakePeer(1);
  request.set_evaluation(++verified_ % 2 == 0);
  request.set_dense(true);
  MutexLock lock(&mutex_);
  uint64_t wrong = 0;
  std::string first;
  const auto compare = [&](absl::string_view what, uint64_t which, float got, float wanted) {
    if (got != wanted && wrong++ == 0) first = absl::StrCat(what, " ", which, " is ", got, ", the pushes add up to ", wanted);
  };
  for (size_t begin = 0; begin < world_.ids().size(); begin += kIdsPerPull) {
    const absl::Span<const uint64_t> ids = absl::MakeConstSpan(world_.ids()).subspan(begin, kIdsPerPull);
    request.clear_ids();
    AppendPacked(ids, request.mutable_ids());
    TESSERA_RETURN_IF_ERROR(Send("pull", [&] { return server->Pull(request, &reply); }));
    const absl::Span<const float> values = PackedView<float>(reply.values(), "values").value();
    const absl::Span<const float> dense = PackedView<float>(reply.dense(), "dense").value();
    if (values.size() != ids.size() * kWorldDim || dense.size() != dense_.size()) Broken("a pull of another size");
    for (size_t i = 0; i < values.size(); ++i) compare("a value of id", ids[i / kWorldDim], values[i], values_[begin * kWorldDim + i]);
    for (size_t i = 0; i < dense.size(); ++i) compare("dense value", i, dense[i], dense_[i]);
  }
  if (wrong > 0) Broken(absl::StrCat(wrong, " values are wrong: ", first));
  DescribeServerReply described;
  TESSERA_RETURN_IF_ERROR(Send("describe", [&] { return server->DescribeServer(DescribeServerRequest(), &described); }));
  const uint64_t rows = static_cast<uint64_t>(std::count(touched_.begin(), touched_.end(), true));
  if (described.rows() != rows) Broken(absl::StrCat("the server counts ", described.rows(), " rows, ", rows, " were pushed"));
  return absl::OkStatus();
}

void SummedLoad::Run(ParameterServerApi* server, Phase* phase) {
  std::vector<std::thread> threads;
  for (Worker& worker : workers_) {
    threads.emplace_back([this, server, phase, &worker] {
      while (!phase->over()) {
        MakePush(&worker);
        if (worker.random.Below(4) == 0 && !SendOlder(server, &worker).ok()) return phase->Down();
        if (worker.random.Below(20) == 0 && !SendEarly(server, &worker).ok()) return phase->Down();
        if (!SendPush(server, &worker).ok()) return phase->Down();
        phase->Acknowledged();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tessera
