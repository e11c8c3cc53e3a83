#include "tools/standard_input.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tools/temporary_folder.h"

namespace tessera {
namespace {

constexpr char kDescriptors[] = "/proc/self/fd/";

absl::Status WriteAll(int descriptor, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t written = write(descriptor, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return absl::ErrnoToStatus(errno, "standard input: cannot be kept in a temporary file (TMPDIR names where)");
    data += written;
    size -= static_cast<size_t>(written);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> SpoolStandardInput() {
  TESSERA_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Create());
  const std::string path = folder.path() + "/stdin";
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot be made"));
  std::vector<char> buffer(1 << 20);
  while (true) {
    const ssize_t got = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::ErrnoToStatus(errno, "standard input: cannot be read");
    if (got == 0) break;
    TESSERA_RETURN_IF_ERROR(WriteAll(descriptor, buffer.data(), static_cast<size_t>(got)));
  }
  // The descriptor stays open on purpose: it is what keeps the file, whose folder goes now.
  return absl::StrCat(kDescriptors, descriptor);
}

absl::Status NameStandardInput(const absl::Status& status) {
  std::string message(status.message());
  for (size_t at = message.find(kDescriptors); at != std::string::npos; at = message.find(kDescriptors, at)) {
    const size_t end = std::min(message.find_first_not_of("0123456789", at + sizeof kDescriptors - 1), message.size());
    message.replace(at, end - at, "standard input");
  }
  absl::Status renamed(status.code(), message);
  status.ForEachPayload([&renamed](absl::string_view url, const absl::Cord& payload) { renamed.SetPayload(url, payload); });
  return renamed;
}

}  // namespace tessera
