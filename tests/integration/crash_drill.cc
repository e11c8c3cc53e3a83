#include "tests/integration/crash_drill.h"

#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/random.h"
#include "common/rpc/parameter_server_client.h"
#include "tests/integration/compared_load.h"
#include "tests/integration/server_process.h"
#include "tests/integration/summed_load.h"

namespace tessera {
namespace {

// Acknowledgements within which a fault point must be passed, and between two random ends at most.
constexpr uint64_t kAcksMax = 4000;
constexpr uint64_t kAcksBetweenMax = 500;
constexpr uint64_t kAcksToReplay = 20;

struct Point {
  std::string name;
  uint64_t passes_max;  // the pass that kills is chosen up to this
  uint64_t fired = 0;
  uint64_t missed = 0;  // not passed as often as chosen
  uint64_t never = 0;   // nor even once
};

std::vector<Point> PointsOf(const std::string& mode) {
  std::vector<Point> points = {{"write_back.batch", 20}, {"log.append", 300},  {"db.flush", 3},      {"replay.record", 200}, {"shorten.begin", 3},
                               {"log.appended", 300},    {"db.write", 20},     {"shorten.record", 3}, {"log.replay", 200},    {"shorten.flushed", 3},
                               {"db.compaction", 1},     {"log.drop", 8}};
  if (mode == "sync") {
    points.insert(points.begin() + 1, {"stage.logged", 300});
    points.insert(points.begin() + 4, {"commit.logged", 100});
  } else {
    points.insert(points.begin() + 1, {"push.logged", 300});
    points.insert(points.begin() + 4, {"push.applied", 300});
  }
  return points;
}

std::unique_ptr<Load> MakeLoad(const DrillOptions& options) {
  if (options.mode == "async") return std::make_unique<SummedLoad>(options.durability, options.workers, options.seed);
  return std::make_unique<ComparedLoad>(options.durability, options.mode == "sync", options.seed, options.folder);
}

class Drill {
 public:
  explicit Drill(const DrillOptions& options)
      : options_(options),
        random_(MixKey(options.seed, 77)),
        load_(MakeLoad(options)),
        server_(options.program, options.folder, options.seed),
        points_(PointsOf(options.mode)) {}

  int Run() {
    Open();
    for (uint64_t kill = 0; kill < options_.kills; ++kill) {
      // Every third end comes at any moment; the others at a named place.
      kill % 3 == 0 ? EndAtRandom() : EndAt(&points_[(options_.first_point + next_point_++) % points_.size()]);
    }
    StopInOrder();
    return Report();
  }

 private:
  std::unique_ptr<ParameterServerApi> Client() const { return MakeParameterServerClient(kWorldShard, server_.address()); }

  void Open() {
    server_.Start("");
    if (!server_.WaitUntilListening()) Broken("the server ended before it was opened");
    OpenReply reply;
    if (!OkOrDown("open", Client()->Open(load_->open(), &reply)).ok()) Broken("the server ended while it was opened");
    server_.Kill();  // right after the answer
  }

  // False: the server ended during it.
  bool CatchUpAndVerify(ParameterServerApi* client) {
    if (!load_->CatchUp(client).ok() || !load_->Verify(client).ok()) return false;
    ++verified_;
    return true;
  }

  void EndAtRandom() {
    server_.Start("");
    const bool listens = server_.WaitUntilListening();
    const std::unique_ptr<ParameterServerApi> client = Client();
    if (!listens || !CatchUpAndVerify(client.get())) Broken("the server was killed by somebody else");
    Phase phase(kAcksMax);
    std::thread loader([&] { load_->Run(client.get(), &phase); });
    phase.WaitFor(random_.Below(kAcksBetweenMax));
    if (!server_.running()) Broken("the server was killed by somebody else");
    // Some while they stop in order. The sleep orders nothing: it leaves the moment to chance.
    const bool stopping = random_.Below(4) == 0;
    if (stopping) server_.Terminate();
    Clock::Real()->SleepFor(absl::Microseconds(random_.Below(stopping ? 200000 : 3000)));
    server_.Kill();
    loader.join();
    ++random_ends_;
  }

  // What was not passed so often must be passed once.
  void EndAt(Point* point) {
    if (EndAt(*point, 1 + random_.Below(point->passes_max))) {
      ++point->fired;
      return;
    }
    ++point->missed;
    EndAt(*point, 1) ? ++point->fired : ++point->never;
  }

  bool EndAt(const Point& point, uint64_t pass) {
    server_.Start(absl::StrCat(point.name, ":", pass));
    bool fired = !server_.WaitUntilListening();
    if (!fired) {
      const std::unique_ptr<ParameterServerApi> client = Client();
      fired = !CatchUpAndVerify(client.get());
      if (!fired) {
        // A log has been replayed before anybody is listened to; the next start shall find one.
        Phase phase(absl::StrContains(point.name, "replay") ? kAcksToReplay : kAcksMax);
        load_->Run(client.get(), &phase);
        fired = phase.down();
      }
    }
    fired ? server_.WaitForKilled() : server_.Kill();
    return fired;
  }

  // A stop in order leaves nothing to replay but stages that no decision has named yet.
  void StopInOrder() {
    for (int i = 0; i < 2; ++i) {
      server_.Start("");
      const bool listens = server_.WaitUntilListening();
      const std::unique_ptr<ParameterServerApi> client = Client();
      if (!listens || !CatchUpAndVerify(client.get())) Broken("the server was killed by somebody else");
      DescribeServerReply described;
      if (!OkOrDown("describe", client->DescribeServer(DescribeServerRequest(), &described)).ok()) Broken("the server is down");
      if (i == 1 && options_.mode != "sync" && described.durability().replayed_records() > 0) Broken("a server that was stopped in order replays records");
      server_.Stop();
    }
  }

  int Report() const {
    uint64_t at_points = 0;
    std::string never;
    for (const Point& point : points_) {
      at_points += point.fired;
      if (point.never > 0) absl::StrAppend(&never, " ", point.name);
      std::printf("  %-17s %3llu ends, %llu times not passed as often as chosen\n", point.name.c_str(), static_cast<unsigned long long>(point.fired),
                  static_cast<unsigned long long>(point.missed));
    }
    std::printf("%s, %s, seed %llu: %llu kills at random, %llu at fault points; %llu updates acknowledged, compared %llu times: all there, none twice\n",
                options_.mode.c_str(), Durability_Name(options_.durability).c_str(), static_cast<unsigned long long>(options_.seed),
                static_cast<unsigned long long>(random_ends_), static_cast<unsigned long long>(at_points),
                static_cast<unsigned long long>(load_->acknowledged()), static_cast<unsigned long long>(verified_));
    if (!never.empty()) std::printf("NEVER PASSED:%s\n", never.c_str());
    return never.empty() ? 0 : 1;
  }

  const DrillOptions options_;
  RandomSequence random_;
  const std::unique_ptr<Load> load_;
  ServerProcess server_;
  std::vector<Point> points_;
  uint64_t next_point_ = 0;
  uint64_t verified_ = 0;
  uint64_t random_ends_ = 0;
};

}  // namespace

int RunDrill(const DrillOptions& options) {
  if (options.mode != "async" && options.mode != "ordered" && options.mode != "sync") {
    std::fprintf(stderr, "push_load: --mode is async, ordered, sync, soak or full-disk\n");
    return 2;
  }
  return Drill(options).Run();
}

}  // namespace tessera
