#include "tools/cluster_lines.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"

namespace tessera {
namespace {

// Ports that are free now, all different because all are held until the last is found.
absl::StatusOr<std::vector<int>> FreePorts(uint32_t count) {
  std::vector<int> sockets, ports;
  absl::Status status;
  for (uint32_t i = 0; i < count && status.ok(); ++i) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (socket >= 0) sockets.push_back(socket);
    if (socket < 0 || bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      status = absl::ErrnoToStatus(errno, "no free port on 127.0.0.1");
    }
    ports.push_back(ntohs(address.sin_port));
  }
  for (int socket : sockets) close(socket);
  if (!status.ok()) return status;
  return ports;
}

absl::StatusOr<std::string> ProgramBesideThis(const char* name) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return absl::ErrnoToStatus(error.value(), "/proc/self/exe: cannot tell where this program is");
  return (self.parent_path() / name).string();
}

}  // namespace

absl::StatusOr<ClusterLines> MakeClusterLines(const JobFlags& flags, uint32_t servers, uint32_t workers) {
  ClusterLines lines;
  TESSERA_ASSIGN_OR_RETURN(const std::vector<int> ports, FreePorts(servers));
  for (int port : ports) lines.addresses.push_back(absl::StrCat("127.0.0.1:", port));
  TESSERA_ASSIGN_OR_RETURN(const std::string server, ProgramBesideThis("tessera-ps"));
  TESSERA_ASSIGN_OR_RETURN(const std::string worker, ProgramBesideThis("tessera-worker"));
  std::error_code error;
  const std::filesystem::path job = std::filesystem::absolute(flags.job, error);  // the lines may be typed anywhere
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat(flags.job, ": cannot tell its absolute path"));
  for (uint32_t shard = 0; shard < servers; ++shard) {
    std::vector<std::string> words = {server, "--job", job.string()};
    for (const std::string& set : flags.sets) words.insert(words.end(), {"--set", set});
    words.insert(words.end(), {"--shard", absl::StrCat(shard), "--servers", absl::StrJoin(lines.addresses, ",")});
    lines.servers.push_back(std::move(words));
  }
  lines.workers.assign(workers, {worker, "--coordinator", lines.addresses[0]});
  return lines;
}

}  // namespace tessera
