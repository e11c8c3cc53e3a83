#include "tests/integration/full_disk.h"

#include <sched.h>
#include <sys/mount.h>

#include <cstdio>
#include <limits>
#include <memory>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/packed.h"
#include "common/rpc/parameter_server_client.h"
#include "tests/integration/latency.h"
#include "tests/integration/server_process.h"
#include "tests/integration/summed_load.h"
#include "tests/unit/ps_table/small_disk.h"

namespace tessera {
namespace {

constexpr uint64_t kAcksOfAPhase = 1500;
constexpr int kPullsWhileFull = 200;
// The server looks again every second; a call that waits for room gives up after twenty.
constexpr absl::Duration kStallPatience = absl::Minutes(2);
constexpr absl::Duration kStallPoll = absl::Milliseconds(50);

// A mount of this process and the server only: it ends with them.
bool IsolateMounts() { return unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0; }

class FullDisk {
 public:
  FullDisk(const DrillOptions& options, SmallDisk* disk)
      : options_(options),
        disk_(disk),
        load_(options.durability, options.workers, options.seed),
        world_(options.durability, /*exact=*/true, 4096),
        server_(options.program, options.folder, options.seed) {}

  int Run() {
    Start();
    OpenReply opened;
    MustBeUp("open", client_->Open(load_.open(), &opened));
    Phase phase(kAcksOfAPhase);
    load_.Run(client_.get(), &phase);
    // Once the log finds no room either, once only the database.
    RunIntoFullDisk(options_.durability == Durability::power ? 20u << 20 : 0);
    KillWhileFull();
    server_.Stop();
    std::printf("full disk, seed %llu: %llu pushes acknowledged, all there, none twice; pulls while it was full, ms: median %.2f, highest %.2f\n",
                static_cast<unsigned long long>(options_.seed), static_cast<unsigned long long>(load_.acknowledged()), pulls_.Quantile(0.5),
                pulls_.Quantile(1));
    return 0;
  }

 private:
  void Start() {
    server_.Start("");
    if (!server_.WaitUntilListening()) Broken("the server was killed by somebody else");
    client_ = MakeParameterServerClient(kWorldShard, server_.address());
  }

  static void MustBeUp(absl::string_view what, const absl::Status& status) {
    if (!status.ok()) Broken(absl::StrCat(what, ": ", status.ToString()));
  }

  std::string Stalled() {
    DescribeServerReply described;
    MustBeUp("describe", client_->DescribeServer(DescribeServerRequest(), &described));
    return described.durability().stalled();
  }

  void WaitUntilStalled() {
    const absl::Time deadline = Clock::Real()->Now() + kStallPatience;
    while (Stalled().empty()) {
      if (Clock::Real()->Now() > deadline) Broken("the disk is full, and the server does not say so");
      Clock::Real()->SleepFor(kStallPoll);
    }
  }

  // Pushes that change nothing, until one is refused: there is some room in the log yet.
  absl::Status PushUntilRefused() {
    PushRequest push;
    PushReply pushed;
    *push.mutable_peer() = world_.MakePeer(options_.workers + 1);
    push.set_optimizer_step(1);
    push.set_divisor(1);
    PackedResize<float>(push.mutable_gradients()->mutable_dense(), world_.dense_floats());
    push.mutable_gradients()->set_rows(1);
    const absl::Time deadline = Clock::Real()->Now() + kStallPatience;
    for (;;) {
      push.set_sequence(sequence_ + 1);
      const absl::Status status = client_->Push(push, &pushed);
      if (!status.ok()) return status;
      ++sequence_;
      if (Clock::Real()->Now() > deadline) Broken("the disk is full, and pushes are acknowledged for minutes");
    }
  }

  void CheckRefusal() {
    const absl::Status status = PushUntilRefused();
    for (const absl::string_view wanted : {"full: ", "make room on ", "goes on by itself", options_.folder.c_str()}) {
      if (absl::IsResourceExhausted(status) && absl::StrContains(status.message(), wanted)) continue;
      Broken(absl::StrCat("a push to a full disk is told ", status.ToString(), ", without '", wanted, "'"));
    }
  }

  void CheckPulls() {
    RandomSequence random(options_.seed);
    for (int i = 0; i < kPullsWhileFull; ++i) {
      PullRequest pull;
      PullReply pulled;
      *pull.mutable_peer() = world_.MakePeer(1);
      const uint64_t id = world_.ids()[world_.RandomId(&random)];
      AppendPacked<uint64_t>({&id, 1}, pull.mutable_ids());
      const absl::Time begin = Clock::Real()->Now();
      MustBeUp("a pull while the disk is full", client_->Pull(pull, &pulled));
      pulls_.Add(Clock::Real()->Now() - begin);
    }
  }

  void RunIntoFullDisk(uint64_t spare) {
    disk_->Fill(spare);
    Phase phase(std::numeric_limits<uint64_t>::max());
    std::thread loader([&] { load_.Run(client_.get(), &phase); });
    WaitUntilStalled();
    CheckPulls();
    CheckRefusal();
    // Of a push that waits for room nothing is there.
    MustBeUp("a look while the disk is full", load_.Verify(client_.get()));
    const uint64_t before = load_.acknowledged();
    disk_->MakeRoom();
    const absl::Time deadline = Clock::Real()->Now() + kStallPatience;
    while (load_.acknowledged() < before + kAcksOfAPhase) {
      if (phase.down()) Broken("the server did not go on");
      if (Clock::Real()->Now() > deadline) Broken("there is room again, and pushes are not acknowledged");
      Clock::Real()->SleepFor(kStallPoll);
    }
    phase.Down();
    loader.join();
    MustBeUp("a look after the disk was full", load_.Verify(client_.get()));
    if (!Stalled().empty()) Broken("the server still says that the disk is full");
  }

  void KillWhileFull() {
    disk_->Fill(0);
    Phase phase(std::numeric_limits<uint64_t>::max());
    std::thread loader([&] { load_.Run(client_.get(), &phase); });
    WaitUntilStalled();
    server_.Kill();
    loader.join();
    disk_->MakeRoom();
    Start();
    MustBeUp("what was on its way", load_.CatchUp(client_.get()));
    MustBeUp("a look after the end", load_.Verify(client_.get()));
    Phase more(kAcksOfAPhase);
    load_.Run(client_.get(), &more);
    MustBeUp("a look at the whole", load_.Verify(client_.get()));
  }

  const DrillOptions options_;
  SmallDisk* const disk_;
  SummedLoad load_;
  const PushWorld world_;  // of pushes that are to be refused
  ServerProcess server_;
  std::unique_ptr<ParameterServerApi> client_;
  uint64_t sequence_ = 0;  // of those pushes
  Latency pulls_;
};

}  // namespace

int RunFullDisk(const DrillOptions& options) {
  const bool isolated = IsolateMounts();
  SmallDisk disk(options.folder + "/runs", "size=192m");
  if (!isolated || !disk.mounted()) {
    std::printf("full disk: this process may not mount a file system of its own, which needs root\n");
    return kMayNotMount;
  }
  return FullDisk(options, &disk).Run();
}

}  // namespace tessera
