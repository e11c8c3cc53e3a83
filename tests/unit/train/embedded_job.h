// Whole jobs in one process: real workers, servers and coordinator over small made-up data.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/job/job_file.h"
#include "common/random.h"
#include "gtest/gtest.h"
#include "ps/coordinator/coordinator.h"
#include "ps/server/server.h"
#include "worker/train/worker.h"

namespace tessera {

// One folder with data and a job file; deleted at the end. Each Run is a run of the same command.
class EmbeddedJob {
 public:
  explicit EmbeddedJob(int rows = 600) {
    static int count = 0;
    folder_ = std::filesystem::path(::testing::TempDir()) / absl::StrCat("embedded-job-", getpid(), "-", ++count);
    std::filesystem::create_directories(folder_);
    WriteRows("train.csv", 0, rows);
    WriteRows("test.csv", 1000000, 200);
  }
  ~EmbeddedJob() { std::filesystem::remove_all(folder_); }

  // Rows whose label depends on two of the columns; row i is a function of `first` + i.
  void WriteRows(const std::string& name, uint64_t first, int rows, const std::string& bad_line = "") {
    std::ofstream out(folder_ / name);
    out << "click,user,item,price\n";
    for (int i = 0; i < rows; ++i) {
      RandomSequence random(first + i);
      const uint64_t user = random.Below(40), item = random.Below(25), price = random.Below(1000);
      out << (user % 3 + item % 4 + random.Below(3) > 4) << ",u" << user << ",i" << item << "," << price << "\n";
    }
    out << bad_line;
  }

  struct Cluster {
    int servers = 1;
    int workers = 1;
    int threads = 1;  // of the pool that all of them share
  };
  struct End {
    Report report;
    std::vector<absl::Status> workers;
  };
  // `stop_after_steps`: the coordinator is interrupted once so many steps are done (0: never).
  End Run(const Cluster& cluster, const std::vector<std::string>& sets, uint64_t stop_after_steps = 0) {
    std::vector<std::string> all = {absl::StrCat("training.workers=", cluster.workers), "training.patience=20s"};
    all.insert(all.end(), sets.begin(), sets.end());
    const absl::StatusOr<JobFile> job = ParseJob(JobText(), folder_ / "job.yaml", all);
    EXPECT_TRUE(job.ok()) << job.status();
    ThreadPool pool(cluster.threads);
    CoordinatorOptions options;
    options.job = job->job;
    options.origins = job->origins;
    options.state_directory = folder_ / "state";
    options.checkpoint_directory = folder_ / "checkpoints";
    std::vector<std::unique_ptr<Server>> servers;
    for (uint32_t s = 0; s < static_cast<uint32_t>(cluster.servers); ++s) {
      servers.push_back(std::make_unique<Server>(
          ServerOptions{job->job.name(), s, static_cast<uint32_t>(cluster.servers), options.state_directory}, &pool));
      options.servers.push_back(servers.back().get());
      options.addresses.push_back(absl::StrCat("shard ", s));
    }
    std::vector<ParameterServerApi*> apis = options.servers;
    std::vector<std::unique_ptr<ParameterServerApi>> wrapped;
    for (ParameterServerApi*& api : apis) {
      if (wrap == nullptr) break;
      wrapped.push_back(wrap(api));
      api = wrapped.back().get();
    }
    Coordinator coordinator(options, Clock::Real());
    EXPECT_TRUE(coordinator.Init().ok());

    End end;
    end.workers.resize(cluster.workers);
    std::vector<std::thread> threads;
    for (int w = 0; w < cluster.workers; ++w) {
      threads.emplace_back([&, w] {
        WorkerOptions worker;
        worker.name = absl::StrCat("worker ", w);
        worker.nonce = 77 + w;
        worker.pool = &pool;
        worker.connect = [&](const std::vector<std::string>&) -> absl::StatusOr<std::vector<ParameterServerApi*>> { return apis; };
        end.workers[w] = RunWorker(&coordinator, worker, Clock::Real());
      });
    }
    while (!coordinator.WaitUntilOver(absl::Milliseconds(2))) {
      if (stop_after_steps == 0) continue;
      EXPECT_TRUE(coordinator.DescribeJob(DescribeJobRequest(), &end.report).ok());
      if (end.report.total_steps() < stop_after_steps) continue;
      EXPECT_TRUE(coordinator.Interrupt("test").ok());
    }
    for (std::thread& thread : threads) thread.join();
    DescribeJobRequest describe;
    describe.set_plan(true);
    EXPECT_TRUE(coordinator.DescribeJob(describe, &end.report).ok());
    return end;
  }

  // What workers see in place of a server.
  std::function<std::unique_ptr<ParameterServerApi>(ParameterServerApi*)> wrap;

  // As if nothing had ever run.
  void Forget() {
    std::filesystem::remove_all(folder_ / "state");
    std::filesystem::remove_all(folder_ / "checkpoints");
  }

  const std::filesystem::path& folder() const { return folder_; }

 private:
  static std::string JobText() {
    return R"(
name: made-up
data:
  format: csv
  train: {files: [train.csv]}
  evaluate: {files: [test.csv], holdout: 0.1}
  labels: [{column: click}]
  block_bytes: 1KiB
features:
  - {match: [price], as: numeric}
  - {match: ["*"], as: categorical}
model: {embedding_dim: 5, hidden: [12, 7], dropout: 0.2}
training: {batch_size: 64, epochs: 3}
)";
  }

  std::filesystem::path folder_;
};

}  // namespace tessera
