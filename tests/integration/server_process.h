// A real tessera-ps, shard 1 of 2, that is started and killed again and again on one state folder.
#pragma once

#include <sys/types.h>

#include <string>

namespace tessera {

// One owner. The process ends with this object, and with the thread that started it.
class ServerProcess {
 public:
  // Writes its job file and its output into `folder`. The port is picked below those the system gives to connections, from `seed`.
  ServerProcess(std::string program, std::string folder, uint64_t seed);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // `kill_at`: NAME:N of common/fault_point.h, or empty. REQUIRES: it is not running.
  void Start(const std::string& kill_at);
  // True once it takes connections, false if SIGKILL ended it before. Broken by any other end.
  bool WaitUntilListening();
  bool running();
  void Kill();
  // SIGKILL has ended it, or does within half a minute; else Broken.
  void WaitForKilled();
  // SIGTERM, without waiting for what it does.
  void Terminate();
  // SIGTERM: it must end with code 0.
  void Stop();
  const std::string& address() const { return address_; }
  pid_t pid() const { return pid_; }  // 0: not running

 private:
  bool Listening() const;
  [[noreturn]] void BrokenWithOutput(const std::string& what) const;

  const std::string program_;
  const std::string folder_;
  int port_ = 0;
  std::string address_;
  pid_t pid_ = 0;  // 0: not running
  int end_ = 0;    // wait status of the last one
};

}  // namespace tessera
