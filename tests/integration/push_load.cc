// The crash test: a tessera-ps under load is killed with -9 again and again and started again; every acknowledged push must be there, none
// twice. Exit code 0: so it was. See test_crash.py.
//
//   push_load [--kills N] [--seed S] [--mode async|ordered|sync] [--durability process|power] [--workers N] [--first-point N]
//   push_load --mode soak --seconds N [--seed S] ...   everything at once for N seconds, then one kill: see test_soak.py
//   push_load --mode full-disk [--seed S] ...          on a small disk that is filled: see test_full_disk.py
//   push_load --measure-replay 1GiB      fills so much log, kills the server, and says how long the next start takes
// All take --folder, an empty folder to work in, and --server, a tessera-ps other than the one beside this program.
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/job/units.h"
#include "tests/integration/crash_drill.h"
#include "tests/integration/full_disk.h"
#include "tests/integration/replay_time.h"
#include "tests/integration/soak_drill.h"

namespace tessera {
namespace {

int Usage(const std::string& what) {
  std::fprintf(stderr, "push_load: %s; see the top of tests/integration/push_load.cc\n", what.c_str());
  return 2;
}

int Main(int argc, char** argv) {
  std::map<std::string, std::string> flags = {{"--kills", "8"},   {"--seed", "1"},        {"--mode", "async"},       {"--durability", "process"},
                                              {"--workers", "3"}, {"--first-point", "0"}, {"--measure-replay", ""}, {"--folder", ""},
                                              {"--seconds", "15"}, {"--server", ""}};
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc || !flags.contains(argv[i])) return Usage(absl::StrCat("what is ", argv[i], "?"));
    flags[argv[i]] = argv[i + 1];
  }
  DrillOptions options;
  uint64_t seconds = 0;
  const std::string beside = std::filesystem::canonical("/proc/self/exe").parent_path() / "tessera-ps";
  options.program = flags["--server"].empty() ? beside : std::filesystem::absolute(flags["--server"]).string();
  options.folder = flags["--folder"];
  if (!absl::SimpleAtoi(flags["--kills"], &options.kills) || !absl::SimpleAtoi(flags["--seed"], &options.seed) ||
      !absl::SimpleAtoi(flags["--workers"], &options.workers) || !absl::SimpleAtoi(flags["--first-point"], &options.first_point) ||
      !absl::SimpleAtoi(flags["--seconds"], &seconds)) {
    return Usage("--kills, --seed, --workers, --first-point, --seconds take numbers");
  }
  if (!Durability_Parse(flags["--durability"], &options.durability)) return Usage("--durability is process or power");
  options.mode = flags["--mode"];
  if (options.folder.empty() || !std::filesystem::is_directory(options.folder)) return Usage("--folder names an empty folder to work in");
  if (options.mode == "soak") return RunSoak(options, seconds);
  if (options.mode == "full-disk") return RunFullDisk(options);
  if (flags["--measure-replay"].empty()) return RunDrill(options);
  const absl::StatusOr<uint64_t> bytes = ParseByteSize(flags["--measure-replay"]);
  return bytes.ok() ? MeasureReplay(options, *bytes) : Usage(std::string(bytes.status().message()));
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::Main(argc, argv); }
