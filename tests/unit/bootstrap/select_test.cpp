#include "bootstrap/selection/select.hpp"

#include "bootstrap/launchers/environment/environment.hpp"

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
                                      "OMPI_COMM_WORLD_SIZE",
                                      "PMI_SIZE",
                                      "PMI2_FD",
                                      "PALS_RANKID",
                                      "RANK",
                                      "WORLD_SIZE",
                                      "MASTER_ADDR",
                                      "MASTER_PORT",
                                      "SLURM_STEP_NODELIST",
                                      "SLURM_STEP_NUM_NODES",
                                      "SLURM_JOB_ID",
                                      "SLURM_STEP_ID"};

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

TEST_F(SelectBootstrap, launchers_that_cannot_be_joined_are_named_with_what_to_do) {
  for (const char* name : {"PMI_RANK", "PMI2_FD", "PALS_RANKID", "OMPI_COMM_WORLD_RANK"}) {
    set(name, "1");
    EXPECT_NE(error().find(std::string(name) + "=1"), std::string::npos) << error();
    EXPECT_NE(error().find("weft run -n N"), std::string::npos) << error();
    ::unsetenv(name);
  }
}

TEST_F(SelectBootstrap, one_rank_of_any_launcher_runs_alone) {
  set("PMI_FD", "77");
  set("PMI_RANK", "0");
  set("PMI_SIZE", "1");
  EXPECT_EQ(error(), "no error");
  ::unsetenv("PMI_FD");
  set("RANK", "0");
  set("WORLD_SIZE", "1");
  EXPECT_EQ(error(), "no error");
  set("OMPI_COMM_WORLD_RANK", "0");
  set("OMPI_COMM_WORLD_SIZE", "1");
  EXPECT_EQ(error(), "no error");
}

TEST_F(SelectBootstrap, a_launcher_of_several_ranks_never_gives_several_jobs_of_one) {
  set("RANK", "0");
  set("WORLD_SIZE", "2");
  EXPECT_NE(error().find("MASTER_ADDR and MASTER_PORT"), std::string::npos) << error();
  set("MASTER_ADDR", "localhost");
  set("MASTER_PORT", "x");
  EXPECT_NE(error().find("MASTER_PORT=x is not valid"), std::string::npos) << error();
  set("MASTER_PORT", "29500");
  set("RANK", "2");
  EXPECT_NE(error().find("RANK=2 is not valid"), std::string::npos) << error();
  for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) ::unsetenv(name);
  set("PMI_FD", "999999");
  set("PMI_RANK", "0");
  set("PMI_SIZE", "2");
  EXPECT_NE(error().find("PMI_FD"), std::string::npos) << error();
}

TEST_F(SelectBootstrap, tells_what_it_takes_and_why) {
  EXPECT_EQ(describe_bootstrap(), "alone: no launcher has set anything");
  set("RANK", "1");
  set("WORLD_SIZE", "2");
  set("MASTER_ADDR", "localhost");
  set("MASTER_PORT", "29500");
  EXPECT_EQ(describe_bootstrap(), "environment: RANK=1, WORLD_SIZE=2");
  set("SLURM_PROCID", "0");
  set("SLURM_NTASKS", "2");
  set("SLURM_STEP_NODELIST", "n[1-2]");
  set("SLURM_JOB_ID", "7");
  set("SLURM_STEP_ID", "0");
  EXPECT_EQ(describe_bootstrap(), "environment: RANK=1, WORLD_SIZE=2")
      << "srun may have started what set these";
  for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) ::unsetenv(name);
  EXPECT_EQ(describe_bootstrap(), "srun: SLURM_PROCID=0");
  set("PMI_FD", "8");
  set("PMI_RANK", "1");
  set("PMI_SIZE", "2");
  EXPECT_EQ(describe_bootstrap(), "pmi1: PMI_FD=8");
  set("WEFT_BOOTSTRAP", "alone");
  EXPECT_EQ(describe_bootstrap(), "alone: WEFT_BOOTSTRAP=alone");
  set("WEFT_BOOTSTRAP", "hydra");
  EXPECT_NE(error().find("it must be alone, pmi1, pmix, mpi, environment or srun"), std::string::npos)
      << error();
}

TEST_F(SelectBootstrap, slurm_counts_as_a_launcher_from_two_tasks_on) {
  set("SLURM_PROCID", "0");
  set("SLURM_NTASKS", "1");
  EXPECT_EQ(error(), "no error");
  set("SLURM_NTASKS", "2");
  EXPECT_NE(error().find("start the program with srun, or set WEFT_BOOTSTRAP=alone"), std::string::npos)
      << error();
}

TEST(FirstHost, is_taken_from_lists_as_slurm_writes_them) {
  using contact::first_host;
  EXPECT_EQ(first_host("n1"), "n1");
  EXPECT_EQ(first_host("n1,n2"), "n1");
  EXPECT_EQ(first_host("n[3-5,8],m1"), "n3");
  EXPECT_EQ(first_host("n[03,08]-ib,m1"), "n03-ib");
  EXPECT_EQ(first_host("m1,n[3-5]"), "m1");
  EXPECT_EQ(first_host("n[3"), "");
}

TEST_F(SelectBootstrap, an_incomplete_environment_of_weft_run_is_an_error) {
  set("WEFT_BOOTSTRAP", "weft-none");
  EXPECT_NE(error().find("WEFT_JOB is not"), std::string::npos) << error();
}

}  // namespace
}  // namespace weft::bootstrap
