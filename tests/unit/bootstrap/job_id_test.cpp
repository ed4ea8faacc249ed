#include "bootstrap/job_id.hpp"

#include <gtest/gtest.h>

namespace weft::bootstrap {
namespace {

TEST(JobId, is_32_random_hexadecimal_digits) {
  const std::string id = random_job_id();
  EXPECT_TRUE(is_job_id(id)) << id;
  EXPECT_NE(id, random_job_id());
  EXPECT_FALSE(is_job_id("short"));
  EXPECT_FALSE(is_job_id(std::string(32, 'G')));
}

TEST(JobId, of_an_instance_ends_with_its_number) {
  const std::string job(32, 'a');
  EXPECT_EQ(instance_id(job, 0), std::string(24, 'a') + "00000000");
  EXPECT_EQ(instance_id(job, 0x12ab), std::string(24, 'a') + "000012ab");
}

}  // namespace
}  // namespace weft::bootstrap
