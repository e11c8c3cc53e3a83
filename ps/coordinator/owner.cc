// The owner thread: carries out the orders of the state, and lets its time pass.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "ps/coordinator/coordinator_impl.h"
#include "ps/coordinator/incarnation_file.h"

namespace tessera {
namespace {

// How often leases are looked at.
constexpr absl::Duration kTickPeriod = absl::Milliseconds(100);

}  // namespace

absl::Status Coordinator::Impl::Init() {
  if (options_.servers.empty()) return absl::InvalidArgumentError("the coordinator needs at least one parameter server");
  CoordinatorStart start;
  start.job = options_.job;
  start.origins = options_.origins;
  start.addresses = options_.addresses;
  start.checkpoint_directory = store_.directory();
  absl::StatusOr<CheckpointStore::Entry> newest = store_.Newest();
  if (!newest.ok() && !absl::IsNotFound(newest.status())) return newest.status();
  if (newest.ok()) {
    if (newest->manifest.job() != options_.job.name()) {
      return absl::FailedPreconditionError(absl::StrCat(newest->folder, ": a checkpoint of job \"", newest->manifest.job(), "\", not of \"",
                                                        options_.job.name(), "\"; give this job a checkpoint.directory of its own"));
    }
    start.saved = *std::move(newest);
  }
  TESSERA_ASSIGN_OR_RETURN(start.incarnation, ReadIncarnation(options_.state_directory));
  for (const CheckpointStore::Entry& entry : store_.List()) start.incarnation = std::max(start.incarnation, entry.manifest.incarnation());
  const Durability durability = options_.job.storage().durability();
  start.journaled = durability != Durability::checkpoint;
  std::unique_ptr<Journal> journal;
  if (start.journaled) {
    const std::string folder = absl::StrCat(options_.state_directory, "/coordinator");
    TESSERA_ASSIGN_OR_RETURN(journal, Journal::Open(folder, durability == Durability::power, &start.record));
  }
  {
    MutexLock lock(&mutex_);
    journal_ = std::move(journal);
    state_ = std::make_unique<CoordinatorState>(std::move(start), clock_->Now());
  }
  owner_ = std::thread([this] { Run(); });
  return absl::OkStatus();
}

Coordinator::Impl::~Impl() {
  {
    MutexLock lock(&mutex_);
    closing_ = true;
    owner_changed_.SignalAll();
    workers_changed_.SignalAll();
  }
  if (owner_.joinable()) owner_.join();
}

void Coordinator::Impl::Run() {
  while (true) {
    std::optional<Order> order;
    {
      MutexLock lock(&mutex_);
      if (closing_) return;
      state_->Tick(clock_->Now());
      Notify();
      order = state_->TakeOrder();
      if (!order.has_value()) {
        owner_changed_.WaitWithTimeout(&mutex_, kTickPeriod);
        continue;
      }
    }
    const absl::StatusOr<OrderResult> result = CarryOut(*order);
    MutexLock lock(&mutex_);
    if (closing_) return;
    state_->Finish(order->number, result, clock_->Now());
    Notify();
  }
}

bool Coordinator::Impl::IsCancelled(uint64_t order) {
  MutexLock lock(&mutex_);
  return closing_ || !state_->IsWanted(order);
}

absl::StatusOr<OrderResult> Coordinator::Impl::CarryOut(const Order& order) {
  const auto cancelled = [this, &order] { return IsCancelled(order.number); };
  OrderResult result;
  switch (order.kind) {
    case Order::Kind::kOpen:
      TESSERA_RETURN_IF_ERROR(WriteIncarnation(options_.state_directory, order.incarnation));
      TESSERA_RETURN_IF_ERROR(servers_.Open(*order.plan, order.incarnation, order.folder, order.sightings, order.server_step,
                                            order.patience, cancelled));
      return result;
    case Order::Kind::kReturn:
      TESSERA_RETURN_IF_ERROR(servers_.Return(order.incarnation, order.decision, order.patience, cancelled));
      return result;
    case Order::Kind::kCommit:
      TESSERA_RETURN_IF_ERROR(servers_.Commit(order.decision, order.patience, cancelled));
      return result;
    case Order::Kind::kFence: {
      TESSERA_ASSIGN_OR_RETURN(result.fences, servers_.Fence(order.worker, order.generation, order.patience, cancelled));
      return result;
    }
    case Order::Kind::kSave: {
      TESSERA_ASSIGN_OR_RETURN(result.folder, store_.Begin(order.step, order.incarnation));
      TESSERA_RETURN_IF_ERROR(servers_.Save(result.folder, order.server_step, order.patience, cancelled, &result.manifest));
      return result;
    }
    case Order::Kind::kPublish: {
      TESSERA_ASSIGN_OR_RETURN(result.folder, store_.Commit(order.folder, order.manifest));
      // Old checkpoints that stay cost room on the disk, not the job.
      const absl::Status pruned = store_.Prune(order.keep, {order.manifest.state().best_checkpoint()});
      if (!pruned.ok()) LogWarning(absl::StrCat("old checkpoints were not removed: ", pruned.message()));
      return result;
    }
    case Order::Kind::kRead: {
      TESSERA_ASSIGN_OR_RETURN(CheckpointStore::Entry entry, CheckpointStore::Read(order.folder));
      result.manifest = std::move(entry.manifest);
      return result;
    }
    case Order::Kind::kMark:
      TESSERA_RETURN_IF_ERROR(store_.Update(order.folder, order.manifest));
      return result;
  }
  return absl::InternalError("an order of no kind");
}

}  // namespace tessera
