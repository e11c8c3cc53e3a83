// A program started by this one, that does not outlive it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tessera {

// In a process group of its own, so that Ctrl-C on the terminal reaches this process alone, which then decides; killed by the kernel when
// the thread that started it ends, however it ends. Move-only; owned by one thread. Destruction kills it and waits for its end.
class ChildProcess {
 public:
  // `command` begins with the program's path. Output and errors go to the file `log`; there is no input.
  static absl::StatusOr<ChildProcess> Start(const std::string& name, const std::vector<std::string>& command, const std::string& log);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();

  const std::string& name() const { return name_; }
  const std::string& log() const { return log_; }
  // Whether it is still there; does not wait.
  bool Running();
  // How it ended. REQUIRES: Running() returned false.
  bool succeeded() const;
  std::string HowItEnded() const;  // "exit code 1", "killed by signal 9 (Killed)"
  void Signal(int signal);

 private:
  ChildProcess(std::string name, std::string log, pid_t pid) : name_(std::move(name)), log_(std::move(log)), pid_(pid) {}

  std::string name_;
  std::string log_;
  pid_t pid_;                 // 0: moved from
  std::optional<int> ended_;  // as waitpid tells
};

// The last lines of a text file, at most `lines`; empty if it cannot be read.
std::string LastLines(const std::string& path, int lines);

}  // namespace tessera
