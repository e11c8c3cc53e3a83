#include "tests/integration/server_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/random.h"
#include "tests/integration/load.h"

namespace tessera {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(2);
constexpr absl::Duration kPatience = absl::Seconds(60);
// Ports below this are not given to outgoing connections, so nobody else takes one while the server is down.
constexpr uint64_t kPortMin = 15000;
constexpr uint64_t kPortMax = 32000;

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

bool Try(int port, int (*call)(int, const sockaddr*, socklen_t)) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(port);
  const int result = call(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  close(fd);
  return result == 0;
}

int FreePort(uint64_t seed) {
  RandomSequence random(MixKey(seed, static_cast<uint64_t>(getpid())));
  for (;;) {
    const int port = static_cast<int>(kPortMin + random.Below(kPortMax - kPortMin));
    if (Try(port, bind)) return port;
  }
}

}  // namespace

ServerProcess::ServerProcess(std::string program, std::string folder, uint64_t seed)
    : program_(std::move(program)), folder_(std::move(folder)), port_(FreePort(seed)), address_(absl::StrCat("127.0.0.1:", port_)) {
  std::ofstream(folder_ + "/job.yaml") << "name: crash\ndata: {format: criteo, train: {files: [none.tsv]}}\n";
}

ServerProcess::~ServerProcess() {
  if (running()) Kill();
}

void ServerProcess::Start(const std::string& kill_at) {
  // Nobody listens on shard 0's port: shard 1 needs no coordinator.
  const std::string servers = absl::StrCat("127.0.0.1:1,", address_);
  const std::string log = folder_ + "/server.log";
  const pid_t pid = fork();
  if (pid < 0) Broken("cannot fork");
  if (pid > 0) {
    pid_ = pid;
    return;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  if (chdir(folder_.c_str()) != 0) _exit(127);
  const char* const arguments[] = {program_.c_str(), "--job",     "job.yaml", "--servers", servers.c_str(), "--shard",
                                   "1",              "--threads", "2",        kill_at.empty() ? nullptr : "--kill-at",
                                   kill_at.c_str(),  nullptr};
  execv(program_.c_str(), const_cast<char* const*>(arguments));
  _exit(127);
}

bool ServerProcess::running() {
  if (pid_ != 0 && waitpid(pid_, &end_, WNOHANG) == pid_) pid_ = 0;
  return pid_ != 0;
}

bool ServerProcess::Listening() const { return Try(port_, connect); }

bool ServerProcess::WaitUntilListening() {
  const absl::Time deadline = Clock::Real()->Now() + kPatience;
  while (running()) {
    if (Listening()) return true;
    if (Clock::Real()->Now() > deadline) BrokenWithOutput("the server does not listen");
    Clock::Real()->SleepFor(kPoll);
  }
  WaitForKilled();
  return false;
}

void ServerProcess::WaitForKilled() {
  const absl::Time deadline = Clock::Real()->Now() + kPatience / 2;
  while (running()) {
    if (Clock::Real()->Now() > deadline) BrokenWithOutput("a call found no server, but it runs");
    Clock::Real()->SleepFor(kPoll);
  }
  if (!WIFSIGNALED(end_) || WTERMSIG(end_) != SIGKILL) BrokenWithOutput(absl::StrCat("the server ended by itself, wait status ", end_));
}

void ServerProcess::Kill() {
  kill(pid_, SIGKILL);
  waitpid(pid_, &end_, 0);
  pid_ = 0;
}

void ServerProcess::Terminate() { kill(pid_, SIGTERM); }

void ServerProcess::Stop() {
  Terminate();
  waitpid(pid_, &end_, 0);
  pid_ = 0;
  if (!WIFEXITED(end_) || WEXITSTATUS(end_) != 0) BrokenWithOutput("the server did not stop in order");
}

void ServerProcess::BrokenWithOutput(const std::string& what) const {
  std::ifstream log(folder_ + "/server.log");
  const std::string text((std::istreambuf_iterator<char>(log)), std::istreambuf_iterator<char>());
  Broken(absl::StrCat(what, "\n--- its output\n", text.substr(text.size() < 3000 ? 0 : text.size() - 3000)));
}

}  // namespace tessera
