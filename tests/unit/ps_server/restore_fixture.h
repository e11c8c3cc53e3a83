// Servers that save, and servers that open what was saved.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/unit/ps_server/pushes.h"

namespace tessera {

class RestoreTest : public ServerTest {
 protected:
  // Trains `steps` steps of two shares from step `first` on, committing the last.
  static Decision Train(ServerGroup* group, uint64_t first, uint64_t steps, Decision before) {
    for (uint64_t step = first; step < first + steps; ++step) {
      const std::vector<ShareGradients> shares = {group->RandomShare(0, step, 300), group->RandomShare(1, step, 300)};
      for (const ShareGradients& share : shares) {
        const absl::Status status = group->Stage(step, before, share);
        EXPECT_TRUE(status.ok()) << status;
      }
      before = Decide(step, shares);
    }
    EXPECT_TRUE(group->Commit(before).ok());
    return before;
  }
  // A checkpoint of `shards` servers after three steps; d3 and the state are kept.
  void SaveFrom(uint32_t shards) {
    group_ = std::make_unique<ServerGroup>(shards, folder("state"));
    ASSERT_TRUE(group_->Open().ok());
    d3_ = Train(group_.get(), 1, 3, Start());
    const auto files = group_->Save(folder("saved"));
    ASSERT_TRUE(files.ok()) << files.status();
    files_ = *files;
    for (uint32_t s = 0; s < shards; ++s) saved_rows_ += group_->Describe(s).rows();
    state_ = *group_->Pull(4, &d3_, WorldIds());
  }
  absl::Status OpenFrom(uint32_t shards) {
    restored_ = std::make_unique<ServerGroup>(shards);
    return restored_->Open(folder("saved"), 2);
  }
  std::string Shard(const std::string& name) const { return folder("saved/" + name); }

  std::unique_ptr<ServerGroup> group_;
  std::unique_ptr<ServerGroup> restored_;
  Decision d3_;
  std::vector<SavedFile> files_;
  uint64_t saved_rows_ = 0;
  PulledState state_;
};

}  // namespace tessera
