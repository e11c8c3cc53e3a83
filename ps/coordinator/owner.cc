// The owner thread: carries out the orders of the state, and lets its time pass.
#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "ps/coordinator/carry_out.h"
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
  start.generation_gap = options_.generation_gap.has_value() ? *options_.generation_gap : std::random_device()();
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
    const auto cancelled = [this, &order] { return IsCancelled(order->number); };
    const absl::StatusOr<OrderResult> result = CarryOut(*order, options_.state_directory, &servers_, &store_, cancelled);
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

}  // namespace tessera
