// Where a test's servers keep what they keep.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace tessera {

// A fresh folder per test, removed at the end.
class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() / absl::StrCat("tessera_server_", info->name(), "_", ::getpid());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~ServerTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string folder(const std::string& name = "") const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

}  // namespace tessera
