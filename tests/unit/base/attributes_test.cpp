#include "base/attributes.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace weft::base {
namespace {

Attributes load(std::initializer_list<const char*> environment, std::vector<AttributeSetting> program = {}) {
  std::vector<const char*> entries{environment};
  entries.push_back(nullptr);
  return Attributes::load(program, entries.data());
}

std::string error_of(std::initializer_list<const char*> environment,
                     std::vector<AttributeSetting> program = {}) {
  try {
    load(environment, program);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Attributes, without_settings_every_row_has_its_default) {
  const Attributes attributes = load({});
  for (const AttributeRow& row : kAttributeTable) {
    EXPECT_EQ(attributes.source(row.id), Source::default_value) << row.name;
    EXPECT_FALSE(attributes.text(row.id).empty()) << row.name;
    EXPECT_FALSE(row.help.empty()) << row.name;
  }
  EXPECT_EQ(attributes.integer(Attribute::packet_size), 32'768);
  EXPECT_EQ(attributes.text(Attribute::packet_size), "32K");
  EXPECT_DOUBLE_EQ(attributes.seconds(Attribute::park_timeout), 0.05);
  EXPECT_EQ(attributes.text(Attribute::network), "auto");
}

TEST(Attributes, the_environment_wins_over_the_default) {
  const Attributes attributes = load({"HOME=/", "WEFT_PACKET_SIZE=64K", "WEFT_RENDEZVOUS=copy"});
  EXPECT_EQ(attributes.integer(Attribute::packet_size), 65536);
  EXPECT_EQ(attributes.source(Attribute::packet_size), Source::environment);
  EXPECT_EQ(attributes.text(Attribute::rendezvous), "copy");
  EXPECT_EQ(attributes.integer(Attribute::rendezvous), 2);
}

TEST(Attributes, the_program_wins_over_the_environment) {
  const Attributes attributes = load({"WEFT_SPIN=7"}, {{"spin", "9"}});
  EXPECT_EQ(attributes.integer(Attribute::spin), 9);
  EXPECT_EQ(attributes.source(Attribute::spin), Source::program);
}

std::vector<std::string> unknown_of(std::initializer_list<const char*> environment) {
  const Attributes attributes = load(environment);
  return {attributes.unknown_variables().begin(), attributes.unknown_variables().end()};
}

TEST(Attributes, an_unknown_variable_is_remembered_with_the_name_that_was_probably_meant) {
  EXPECT_EQ(unknown_of({"WEFT_PACKETSIZE=8K", "WEFT_SPIN=9"}),
            std::vector<std::string>{"the environment variable WEFT_PACKETSIZE names no attribute and has no "
                                     "effect: did you mean WEFT_PACKET_SIZE? `weft info` lists all"});
}

TEST(Attributes, a_variable_that_is_near_to_no_name_is_somebody_elses_and_suggests_nothing) {
  for (const char* variable :
       {"WEFT_ROOT=/opt/weft", "WEFT_DIR=/opt/weft", "WEFT_INCLUDE_DIR=/x", "WEFT_HOME=/x"}) {
    const auto unknown = unknown_of({variable});
    ASSERT_EQ(unknown.size(), 1U) << variable;
    EXPECT_EQ(unknown.front().find("did you mean"), std::string::npos) << unknown.front();
  }
}

TEST(Attributes, a_wrong_value_is_an_error_beside_unknown_names) {
  EXPECT_NE(error_of({"WEFT_ROOT=/opt/weft", "WEFT_SPIN=soon"}), "no error");
}

TEST(Attributes, an_unknown_name_of_the_program_is_an_error_that_suggests_a_near_name) {
  EXPECT_EQ(error_of({}, {{"spins", "1"}}),
            "the program sets the attribute \"spins\", which does not exist: did you mean \"spin\"? "
            "`weft info` lists all");
  EXPECT_EQ(
      error_of({}, {{"colour of the sky", "1"}}),
      "the program sets the attribute \"colour of the sky\", which does not exist: `weft info` lists all");
}

TEST(Attributes, a_null_name_or_value_from_the_program_is_an_error_and_no_crash) {
  EXPECT_NE(error_of({}, {{nullptr, "1"}}), "no error");
  EXPECT_NE(error_of({}, {{"spin", nullptr}}), "no error");
}

TEST(Attributes, the_variables_of_the_launcher_are_no_attributes) {
  EXPECT_TRUE(unknown_of({"WEFT_RANK=1", "WEFT_SIZE=2", "WEFT_JOB=x", "WEFT_BOOTSTRAP=y"}).empty());
}

TEST(Attributes, the_variables_of_the_bootstrap_are_no_attributes) {
  EXPECT_TRUE(unknown_of({"WEFT_JOB_SECRET=x"}).empty());
  EXPECT_EQ(unknown_of({"WEFT_JOB_SECRETS=x"}).size(), 1U);
}

TEST(Attributes, durations_have_units_and_plain_ones_those_of_their_type) {
  EXPECT_EQ(load({"WEFT_SPIN=1ms"}).integer(Attribute::spin), 1000);
  EXPECT_EQ(load({"WEFT_SPIN=7"}).integer(Attribute::spin), 7);
  EXPECT_EQ(load({"WEFT_DRAIN_TIMEOUT=2m"}).seconds(Attribute::drain_timeout), 120.0);
  EXPECT_EQ(load({"WEFT_DRAIN_TIMEOUT=2"}).seconds(Attribute::drain_timeout), 2.0);
  EXPECT_EQ(error_of({"WEFT_SPIN=500ns"}),
            "WEFT_SPIN=500ns is not valid: it must be a duration such as 500ms, 30s or 2m, or a number of "
            "microseconds, from 0 to 1048576");
}

TEST(Attributes, a_bad_value_is_an_error_that_names_variable_value_and_range) {
  EXPECT_EQ(error_of({"WEFT_PACKET_SIZE=2G"}),
            "WEFT_PACKET_SIZE=2G is not valid: it must be a size such as 64K or 2M, from 1K to 1M");
  EXPECT_EQ(error_of({"WEFT_PACKETS=many"}),
            "WEFT_PACKETS=many is not valid: it must be an integer from 16 to 65536");
  EXPECT_EQ(error_of({"WEFT_LANE_SLOTS=100"}),
            "WEFT_LANE_SLOTS=100 is not valid: it must be an integer from 64 to 4096 and a power of two");
  EXPECT_EQ(error_of({"WEFT_NETWORK=ethernet"}),
            "WEFT_NETWORK=ethernet is not valid: it must be auto, shm, sim, tcp, ofi, ibv or mixed");
  EXPECT_EQ(error_of({"WEFT_COUNTERS="}), "WEFT_COUNTERS= is not valid: it must be off, table or json");
  EXPECT_EQ(
      error_of({"WEFT_PARK_TIMEOUT=-1"}),
      "WEFT_PARK_TIMEOUT=-1 is not valid: it must be a duration such as 500ms, 30s or 2m, or a number of "
      "seconds, from 0 to 60");
  EXPECT_EQ(error_of({}, {{"packets", "1"}}),
            "packets=1 is not valid: it must be an integer from 16 to 65536");
}

TEST(Attributes, a_bad_variable_is_an_error_even_where_the_program_overrides_it) {
  EXPECT_NE(error_of({"WEFT_SPIN=x"}, {{"spin", "9"}}), "no error");
}

TEST(Attributes, values_that_contradict_each_other_are_an_error) {
  EXPECT_EQ(error_of({"WEFT_LANE_SLOTS=2048", "WEFT_LANE_SLOTS_MAX=1024"}),
            "WEFT_LANE_SLOTS=2048 is not valid: it must not exceed WEFT_LANE_SLOTS_MAX, which is 1024");
}

}  // namespace
}  // namespace weft::base
