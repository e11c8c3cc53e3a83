#include "tests/integration/replay_time.h"

#include <cstdio>
#include <memory>

#include "common/clock.h"
#include "common/packed.h"
#include "common/rpc/parameter_server_client.h"
#include "tests/integration/push_world.h"
#include "tests/integration/server_process.h"
#include "tests/integration/load.h"

namespace tessera {
namespace {

constexpr uint64_t kReplayIds = 2000000;
constexpr size_t kIdsPerPush = 4096;
constexpr uint32_t kReplayDim = 16;

// Write-back begins at half of the log and a quarter of memory.
OpenRequest OpenFor(const PushWorld& world, uint64_t bytes) {
  OpenRequest open = world.open();
  open.mutable_table()->mutable_segments(0)->set_dim(kReplayDim);
  open.mutable_storage()->mutable_log_per_server()->set_bytes(4 * bytes);
  open.mutable_storage()->mutable_memory_per_server()->set_bytes(uint64_t{4} << 30);
  return open;
}

PushRequest MakePush(const PushWorld& world, uint64_t sequence, RandomSequence* random) {
  PushRequest push;
  *push.mutable_peer() = world.MakePeer(1);
  push.set_sequence(sequence);
  push.set_optimizer_step(sequence);
  push.set_sparse_learning_rate(0.05);
  push.set_dense_learning_rate(0.001);
  push.set_divisor(100);
  Gradients* const gradients = push.mutable_gradients();
  // One from each of as many runs of ids: unique without a look.
  const size_t run = world.ids().size() / kIdsPerPush;
  for (uint64_t& id : PackedResize<uint64_t>(gradients->mutable_ids(), kIdsPerPush)) {
    const size_t k = static_cast<size_t>(&id - reinterpret_cast<uint64_t*>(gradients->mutable_ids()->data()));
    id = world.ids()[k * run + random->Below(run)];
  }
  for (uint32_t& count : PackedResize<uint32_t>(gradients->mutable_counts(), kIdsPerPush)) count = 1;
  for (float& value : PackedResize<float>(gradients->mutable_values(), kIdsPerPush * kReplayDim)) {
    value = UniformFloat(random->Next()) - 0.5f;
  }
  return push;
}

DurabilityStatus DurabilityOf(ParameterServerApi* server) {
  DescribeServerReply described;
  if (!OkOrDown("describe", server->DescribeServer(DescribeServerRequest(), &described)).ok()) Broken("the server is down");
  return described.durability();
}

}  // namespace

int MeasureReplay(const DrillOptions& options, uint64_t bytes) {
  const PushWorld world(options.durability, /*exact=*/true, kReplayIds);
  ServerProcess server(options.program, options.folder, options.seed);
  server.Start("");
  if (!server.WaitUntilListening()) Broken("the server ended by itself");
  std::unique_ptr<ParameterServerApi> client = MakeParameterServerClient(kWorldShard, server.address());
  OpenReply opened;
  if (!OkOrDown("open", client->Open(OpenFor(world, bytes), &opened)).ok()) Broken("the server is down");
  RandomSequence random(options.seed);
  PushReply pushed;
  for (uint64_t sequence = 1; sequence % 64 != 0 || DurabilityOf(client.get()).log_bytes() < bytes; ++sequence) {
    const PushRequest push = MakePush(world, sequence, &random);
    if (!Send("push", [&] { return client->Push(push, &pushed); }).ok()) Broken("the server is down");
  }
  const DurabilityStatus before = DurabilityOf(client.get());
  server.Kill();

  const absl::Time begin = Clock::Real()->Now();
  server.Start("");
  if (!server.WaitUntilListening()) Broken("the server ended by itself");
  client = MakeParameterServerClient(kWorldShard, server.address());
  PullRequest pull;
  PullReply pulled;
  *pull.mutable_peer() = world.MakePeer(1);
  AppendPacked(absl::MakeConstSpan(world.ids()).first(kIdsPerPush), pull.mutable_ids());
  if (!Send("pull", [&] { return client->Pull(pull, &pulled); }).ok()) Broken("the server is down");
  const double seconds = absl::ToDoubleSeconds(Clock::Real()->Now() - begin);
  const DurabilityStatus after = DurabilityOf(client.get());
  std::printf("%.2f GiB of log, records %llu to %llu: %.2f s from exec to the first pull; %llu records of %.2f GiB replayed in %.2f s\n",
              static_cast<double>(before.log_bytes()) / (1 << 30), static_cast<unsigned long long>(before.needed_lsn()),
              static_cast<unsigned long long>(before.lsn()), seconds, static_cast<unsigned long long>(after.replayed_records()),
              static_cast<double>(after.replayed_bytes()) / (1 << 30), after.replay_seconds());
  return 0;
}

}  // namespace tessera
