// A stopped server's folder, to be damaged in one place and mended again.
#pragma once

#include <fstream>
#include <functional>
#include <map>

#include "absl/strings/match.h"
#include "common/fault_point.h"
#include "tests/unit/ps_server/pushes.h"

namespace tessera {

namespace fs = std::filesystem;

inline std::string BytesOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}
inline void PutBytes(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes; }

class DamageTest : public ServerTest {
 protected:
  DamageTest() : pool_(1), group_(std::make_unique<ServerGroup>(1, folder("state"))) {
    group_->UseLog(Durability::process, 4u << 20, 0);
    EXPECT_TRUE(group_->Open().ok());
    server_ = &group_->server(0);
  }

  // 300 of the first `world` ids.
  absl::Status Push(uint64_t sequence, uint64_t world = 3000) {
    PushReply reply;
    return server_->Push(MakePush(*group_, 0, group_->MakePeer(0, 1), sequence, group_->RandomShare(0, sequence, 300, world)), &reply);
  }
  // Six pushes on disk, two in the log, and the end of the process. The whole folder is kept in kept_.
  void Train() {
    for (uint64_t sequence = 1; sequence <= 8; ++sequence) {
      ASSERT_TRUE(Push(sequence).ok());
      if (sequence % 3 == 0) {
        ASSERT_TRUE(server_->WriteBackAll().ok());
      }
    }
    End();
  }
  void End() {
    wanted_ = *group_->Pull(0, nullptr, WorldIds());
    group_ = std::make_unique<ServerGroup>(1);  // only makes requests from here on
    for (const auto& entry : fs::recursive_directory_iterator(folder("state"))) {
      if (entry.is_regular_file()) kept_[fs::relative(entry.path(), folder("state"))] = BytesOf(entry.path());
    }
  }
  void Mend() {
    started_.reset();
    fs::remove_all(folder("state"));
    for (const auto& [name, bytes] : kept_) {
      fs::create_directories(fs::path(folder("state/" + name)).parent_path());
      PutBytes(folder("state/" + name), bytes);
    }
  }
  // The names of the files that begin and end so; there is at least one.
  std::vector<std::string> Files(const std::string& begin, const std::string& end = "") const {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : kept_) {
      const std::string file = name.substr(std::string("shard-0-of-1/").size());
      if (file.compare(0, begin.size(), begin) == 0 && file.size() >= end.size() &&
          file.compare(file.size() - end.size(), end.size(), end) == 0) {
        names.push_back("state/" + name);
      }
    }
    EXPECT_FALSE(names.empty()) << begin << "..." << end;
    return names;
  }
  // A server on the folder as it is now.
  absl::Status Start() {
    started_.reset();
    ServerOptions options;
    options.job = "test-job";
    options.state_directory = folder("state");
    started_ = std::make_unique<Server>(options, &pool_);
    server_ = started_.get();
    return started_->Recover();
  }
  absl::StatusOr<std::vector<float>> Pull(const std::vector<uint64_t>& ids) {
    PullReply reply;
    if (absl::Status status = server_->Pull(group_->MakePull(0, 0, nullptr, ids), &reply); !status.ok()) return status;
    const auto values = PackedView<float>(reply.values(), "values").value();
    return std::vector<float>(values.begin(), values.end());
  }
  absl::Status Verify() {
    DescribeServerRequest request;
    request.set_verify(true);
    DescribeServerReply reply;
    return server_->DescribeServer(request, &reply);
  }
  absl::StatusOr<StoredRow> Get(uint64_t id) {
    GetRowsRequest request;
    AppendPacked(absl::MakeConstSpan(&id, 1), request.mutable_ids());
    GetRowsReply reply;
    if (absl::Status status = server_->GetRows(request, &reply); !status.ok()) return status;
    return reply.rows(0);
  }

  ThreadPool pool_;
  std::unique_ptr<ServerGroup> group_;
  std::unique_ptr<Server> started_;
  Server* server_;
  PulledState wanted_;
  std::map<std::string, std::string> kept_;
};

}  // namespace tessera
