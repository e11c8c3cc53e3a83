// A file system of its own that can be filled.
#pragma once

#include <sys/mount.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace tessera {

// Takes its room from memory. One owner; what is in it goes with it.
class SmallDisk {
 public:
  // `size` as in "size=64m".
  SmallDisk(const std::string& path, const char* size) : path_(path) {
    std::filesystem::create_directories(path_);
    mounted_ = ::mount("none", path_.c_str(), "tmpfs", 0, size) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  // False where this process may not mount anything.
  bool mounted() const { return mounted_; }
  // Takes all the room there is left but `spare` bytes.
  void Fill(uint64_t spare) {
    std::ofstream file(path_ + "/filler", std::ios::binary);
    const uint64_t room = std::filesystem::space(path_).available;
    file << std::string(room > spare ? room - spare : 0, 'f');
  }
  void MakeRoom() { std::filesystem::remove(path_ + "/filler"); }

 private:
  const std::string path_;
  bool mounted_ = false;
};

}  // namespace tessera
