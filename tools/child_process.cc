#include "tools/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tessera {
namespace {

// Between fork and exec only what is safe there: other threads of the parent are gone, and their locks are not.
[[noreturn]] void Become(char* const* arguments, int input, int output, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the parent ended before it could be watched
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  execv(arguments[0], arguments);
  _exit(127);
}

}  // namespace

absl::StatusOr<ChildProcess> ChildProcess::Start(const std::string& name, const std::vector<std::string>& command, const std::string& log) {
  if (access(command[0].c_str(), X_OK) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat(command[0], ": cannot be started; is it built?"));
  }
  const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (input < 0 || output < 0) {
    const absl::Status status = absl::ErrnoToStatus(errno, absl::StrCat(log, ": cannot be written"));
    if (input >= 0) close(input);
    return status;
  }
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) Become(arguments.data(), input, output, parent);
  const int error = errno;
  close(input);
  close(output);
  if (pid < 0) return absl::ErrnoToStatus(error, absl::StrCat(name, ": cannot make a process"));
  return ChildProcess(name, log, pid);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : name_(std::move(other.name_)), log_(std::move(other.log_)), pid_(std::exchange(other.pid_, 0)), ended_(other.ended_) {}

ChildProcess::~ChildProcess() {
  if (pid_ == 0 || !Running()) return;
  Signal(SIGKILL);
  int status;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
}

bool ChildProcess::Running() {
  if (ended_.has_value()) return false;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return true;
  ended_ = status;
  return false;
}

bool ChildProcess::succeeded() const { return WIFEXITED(*ended_) && WEXITSTATUS(*ended_) == 0; }

std::string ChildProcess::HowItEnded() const {
  if (WIFEXITED(*ended_)) return absl::StrCat("exit code ", WEXITSTATUS(*ended_));
  return absl::StrCat("killed by signal ", WTERMSIG(*ended_), " (", strsignal(WTERMSIG(*ended_)), ")");
}

void ChildProcess::Signal(int signal) {
  if (Running()) kill(pid_, signal);
}

std::string LastLines(const std::string& path, int lines) {
  std::ifstream file(path);
  std::deque<std::string> kept;
  for (std::string line; std::getline(file, line);) {
    kept.push_back(line);
    if (static_cast<int>(kept.size()) > lines) kept.pop_front();
  }
  return absl::StrJoin(kept, "\n");
}

}  // namespace tessera
