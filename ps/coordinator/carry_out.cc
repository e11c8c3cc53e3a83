#include "ps/coordinator/carry_out.h"

#include "absl/strings/str_cat.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "ps/coordinator/incarnation_file.h"

namespace tessera {

absl::StatusOr<OrderResult> CarryOut(const Order& order, const std::string& state_directory, ServerGroup* servers, CheckpointStore* store,
                                     const std::function<bool()>& cancelled) {
  OrderResult result;
  switch (order.kind) {
    case Order::Kind::kOpen:
      TESSERA_RETURN_IF_ERROR(WriteIncarnation(state_directory, order.incarnation));
      TESSERA_RETURN_IF_ERROR(servers->Open(*order.plan, order.incarnation, order.folder, order.sightings, order.server_step,
                                            order.patience, cancelled));
      return result;
    case Order::Kind::kReturn:
      TESSERA_RETURN_IF_ERROR(servers->Return(order.incarnation, order.decision, order.patience, cancelled));
      return result;
    case Order::Kind::kCommit:
      TESSERA_RETURN_IF_ERROR(servers->Commit(order.decision, order.patience, cancelled));
      return result;
    case Order::Kind::kFence: {
      TESSERA_ASSIGN_OR_RETURN(result.fences, servers->Fence(order.worker, order.generation, order.patience, cancelled));
      return result;
    }
    case Order::Kind::kSave: {
      TESSERA_ASSIGN_OR_RETURN(result.folder, store->Begin(order.step, order.incarnation));
      TESSERA_RETURN_IF_ERROR(servers->Save(result.folder, order.server_step, order.patience, cancelled, &result.manifest, &result.saves));
      return result;
    }
    case Order::Kind::kPublish: {
      TESSERA_ASSIGN_OR_RETURN(result.folder, store->Commit(order.folder, order.manifest));
      // Old checkpoints that stay cost room on the disk, not the job.
      const absl::Status pruned = store->Prune(order.keep, {order.manifest.state().best_checkpoint()});
      if (!pruned.ok()) LogWarning(absl::StrCat("old checkpoints were not removed: ", pruned.message()));
      return result;
    }
    case Order::Kind::kRead: {
      TESSERA_ASSIGN_OR_RETURN(CheckpointStore::Entry entry, CheckpointStore::Read(order.folder));
      result.manifest = std::move(entry.manifest);
      return result;
    }
    case Order::Kind::kMark:
      TESSERA_RETURN_IF_ERROR(store->Update(order.folder, order.manifest));
      return result;
  }
  return absl::InternalError("an order of no kind");
}

}  // namespace tessera
