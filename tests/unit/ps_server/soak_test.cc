// Everything at once, for a while. TESSERA_SOAK_SECONDS makes it longer, TESSERA_SOAK_SEED another one.
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "common/clock.h"
#include "tests/integration/soak_load.h"
#include "tests/unit/ps_server/server_fixture.h"

namespace tessera {
namespace {

constexpr uint64_t kRoundsMin = 12;

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  uint64_t value = otherwise;
  if (text != nullptr && !absl::SimpleAtoi(text, &value)) ADD_FAILURE() << name << " is no number: " << text;
  return value;
}

class SoakTest : public ServerTest {};

TEST_F(SoakTest, PushesPullsEvictionWriteBackAndSavesGoTogether) {
  SoakOptions options;
  options.folder = folder();
  options.ids = 24000;
  options.memory_bytes = 768u << 10;
  options.seed = FromEnvironment("TESSERA_SOAK_SEED", 1);
  const absl::Duration duration = absl::Seconds(FromEnvironment("TESSERA_SOAK_SECONDS", 5));
  SoakLoad load(options);
  ThreadPool pool(2);
  const ServerOptions server_options{.job = kWorldJob, .shard = kWorldShard, .shards = kWorldShards, .state_directory = folder("server")};
  auto server = std::make_unique<Server>(server_options, &pool);
  OpenReply opened;
  ASSERT_TRUE(server->Open(load.open(), &opened).ok());
  const absl::Time begin = Clock::Real()->Now();
  while (load.figures().rounds < kRoundsMin || Clock::Real()->Now() - begin < duration) {
    const absl::Status status = load.Round(server.get());
    ASSERT_TRUE(status.ok()) << status;
  }
  ASSERT_TRUE(load.CheckWasWorthIt(server.get()).ok());
  // Without a word, and again.
  server.reset();
  server = std::make_unique<Server>(server_options, &pool);
  ASSERT_TRUE(server->Recover().ok());
  const absl::Status status = load.Verify(server.get());
  EXPECT_TRUE(status.ok()) << status;
  const SoakFigures figures = load.figures();
  std::printf("seed %d: %d rounds, %d pushes, %d pulls, %d saves\n", static_cast<int>(options.seed), static_cast<int>(figures.rounds),
              static_cast<int>(figures.pushes), static_cast<int>(figures.pulls), static_cast<int>(figures.saves));
}

}  // namespace
}  // namespace tessera
