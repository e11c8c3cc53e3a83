// The small job that the loads train: a table and two variables, of which shard 1 of 2 is looked at.
#pragma once

#include <cstdint>
#include <vector>

#include "common/random.h"
#include "proto/parameter_server.pb.h"

namespace tessera {

inline constexpr uint32_t kWorldShard = 1;
inline constexpr uint32_t kWorldShards = 2;
inline constexpr uint32_t kWorldDim = 8;
inline constexpr char kWorldJob[] = "crash";

// Constant once made.
class PushWorld {
 public:
  // `exact`: SGD from zeros, so that whole gradients with a rate of 1 give whole values in any order. Else Adagrad and Adam from random
  // values, admission and eviction: the order of updates and all that is kept beside the values matters.
  PushWorld(Durability durability, bool exact, uint64_t id_count);

  const OpenRequest& open() const { return open_; }
  const std::vector<uint64_t>& ids() const { return ids_; }
  size_t dense_floats() const { return dense_floats_; }
  Peer MakePeer(uint32_t worker, uint64_t generation = 1) const;
  // Of random ids, half of them from a few that come often. Whole values from -3 to 3.
  Gradients MakeGradients(RandomSequence* random, bool dense, bool sighted) const;
  // An index into ids().
  size_t RandomId(RandomSequence* random) const;

 private:
  OpenRequest open_;
  std::vector<uint64_t> ids_;
  size_t dense_floats_ = 0;
};

}  // namespace tessera
