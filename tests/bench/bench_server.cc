// A real tessera-ps on loopback: how long pulls at a steady rate take while pushes make rows dirty, so that write-back, flush and compaction
// never stop, and how much memory it takes.
//
//   bench_server [SECONDS [MEMORY_MIB [ROWS [PULLS [PUSHES]]]]]      of each phase; storage.memory_per_server; of the table; each second
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "common/clock.h"
#include "common/packed.h"
#include "common/partition.h"
#include "common/rpc/parameter_server_client.h"
#include "tests/bench/bench_rows.h"
#include "tests/integration/latency.h"
#include "tests/integration/process_memory.h"
#include "tests/integration/push_world.h"
#include "tests/integration/server_process.h"

namespace tessera {
namespace {

constexpr double kMiB = 1 << 20;
// What README.md of ps/table says comes on top of the budget.
constexpr double kConstantMiB = 250;
constexpr size_t kIdsPerCall = 2048;
// Of a call's ids nine in ten are from a tenth of the table, as in click data.
constexpr uint64_t kOftenPart = 10;
constexpr int kReaders = 2;

class ServerBench {
 public:
  ServerBench(const std::string& program, const std::string& folder, uint64_t memory_bytes, uint64_t rows)
      : world_(Durability::process, /*exact=*/true, 1), memory_bytes_(memory_bytes), server_(program, folder, 1) {
    for (uint64_t row = 0; ids_.size() < rows; ++row) {
      const uint64_t id = BenchId(row);
      if (ShardOf(PartitionOf(id), kWorldShards) == kWorldShard) ids_.push_back(id);
    }
    server_.Start("");
    if (!server_.WaitUntilListening()) Check(absl::InternalError("the server has ended"));
    client_ = MakeParameterServerClient(kWorldShard, server_.address());
    OpenRequest open = world_.open();
    *open.mutable_table() = BenchTable();
    open.mutable_storage()->mutable_memory_per_server()->set_bytes(memory_bytes);
    open.mutable_storage()->mutable_log_per_server()->set_bytes(memory_bytes);
    OpenReply opened;
    Check(client_->Open(open, &opened));
  }

  void Fill() {
    for (size_t begin = 0; begin < ids_.size(); begin += kIdsPerCall) Push(absl::MakeConstSpan(ids_).subspan(begin, kIdsPerCall));
  }

  // Pulls at `pulls_per_s`, each timed from when it should have begun, beside pushes at `pushes_per_s`.
  void Run(const char* what, int seconds, double pulls_per_s, double pushes_per_s) {
    const TableStatus before = Describe().table();
    const absl::Time begin = Clock::Real()->Now();
    const absl::Time end = begin + absl::Seconds(seconds);
    const uint64_t key = ++phases_;
    std::vector<Latency> latencies(kReaders);
    std::vector<std::thread> threads;
    for (int reader = 0; reader < kReaders; ++reader) {
      threads.emplace_back([&, reader] {
        RandomSequence random(MixKey(key, static_cast<uint64_t>(reader)));
        const absl::Duration interval = absl::Seconds(kReaders / pulls_per_s);
        for (absl::Time at = begin + interval * reader / kReaders; at < end; at += interval) {
          const std::vector<uint64_t> ids = Draw(&random);
          WaitFor(at);
          Pull(ids);
          latencies[reader].Add(Clock::Real()->Now() - at);
        }
      });
    }
    uint64_t pushes = 0;
    RandomSequence random(MixKey(key, kReaders));
    for (absl::Time at = begin; pushes_per_s > 0 && at < end; at += absl::Seconds(1 / pushes_per_s)) {
      WaitFor(at);
      if (Clock::Real()->Now() >= end) break;
      Push(Draw(&random));
      ++pushes;
    }
    for (std::thread& thread : threads) thread.join();
    Report(what, seconds, latencies, pushes, before);
  }

 private:
  static TableSpec BenchTable() {
    TableSpec table;
    table.set_name("rows");
    for (const uint32_t dim : {1u, 16u}) {
      Segment* const segment = table.add_segments();
      segment->set_name(absl::StrCat("segment ", dim));
      segment->set_dim(dim);
      segment->mutable_initializer()->set_normal_stddev(0.1f);
      segment->mutable_optimizer()->mutable_adagrad()->set_initial_accumulator(0.1);
    }
    return table;
  }

  static void WaitFor(absl::Time at) {
    const absl::Duration left = at - Clock::Real()->Now();
    if (left > absl::ZeroDuration()) Clock::Real()->SleepFor(left);
  }

  std::vector<uint64_t> Draw(RandomSequence* random) const {
    std::vector<uint64_t> ids;
    for (size_t i = 0; i < kIdsPerCall; ++i) {
      ids.push_back(ids_[random->Below(random->Below(10) > 0 ? ids_.size() / kOftenPart : ids_.size())]);
    }
    std::sort(ids.begin(), ids.end(), [](uint64_t a, uint64_t b) { return std::pair(PartitionOf(a), a) < std::pair(PartitionOf(b), b); });
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
  }

  void Push(absl::Span<const uint64_t> ids) {
    PushRequest push;
    PushReply reply;
    *push.mutable_peer() = world_.MakePeer(1);
    push.set_sequence(++sequence_);
    push.set_optimizer_step(sequence_);
    push.set_sparse_learning_rate(0.01);
    push.set_dense_learning_rate(0.01);
    push.set_divisor(1);
    AppendPacked(ids, push.mutable_gradients()->mutable_ids());
    for (uint32_t& count : PackedResize<uint32_t>(push.mutable_gradients()->mutable_counts(), ids.size())) count = 1;
    for (float& sum : PackedResize<float>(push.mutable_gradients()->mutable_values(), ids.size() * kDim)) sum = 0.01f;
    push.mutable_gradients()->set_rows(1);
    Check(client_->Push(push, &reply));
  }

  void Pull(absl::Span<const uint64_t> ids) const {
    PullRequest pull;
    PullReply reply;
    *pull.mutable_peer() = world_.MakePeer(1);
    AppendPacked(ids, pull.mutable_ids());
    Check(client_->Pull(pull, &reply));
  }

  DescribeServerReply Describe() const {
    DescribeServerReply described;
    Check(client_->DescribeServer(DescribeServerRequest(), &described));
    return described;
  }

  void Report(const char* what, int seconds, const std::vector<Latency>& latencies, uint64_t pushes, const TableStatus& before) {
    Latency all;
    for (const Latency& latency : latencies) all.Add(latency);
    const DescribeServerReply described = Describe();
    const TableStatus& table = described.table();
    const double asked = static_cast<double>(table.hits() + table.misses() - before.hits() - before.misses());
    std::printf("%s, %d s: %llu pulls, %llu pushes; of %.1f M rows %.1f M in memory, %.1f %% of ids pulled not; %.0f rows/s written back\n", what, seconds,
                static_cast<unsigned long long>(all.count()), static_cast<unsigned long long>(pushes), static_cast<double>(table.rows()) / 1e6,
                static_cast<double>(table.memory_rows()) / 1e6, 100 * static_cast<double>(table.misses() - before.misses()) / asked,
                static_cast<double>(table.written_rows() - before.written_rows()) / seconds);
    const double median = all.Quantile(0.5);
    if (quiet_p99_ == 0 && pushes == 0) quiet_p99_ = all.Quantile(0.99);
    std::printf("  pull, ms: median %.2f, p99 %.2f (%.1f times the median), p99.9 %.2f, highest %.2f", median, all.Quantile(0.99),
                all.Quantile(0.99) / median, all.Quantile(0.999), all.Quantile(1));
    // The machine's own share: others may be at work on it.
    if (quiet_p99_ > 0) std::printf("; p99 %.1f times that beside nothing", all.Quantile(0.99) / quiet_p99_);
    std::printf("\n");
    const ProcessMemory memory = MemoryOf(server_.pid());
    const double budget = static_cast<double>(memory_bytes_) / kMiB;
    std::printf("  memory, MiB: resident %.0f, highest %.0f; storage.memory_per_server %.0f, times 1.1 and %.0f more: %.0f\n",
                static_cast<double>(memory.resident_bytes) / kMiB, static_cast<double>(memory.highest_bytes) / kMiB, budget, kConstantMiB,
                1.1 * budget + kConstantMiB);
    std::fflush(stdout);
  }

  const PushWorld world_;
  const uint64_t memory_bytes_;
  std::vector<uint64_t> ids_;
  ServerProcess server_;
  std::unique_ptr<ParameterServerApi> client_;
  uint64_t sequence_ = 0;
  uint64_t phases_ = 0;
  double quiet_p99_ = 0;  // ms, beside no pushes
};

int Main(int argc, char** argv) {
  const auto argument = [&](int i, double otherwise) { return argc > i ? std::atof(argv[i]) : otherwise; };
  const int seconds = static_cast<int>(argument(1, 20));
  const std::string program = std::filesystem::canonical("/proc/self/exe").parent_path() / "tessera-ps";
  const BenchFolder folder(std::filesystem::temp_directory_path());
  ServerBench bench(program, folder / "", static_cast<uint64_t>(argument(2, 256) * kMiB), static_cast<uint64_t>(argument(3, 2000000)));
  bench.Fill();
  bench.Run("while the table settles", seconds, argument(4, 100), argument(5, 30));
  bench.Run("beside nothing", seconds, argument(4, 100), 0);
  bench.Run("beside pushes", seconds, argument(4, 100), argument(5, 30));
  return 0;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::Main(argc, argv); }
