// What the coordinator wants done outside itself: calls to all servers, checkpoints on disk. The state machine gives orders, one at a time; whoever
// runs it carries them out and brings the result back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "proto/checkpoint.pb.h"
#include "proto/plan.pb.h"

namespace tessera {

struct Order {
  enum class Kind {
    kOpen,     // makes `incarnation` durable, then opens all servers under it, from `folder` or fresh
    kReturn,   // after a restart: checks that all servers are where they may be after `decision`, and commits it where it has a flag
    kCommit,   // commits `decision` on all servers
    kFence,    // ends the pushes of `worker` and `generation` on all servers, and asks what they have of them
    kSave,     // saves all servers into a new unfinished folder
    kPublish,  // writes the manifest into the unfinished `folder`, makes it current, removes old ones
    kRead,     // reads the manifest of `folder`
    kMark,     // replaces the manifest of `folder` and makes it current
  };
  Kind kind = Kind::kOpen;
  uint64_t number = 0;                  // from 1
  absl::Duration patience;              // for a server that is away
  uint64_t incarnation = 0;
  std::string folder;
  std::optional<uint64_t> server_step;  // open, save: where the servers must be, if that is known
  std::shared_ptr<const Plan> plan;     // open
  std::string sightings;                // open: of all partitions, or empty
  Decision decision;                    // commit; return: absent in async, and before the first step
  uint64_t step = 0;                    // save: of the checkpoint
  uint32_t worker = 0;                  // fence
  uint64_t generation = 0;
  Checkpoint manifest;                  // publish, mark
  uint32_t keep = 1;                    // publish: so many checkpoints stay
};

struct OrderResult {
  std::string folder;   // save: unfinished; publish: final
  Checkpoint manifest;  // save: what the servers say of it; read
  std::vector<FenceReply> fences;  // by shard
  std::vector<SaveReply> saves;    // by shard
};

}  // namespace tessera
