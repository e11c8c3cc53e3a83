// What the tests of plans share: jobs as text, files of their own, and the data sets of the project.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/job/job_file.h"
#include "gtest/gtest.h"
#include "worker/plan/plan.h"

namespace tessera {

class PlanFixture : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(testing::TempDir()) / absl::StrCat("plan_", info->test_suite_name(), "_", info->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Writes a file of the test's own folder and returns its path.
  std::string Write(const std::string& name, const std::string& content) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  // The job of a YAML text that stands in the test's folder as job.yaml.
  JobFile Load(const std::string& yaml) {
    auto job = ParseJob(yaml, (folder_ / "job.yaml").string(), {});
    EXPECT_TRUE(job.ok()) << job.status();
    return job.ok() ? *std::move(job) : JobFile();
  }

  Plan PlanOf(const std::string& yaml) {
    const JobFile file = Load(yaml);
    auto plan = MakePlan(file.job, file.origins);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan.ok() ? *std::move(plan) : Plan();
  }

  // The error of a job that cannot be planned, without the test's folder.
  std::string ErrorOf(const std::string& yaml) {
    const JobFile file = Load(yaml);
    const auto plan = MakePlan(file.job, file.origins);
    EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument) << plan.status();
    std::string text(plan.status().message());
    const std::string folder = folder_.string() + "/";
    for (size_t at = text.find(folder); at != std::string::npos; at = text.find(folder)) text.erase(at, folder.size());
    return text;
  }

  static std::string ProjectData(const std::string& name) { return absl::StrCat(TESSERA_SOURCE_DIR, "/tests/data/", name); }

  std::filesystem::path folder_;
};

inline const Column* FindColumn(const Plan& plan, const std::string& name) {
  for (const Column& column : plan.schema().columns()) {
    if (column.name() == name) return &column;
  }
  return nullptr;
}

inline const Origin* FindOrigin(const Plan& plan, const std::string& key) {
  for (const Origin& origin : plan.origins()) {
    if (origin.key() == key) return &origin;
  }
  return nullptr;
}

}  // namespace tessera

// Skips a test whose file is not there; with CI=true that is a failure.
#define TESSERA_NEEDS_FILE(path)                                                                        \
  do {                                                                                                  \
    if (!std::filesystem::exists(path)) {                                                               \
      const char* ci = std::getenv("CI");                                                               \
      ASSERT_FALSE(ci != nullptr && std::string(ci) == "true") << (path) << " is absent";                \
      GTEST_SKIP() << (path) << " is absent: set TESSERA_DATA_DIR to the folder of further labelled data"; \
    }                                                                                                   \
  } while (false)
