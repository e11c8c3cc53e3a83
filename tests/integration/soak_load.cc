#include "tests/integration/soak_load.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <thread>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/packed.h"
#include "common/partition.h"
#include "common/status_macros.h"

namespace tessera {
namespace {

constexpr uint64_t kLogBytes = 2u << 20;
constexpr size_t kIdsPerLook = 300;

ServerOptions OptionsOf(const std::string& folder, uint32_t shard) {
  ServerOptions options;
  options.job = kWorldJob;
  options.shard = shard;
  options.shards = kWorldShards;
  options.state_directory = folder;
  return options;
}

}  // namespace

SoakLoad::SoakLoad(const SoakOptions& options)
    : options_(options),
      world_(options.durability, /*exact=*/false, options.ids),
      open_(world_.open()),
      ids_(world_.ids()),
      reference_(std::make_unique<Server>(OptionsOf(options.folder + "/reference", kWorldShard), &pool_)),
      other_shard_(std::make_unique<Server>(OptionsOf(options.folder + "/other", 0), &pool_)),
      random_(MixKey(options.seed, 0)) {
  open_.mutable_storage()->mutable_memory_per_server()->set_bytes(options.memory_bytes);
  open_.mutable_storage()->mutable_log_per_server()->set_bytes(kLogBytes);
  open_.mutable_eviction()->set_rows(options.ids);
  // So that both rules find something: about as many of the ids are trained within this as there may be rows.
  open_.mutable_eviction()->set_unused_steps(options.ids / 32);
  for (uint64_t id = ids_.back() + 1; workers_.size() < options.workers; ++id) {
    if (ShardOf(PartitionOf(id), kWorldShards) != kWorldShard) continue;
    const uint32_t number = static_cast<uint32_t>(workers_.size()) + 1;
    workers_.push_back({number, id, RandomSequence(MixKey(options.seed, number)), 0, 0, {}});
    ids_.push_back(id);
  }
  OpenRequest open = open_;
  open.clear_storage();
  OpenReply reply;
  Must("open the reference", reference_->Open(open, &reply));
  open.mutable_peer()->set_shard(0);
  Must("open the other shard", other_shard_->Open(open, &reply));
}

SoakFigures SoakLoad::figures() {
  MutexLock lock(&mutex_);
  return figures_;
}

absl::Status SoakLoad::Round(ParameterServerApi* server) {
  Phase phase(options_.workers * options_.pushes_per_round);
  const uint64_t key = random_.Next();
  std::vector<absl::AnyInvocable<absl::Status()>> parts;
  for (Worker& worker : workers_) parts.emplace_back([&] { return RunWorker(server, &worker, &phase); });
  parts.emplace_back([&] { return RunReader(server, MixKey(key, 1), &phase); });
  parts.emplace_back([&] { return RunReader(server, MixKey(key, 2), &phase); });
  parts.emplace_back([&] { return RunSaver(server, key, &phase); });
  std::vector<absl::Status> results(parts.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < parts.size(); ++i) {
    threads.emplace_back([&, i] {
      results[i] = parts[i]();
      if (!results[i].ok()) phase.Down();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& result : results) TESSERA_RETURN_IF_ERROR(result);
  ApplyToReference();
  TESSERA_RETURN_IF_ERROR(EvictOnBoth(server));
  TESSERA_RETURN_IF_ERROR(Verify(server));
  period_ += random_.Below(4) == 0;
  MutexLock lock(&mutex_);
  ++figures_.rounds;
  return absl::OkStatus();
}

PushRequest SoakLoad::MakePush(Worker* worker) {
  PushRequest push;
  *push.mutable_peer() = world_.MakePeer(worker->number);
  push.set_sequence(worker->sequence + 1);
  push.set_optimizer_step(++step_);
  push.set_sparse_learning_rate(0.05);
  push.set_dense_learning_rate(0.001);
  push.set_divisor(10);
  push.set_period(period_);
  Gradients* const gradients = push.mutable_gradients();
  *gradients = world_.MakeGradients(&worker->random, worker->random.Below(2) == 0, /*sighted=*/true);
  const uint32_t count = 2;  // admitted at once
  const std::vector<float> values(kWorldDim, 1);
  AppendPacked<uint64_t>({&worker->marker, 1}, gradients->mutable_ids());
  AppendPacked<uint32_t>({&count, 1}, gradients->mutable_counts());
  AppendPacked(absl::MakeConstSpan(values), gradients->mutable_values());
  return push;
}

absl::Status SoakLoad::PushOnce(ParameterServerApi* server, Worker* worker) {
  PushRequest push = MakePush(worker);
  PushReply pushed;
  TESSERA_RETURN_IF_ERROR(Send("push", [&] { return server->Push(push, &pushed); }));
  worker->sequence = push.sequence();
  GetRowsRequest look;
  GetRowsReply seen;
  *look.mutable_peer() = world_.MakePeer(worker->number);
  AppendPacked<uint64_t>({&worker->marker, 1}, look.mutable_ids());
  TESSERA_RETURN_IF_ERROR(Send("look at rows", [&] { return server->GetRows(look, &seen); }));
  if (seen.rows_size() != 1 || !seen.rows(0).found()) Broken("an acknowledged push has left no row");
  const StoredRow& row = seen.rows(0);
  if (row.last_step() != push.optimizer_step() || row.lsn() <= worker->lsn) {
    Broken(absl::StrCat("the push of step ", push.optimizer_step(), " was acknowledged after record ", worker->lsn, ", but its row is of step ",
                        row.last_step(), ", record ", row.lsn()));
  }
  worker->lsn = row.lsn();
  MutexLock lock(&mutex_);
  logged_.push_back({row.lsn(), push});
  worker->last = std::move(push);
  ++figures_.pushes;
  return absl::OkStatus();
}

absl::Status SoakLoad::RunWorker(ParameterServerApi* server, Worker* worker, Phase* phase) {
  for (uint64_t i = 0; i < options_.pushes_per_round && !phase->down(); ++i) {
    TESSERA_RETURN_IF_ERROR(PushOnce(server, worker));
    if (worker->random.Below(8) == 0) {
      // Whatever it carries, its number says that it has been applied.
      PushRequest again = worker->last;
      again.set_sequence(1 + worker->random.Below(again.sequence()));
      *again.mutable_gradients() = world_.MakeGradients(&worker->random, true, true);
      PushReply reply;
      TESSERA_RETURN_IF_ERROR(Send("repeated push", [&] { return server->Push(again, &reply); }));
    }
    phase->Acknowledged();
  }
  return absl::OkStatus();
}

absl::Status SoakLoad::RunReader(ParameterServerApi* server, uint64_t key, Phase* phase) {
  RandomSequence random(key);
  Latency latency;
  const auto draw = [&](std::string* bytes) {
    std::vector<uint64_t> ids;
    for (size_t i = 0; i < kIdsPerLook; ++i) ids.push_back(world_.ids()[world_.RandomId(&random)]);
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    AppendPacked(absl::MakeConstSpan(ids), bytes);
    return ids.size();
  };
  do {
    PullRequest pull;
    PullReply pulled;
    *pull.mutable_peer() = world_.MakePeer(options_.workers + 1);
    pull.set_dense(true);
    pull.set_evaluation(random.Below(8) == 0);
    const size_t ids = draw(pull.mutable_ids());
    const absl::Time begin = Clock::Real()->Now();
    TESSERA_RETURN_IF_ERROR(OkOrDown("pull", server->Pull(pull, &pulled)));
    latency.Add(Clock::Real()->Now() - begin);
    const absl::Span<const float> values = PackedView<float>(pulled.values(), "values").value();
    if (values.size() != ids * kWorldDim) Broken("a pull of another size");
    if (!std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); })) Broken("a pulled value is not finite");
    if (random.Below(4) == 0) {
      AheadRequest ahead;
      AheadReply warmed;
      *ahead.mutable_peer() = pull.peer();
      draw(ahead.mutable_ids());
      // Only a hint: on a machine that is busy it may come too late.
      (void)server->Ahead(ahead, &warmed);
    }
    if (random.Below(16) == 0) {
      DescribeServerReply described;
      TESSERA_RETURN_IF_ERROR(OkOrDown("describe", server->DescribeServer(DescribeServerRequest(), &described)));
    }
  } while (!phase->over());
  MutexLock lock(&mutex_);
  figures_.pulls += latency.count();
  figures_.pull_latency.Add(latency);
  return absl::OkStatus();
}

absl::Status SoakLoad::RunSaver(ParameterServerApi* server, uint64_t key, Phase* phase) {
  RandomSequence random(key);
  phase->WaitFor(random.Below(options_.workers * options_.pushes_per_round / 2));
  EvictRequest look;
  EvictReply listed;
  *look.mutable_peer() = world_.MakePeer(0, 0);
  look.mutable_rule()->set_unused_steps(options_.ids / 64);
  look.set_partition(kPartitions / 2 + static_cast<uint32_t>(random.Below(kPartitions / 2)));
  look.set_dry_run(true);
  TESSERA_RETURN_IF_ERROR(OkOrDown("look what would be evicted", server->Evict(look, &listed)));
  SaveReply saved;
  TESSERA_RETURN_IF_ERROR(Save(server, "saved", &saved));
  CheckSaved(saved);
  MutexLock lock(&mutex_);
  ++figures_.saves;
  return absl::OkStatus();
}

absl::Status SoakLoad::Save(ParameterServerApi* server, const std::string& name, SaveReply* reply) const {
  const std::string checkpoint = absl::StrCat(options_.folder, "/", name, ".unfinished");
  std::filesystem::create_directories(checkpoint);
  SaveRequest request;
  *request.mutable_peer() = world_.MakePeer(0, 0);
  request.set_directory(absl::StrCat(checkpoint, "/shard-", kWorldShard, "-of-", kWorldShards));
  return Send("save", [&] { return server->Save(request, reply); });
}

void SoakLoad::CheckSaved(const SaveReply& saved) {
  const std::string checkpoint = options_.folder + "/saved.unfinished";
  // The shards of a checkpoint are of one step.
  PushRequest push;
  PushReply pushed;
  *push.mutable_peer() = world_.MakePeer(1);
  push.mutable_peer()->set_shard(0);
  push.set_sequence(++other_sequence_);
  push.set_optimizer_step(saved.step());
  push.set_sparse_learning_rate(1);
  push.set_dense_learning_rate(1);
  push.set_divisor(1);
  Must("push to the other shard", other_shard_->Push(push, &pushed));
  SaveRequest save;
  SaveReply reply;
  *save.mutable_peer() = push.peer();
  save.set_directory(absl::StrCat(checkpoint, "/shard-0-of-", kWorldShards));
  Must("save the other shard", other_shard_->Save(save, &reply));

  const std::string folder = options_.folder + "/restored";
  Server restored(OptionsOf(folder, kWorldShard), &pool_);
  OpenRequest open = open_;
  OpenReply opened;
  open.set_restore_from(checkpoint);
  Must("open what was saved", restored.Open(open, &opened));
  if (opened.step() != saved.step() || opened.rows() != saved.rows()) {
    Broken(absl::StrCat("what was saved opens with ", opened.rows(), " rows at step ", opened.step(), ", not with ", saved.rows(), " at ", saved.step()));
  }
  Must("save what was opened", Save(&restored, "again", &reply));
  if (reply.content_digest() != saved.content_digest()) Broken("what was saved opens with other values");
  DescribeServerReply described;
  Must("describe what was opened", restored.DescribeServer(DescribeServerRequest(), &described));
  const TableStatus& table = described.table();
  if (table.inserted() != table.rows() + table.evicted() + table.refused()) Broken(absl::StrCat("of what was saved: ", CountsOf(table)));
}

}  // namespace tessera
