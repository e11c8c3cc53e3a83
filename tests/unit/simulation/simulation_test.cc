// Whole jobs under every trouble a seed can think of. A run is a function of its seed: TESSERA_SIMULATION_SEED=N runs that one alone, and a failure
// shows what happened.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "gtest/gtest.h"
#include "tests/unit/simulation/simulated_worker.h"

namespace tessera {
namespace {

// In each mode, unless TESSERA_SIMULATION_SEEDS says otherwise.
#ifdef TESSERA_SANITIZED
constexpr uint64_t kSeeds = 30;
#else
constexpr uint64_t kSeeds = 700;
#endif
constexpr uint64_t kBlocks = 14;
constexpr uint32_t kEpochs = 3;
constexpr uint64_t kBound = 2;
constexpr absl::Duration kTrouble = absl::Seconds(60);   // then all is calm
constexpr absl::Duration kLongest = absl::Minutes(20);   // by then the job is over

SimulatedData MakeData(Mode mode) {
  SimulatedData data;
  data.share_rows = {11, 10, 9, 0, 7};
  Job* job = data.plan.mutable_job();
  job->set_name("simulated");
  job->set_seed(7);
  Training* training = job->mutable_training();
  training->set_mode(mode);
  training->set_workers(2);
  training->set_shares(5);
  training->set_batch_size(10);
  training->set_epochs(kEpochs);
  training->set_staleness(kBound);
  training->mutable_patience()->set_ms(120000);
  job->mutable_optimizers()->mutable_sparse()->mutable_adagrad()->set_learning_rate(0.1);
  job->mutable_optimizers()->mutable_dense()->mutable_sgd()->set_learning_rate(0.1);
  job->mutable_evaluation()->mutable_every()->set_epochs(1);
  job->mutable_evaluation()->set_monitor(auc);
  job->mutable_checkpoint()->mutable_every()->set_steps(7);
  job->mutable_checkpoint()->set_keep(2);
  job->mutable_data()->mutable_block_bytes()->set_bytes(100);
  job->mutable_data()->mutable_evaluate()->set_holdout(0.1);
  job->mutable_storage()->set_durability(Durability::process);
  job->mutable_storage()->mutable_log_per_server()->set_bytes(1 << 20);
  InputFile* file = data.plan.add_train();
  file->set_path("rows.csv");
  file->set_plain_bytes(100 * kBlocks);
  data.plan.set_rows(mode == sync ? 37 : kBlocks * data.rows_per_block);
  Segment* segment = data.plan.mutable_table()->add_segments();
  segment->set_name("weight");
  segment->set_dim(1);
  segment->mutable_initializer()->set_normal_stddev(0);
  if (mode == sync) {
    segment->mutable_optimizer()->mutable_adagrad();
  } else {
    segment->mutable_optimizer()->mutable_sgd();  // at rate 1 a row's value is how often it was trained
  }
  return data;
}

// One job in one world.
class Simulation {
 public:
  Simulation(Mode mode, uint64_t seed, bool trouble)
      : mode_(mode), trouble_(trouble), data_(MakeData(mode)), world_(seed), pool_(1) {
    static std::atomic<uint64_t> count{0};
    const std::filesystem::path memory = "/dev/shm";
    folder_ = (std::filesystem::exists(memory) ? memory : std::filesystem::temp_directory_path()) /
              absl::StrCat("tessera_simulation_", getpid(), "_", ++count);
    std::filesystem::remove_all(folder_);
    const uint32_t shards = trouble ? 1 + static_cast<uint32_t>(world_.Below(3)) : 2;
    for (uint32_t shard = 0; shard < shards; ++shard) {
      const std::string disk = (folder_ / absl::StrCat("server-", shard)).string();
      std::filesystem::create_directories(disk);
      servers_.push_back(std::make_unique<SimulatedServer>(&world_, shard, shards, disk, &pool_));
    }
    coordinator_ = std::make_unique<SimulatedCoordinator>(&world_, data_.plan.job(), &servers_, folder_.string());
    if (!trouble) world_.Calm();
  }
  ~Simulation() {
    workers_.clear();
    coordinator_.reset();
    servers_.clear();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  void Run() {
    coordinator_->Start();
    const uint64_t workers = trouble_ ? 2 + world_.Below(3) : 2;
    for (uint64_t i = 0; i < workers; ++i) AddWorker(world_.Within(absl::Seconds(2)));
    if (trouble_) PlanTrouble();
    const absl::Time end = world_.Now() + kLongest;
    while (world_.violation().empty() && world_.Now() < end && !AllOver()) {
      if (!world_.RunNext()) break;
    }
    if (!world_.violation().empty()) return;
    if (!AllOver()) return world_.Violate("the job is not over in time");
    Check();
  }

  World& world() { return world_; }
  const Report& report() const { return report_; }

 private:
  void AddWorker(absl::Duration after) {
    workers_.push_back(std::make_unique<SimulatedWorker>(&world_, coordinator_.get(), &servers_, &data_, workers_.size() + 1));
    world_.At(after, [worker = workers_.back().get()] { worker->Start(); });
  }
  bool AllOver() const {
    if (!coordinator_->over()) return false;
    for (const auto& worker : workers_) {
      if (!worker->over()) return false;
    }
    return true;
  }

  void PlanTrouble() {
    const uint64_t troubles = world_.Below(9);
    // A job on a fast network is over soon.
    const absl::Duration when = kTrouble / (1 << (2 * world_.Below(3)));
    for (uint64_t i = 0; i < troubles; ++i) world_.At(world_.Within(when), [this] { Trouble(); });
    world_.At(kTrouble, [this] { world_.Calm(); });
  }
  void Trouble() {
    if (coordinator_->over()) return;
    SimulatedWorker* const worker = workers_[world_.Below(workers_.size())].get();
    const uint32_t shard = static_cast<uint32_t>(world_.Below(servers_.size()));
    // Short, or about a lease, or longer.
    absl::Duration away = world_.Within(absl::Seconds(8));
    if (world_.Chance(20)) away += absl::Milliseconds(kLeaseMs);
    if (world_.Chance(15)) away = world_.Within(absl::Seconds(60));
    switch (world_.Below(9)) {
      case 0:
        if (worker->over() || ++killed_ > 2) return;  // three deaths may end a job rightly
        world_.Chance(50) ? worker->Kill() : worker->KillInPush();
        return AddWorker(away);
      case 1:
        if (worker->over()) return;
        ++left_;
        worker->Leave();
        return AddWorker(away);
      case 2:
        ++stalled_;
        return worker->Stall(away);
      case 3: return KillServer(shard, away);
      case 4:
        for (uint32_t each = 0; each < servers_.size(); ++each) KillServer(each, away);
        return;
      case 5:
        world_.Trace(absl::StrCat("server ", shard, " stands still"));
        servers_[shard]->process.stalled_until = world_.Now() + away;
        if (shard == 0) coordinator_->process.stalled_until = world_.Now() + away;
        return;
      case 6: return AddWorker(away);
      case 7:
        servers_[shard]->KeepDisk();
        return world_.At(world_.Within(absl::Seconds(10)), [this, shard, away] {
          KillServer(shard, away);
          disks_lost_ += servers_[shard]->LoseDisk();
        });
      default:
        coordinator_->Crash();
        return world_.At(away, [this] { coordinator_->Restart(); });
    }
  }
  // The coordinator lives in server 0.
  void KillServer(uint32_t shard, absl::Duration away) {
    if (coordinator_->over()) return;
    servers_[shard]->Crash();
    if (shard == 0) coordinator_->Crash();
    world_.At(away, [this, shard] {
      servers_[shard]->Restart();
      if (shard == 0) coordinator_->Restart();
    });
  }

  void Check() {
    report_ = coordinator_->report();
    for (const std::string& event : report_.events()) world_.Trace(absl::StrCat("  reported: ", event));
    // Lost again before a step was made: no further attempt is.
    if (disks_lost_ > 1 && report_.state() == "failed" && absl::StrContains(report_.message(), "state lost")) return;
    if (report_.state() != "finished") return world_.Violate(absl::StrCat("the job ", report_.state(), ": ", report_.message()));
    const uint64_t rows = mode_ == sync ? 37 : kBlocks * data_.rows_per_block;
    if (report_.total_rows() != kEpochs * rows) world_.Violate(absl::StrCat(report_.total_rows(), " rows were counted, not ", kEpochs * rows));
    for (const std::string& event : report_.events()) {
      const bool back = absl::StrContains(event, "all went back") || absl::StrContains(event, "the job began again");
      if (back && disks_lost_ == 0) world_.Violate("all went back, but no server had lost anything");
    }
    // While all go back nothing is written down: after a restart one that left is waited for until its lease ends.
    const uint32_t may_be_lost = static_cast<uint32_t>(std::min(killed_, 2) + stalled_ + (disks_lost_ > 0 ? left_ : 0));
    // A join that arrives late makes a member that nobody is.
    if (world_.sound() && report_.workers_lost() > may_be_lost) {
      world_.Violate(absl::StrCat(report_.workers_lost(), " workers were given up, but only ", may_be_lost, " died or stood still"));
    }
    if (report_.step_gap_max() > kBound) world_.Violate(absl::StrCat("a worker was ", report_.step_gap_max(), " steps ahead"));
    if (mode_ != sync) CheckRows(rows);
  }
  // async, bounded: every row in every epoch, and those that were trained twice are no more than were counted. Looks into the last checkpoint.
  void CheckRows(uint64_t rows) {
    Server server({"simulated", 0, 1, (folder_ / "check").string()}, &pool_);
    OpenRequest open;
    open.mutable_peer()->set_job("simulated");
    open.mutable_peer()->set_incarnation(1);
    open.mutable_peer()->set_shards(1);
    *open.mutable_table() = data_.plan.table();
    open.set_seed(data_.plan.job().seed());
    open.set_restore_from(report_.checkpoint());
    OpenReply opened;
    const absl::Status status = server.Open(open, &opened);
    if (!status.ok()) return world_.Violate(absl::StrCat("the last checkpoint cannot be read: ", status.message()));
    GetRowsRequest request;
    for (uint64_t row = 0; row < rows; ++row) {
      const uint64_t id = RowId(1, row);
      AppendPacked<uint64_t>({&id, 1}, request.mutable_ids());
    }
    GetRowsReply reply;
    if (!server.GetRows(request, &reply).ok()) return world_.Violate("its rows cannot be read");
    uint64_t times = 0;
    for (uint64_t row = 0; row < rows; ++row) {
      const float value = reply.rows(static_cast<int>(row)).found() ? reply.rows(static_cast<int>(row)).values(0) : 0;
      if (value < kEpochs || value != std::floor(value)) return world_.Violate(absl::StrCat("row ", row, " was trained ", value, " times"));
      times += static_cast<uint64_t>(value);
    }
    const uint64_t more = times - kEpochs * rows;
    if (more > report_.rows_twice()) world_.Violate(absl::StrCat(more, " rows were trained twice, ", report_.rows_twice(), " were counted"));
  }

  const Mode mode_;
  const bool trouble_;
  const SimulatedData data_;
  World world_;
  ThreadPool pool_;
  std::filesystem::path folder_;
  std::vector<std::unique_ptr<SimulatedServer>> servers_;
  std::unique_ptr<SimulatedCoordinator> coordinator_;
  std::vector<std::unique_ptr<SimulatedWorker>> workers_;
  int killed_ = 0;
  int stalled_ = 0;
  int left_ = 0;
  int disks_lost_ = 0;
  Report report_;
};

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  uint64_t value = otherwise;
  if (text != nullptr && !absl::SimpleAtoi(text, &value)) ADD_FAILURE() << name << " is no number";
  return value;
}

class SimulationTest : public ::testing::TestWithParam<Mode> {};
INSTANTIATE_TEST_SUITE_P(Modes, SimulationTest, ::testing::Values(sync, async, bounded), [](const auto& info) { return Mode_Name(info.param); });

TEST_P(SimulationTest, KeepsWhatTheProtocolPromises) {
  Simulation steady(GetParam(), 1, /*trouble=*/false);
  steady.Run();
  ASSERT_EQ(steady.world().violation(), "") << steady.world().trace();
  const std::string digest = steady.report().content_digest();
  const uint64_t only = FromEnvironment("TESSERA_SIMULATION_SEED", 0);
  const uint64_t first = only > 0 ? only : FromEnvironment("TESSERA_SIMULATION_FIRST", 1);
  const uint64_t seeds = only > 0 ? 1 : FromEnvironment("TESSERA_SIMULATION_SEEDS", kSeeds);
  std::atomic<uint64_t> next{first};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  const auto run = [&] {
    while (!failed) {
      const uint64_t seed = next++;
      if (seed >= first + seeds) return;
      Simulation simulation(GetParam(), seed, /*trouble=*/true);
      simulation.Run();
      if (simulation.world().violation().empty() && GetParam() == sync && simulation.report().state() == "finished" && simulation.report().content_digest() != digest) {
        simulation.world().Violate("the result has other bits than without trouble");
      }
      if (simulation.world().violation().empty()) continue;
      const std::lock_guard<std::mutex> lock(mutex);
      failed = true;
      ADD_FAILURE() << "TESSERA_SIMULATION_SEED=" << seed << ": " << simulation.world().violation() << "\n" << simulation.world().trace();
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < std::max(1u, std::thread::hardware_concurrency()); ++i) threads.emplace_back(run);
  run();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tessera
