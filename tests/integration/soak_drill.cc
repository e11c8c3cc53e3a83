#include "tests/integration/soak_drill.h"

#include <algorithm>
#include <cstdio>
#include <memory>

#include "common/clock.h"
#include "common/rpc/parameter_server_client.h"
#include "tests/integration/process_memory.h"
#include "tests/integration/server_process.h"
#include "tests/integration/soak_load.h"

namespace tessera {
namespace {

constexpr double kMiB = 1 << 20;
// Between two lines of a long soak.
constexpr absl::Duration kLineInterval = absl::Minutes(1);

// So many ids that a table of half of them is full and rows leave it within the time; memory holds a tenth of its rows.
SoakOptions SoakOf(const DrillOptions& options, uint64_t seconds) {
  SoakOptions soak;
  soak.folder = options.folder;
  soak.durability = options.durability;
  soak.seed = options.seed;
  soak.workers = options.workers;
  soak.ids = std::clamp<uint64_t>(seconds * 2000, 24000, 600000);
  soak.memory_bytes = soak.ids * 16;
  soak.pushes_per_round = 200;
  return soak;
}

class Soak {
 public:
  Soak(const DrillOptions& options, uint64_t seconds)
      : seed_(options.seed), seconds_(seconds), load_(SoakOf(options, seconds)), server_(options.program, options.folder, options.seed) {}

  int Run() {
    Start();
    OpenReply opened;
    MustBeUp("open", client_->Open(load_.open(), &opened));
    const absl::Time begin = Clock::Real()->Now();
    absl::Time next_line = begin + kLineInterval;
    for (absl::Time now = begin; now < begin + absl::Seconds(seconds_); now = Clock::Real()->Now()) {
      MustBeUp("a round", load_.Round(client_.get()));
      if (now < next_line) continue;
      Report("so far");
      next_line += kLineInterval;
    }
    MustBeUp("a look at the whole", load_.CheckWasWorthIt(client_.get()));
    Report("in all");
    server_.Kill();
    Start();
    MustBeUp("a look after the end", load_.Verify(client_.get()));
    server_.Stop();
    std::printf("soak, seed %llu: all acknowledged pushes are there once, inserted = rows + evicted + refused, what was saved opens\n",
                static_cast<unsigned long long>(seed_));
    return 0;
  }

 private:
  void Start() {
    server_.Start("");
    if (!server_.WaitUntilListening()) Broken("the server was killed by somebody else");
    client_ = MakeParameterServerClient(kWorldShard, server_.address());
  }

  void MustBeUp(absl::string_view what, const absl::Status& status) {
    if (!status.ok()) Broken(absl::StrCat(what, ": ", status.ToString()));
  }

  void Report(const char* when) {
    DescribeServerReply described;
    MustBeUp("describe", client_->DescribeServer(DescribeServerRequest(), &described));
    const TableStatus& table = described.table();
    const SoakFigures figures = load_.figures();
    const ProcessMemory memory = MemoryOf(server_.pid());
    const auto number = [](uint64_t value) { return static_cast<unsigned long long>(value); };
    std::printf("%s: %llu rounds, %llu pushes, %llu pulls, %llu saves; %llu rows, %llu of them in memory; %llu inserted, %llu evicted, %llu refused\n",
                when, number(figures.rounds), number(figures.pushes), number(figures.pulls), number(figures.saves), number(table.rows()),
                number(table.memory_rows()), number(table.inserted()), number(table.evicted()), number(table.refused()));
    std::printf("  pulls beside saves, ms: median %.2f, p99 %.2f, p99.9 %.2f\n", figures.pull_latency.Quantile(0.5),
                figures.pull_latency.Quantile(0.99), figures.pull_latency.Quantile(0.999));
    std::printf("  memory, MiB: resident %.0f, highest %.0f; storage.memory_per_server %.1f\n", static_cast<double>(memory.resident_bytes) / kMiB,
                static_cast<double>(memory.highest_bytes) / kMiB, static_cast<double>(table.memory_bytes_max()) / kMiB);
    std::fflush(stdout);
  }

  const uint64_t seed_;
  const uint64_t seconds_;
  SoakLoad load_;
  ServerProcess server_;
  std::unique_ptr<ParameterServerApi> client_;
};

}  // namespace

int RunSoak(const DrillOptions& options, uint64_t seconds) { return Soak(options, seconds).Run(); }

}  // namespace tessera
