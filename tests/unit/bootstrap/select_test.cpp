#include "bootstrap/select.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

namespace weft::bootstrap {
namespace {

constexpr const char* kVariables[] = {"WEFT_BOOTSTRAP",
                                      "WEFT_JOB",
                                      "WEFT_RANK",
                                      "WEFT_SIZE",
                                      "PMI_RANK",
                                      "PMI_FD",
                                      "PMIX_RANK",
                                      "PMIX_NAMESPACE",
                                      "SLURM_PROCID",
                                      "SLURM_NTASKS",
                                      "SLURM_STEP_NUM_TASKS",
                                      "OMPI_COMM_WORLD_RANK",
                                      "OMPI_COMM_WORLD_SIZE"};

class SelectBootstrap : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : kVariables) {
      if (const char* value = std::getenv(name)) before_[name] = value;
      ::unsetenv(name);
    }
  }
  void TearDown() override {
    for (const char* name : kVariables) ::unsetenv(name);
    for (const auto& [name, value] : before_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  static void set(const char* name, const char* value) { ::setenv(name, value, 1); }
  static std::string error() {
    try {
      select_bootstrap(base::Attributes::load({}, nullptr));
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

 private:
  std::map<std::string, std::string> before_;
};

TEST_F(SelectBootstrap, without_a_launcher_the_program_is_rank_0_of_1) {
  const auto bootstrap = select_bootstrap(base::Attributes::load({}, nullptr));
  EXPECT_EQ(bootstrap->rank(), 0);
  EXPECT_EQ(bootstrap->size(), 1);
}

TEST_F(SelectBootstrap, variables_of_another_launcher_are_named_with_what_to_do) {
  for (const char* name : {"PMI_RANK", "PMI_FD", "PMIX_RANK", "PMIX_NAMESPACE", "OMPI_COMM_WORLD_RANK"}) {
    set(name, "1");
    EXPECT_NE(error().find(std::string(name) + "=1"), std::string::npos) << error();
    EXPECT_NE(error().find("weft run -n N"), std::string::npos) << error();
    ::unsetenv(name);
  }
}

TEST_F(SelectBootstrap, slurm_counts_as_a_launcher_from_two_tasks_on) {
  set("SLURM_PROCID", "0");
  set("SLURM_NTASKS", "1");
  EXPECT_EQ(error(), "no error");
  set("SLURM_NTASKS", "2");
  EXPECT_NE(error().find("SLURM_PROCID"), std::string::npos);
}

TEST_F(SelectBootstrap, an_incomplete_environment_of_weft_run_is_an_error) {
  set("WEFT_BOOTSTRAP", "weft-none");
  EXPECT_NE(error().find("WEFT_JOB is not"), std::string::npos) << error();
}

}  // namespace
}  // namespace weft::bootstrap
