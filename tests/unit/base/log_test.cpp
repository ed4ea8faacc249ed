#include "base/log.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "base/attributes.hpp"

namespace weft::base {
namespace {

/// What `write` writes, with every time as "T".
template <class Write>
std::string written(const Write& write) {
  testing::internal::CaptureStderr();
  write();
  return std::regex_replace(testing::internal::GetCapturedStderr(), std::regex(R"(\d+\.\d{6} )"), "T ");
}

std::string error_of(std::string_view text) {
  try {
    static_cast<void>(LogLevels::parse(text));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Log, a_line_names_rank_time_module_and_level) {
  EXPECT_EQ(written([] {
              Log{LogLevel::warn, 3}.in(LogModule::shm).warn("the lane is full");
              Log{LogLevel::warn}.error("no job");
            }),
            "weft[rank 3] T shm warn: the lane is full\nweft T runtime error: no job\n");
}

TEST(Log, less_important_lines_than_the_level_are_left_out_and_not_even_made) {
  bool is_made = false;
  const Log log{LogLevel::warn, 0};
  EXPECT_EQ(written([&] {
              log.info([&] {
                is_made = true;
                return "quiet";
              });
              log.debug([] { return "quiet"; });
            }),
            "");
  EXPECT_FALSE(is_made);
  EXPECT_TRUE(log.enabled(LogLevel::error));
  EXPECT_FALSE(log.enabled(LogLevel::info));
}

TEST(Log, a_message_stays_one_line) {
  EXPECT_EQ(written([] { Log{}.warn("two\nlines"); }), "weft T runtime warn: two lines\n");
}

TEST(Log, modules_have_levels_of_their_own) {
  const Log log(LogLevels::parse("warning,shm=debug,matching=trace"), 1, LogModule::runtime);
  EXPECT_EQ(written([&] {
              log.info([] { return "quiet"; });
              log.in(LogModule::shm).debug([] { return "a lane"; });
              log.in(LogModule::shm).trace([] { return "quiet"; });
              log.in(LogModule::matching).trace([] { return std::string("an engine"); });
            }),
            "weft[rank 1] T shm debug: a lane\nweft[rank 1] T matching trace: an engine\n");
}

TEST(Log, later_parts_win_and_a_level_is_for_all_modules) {
  const LogLevels levels = LogLevels::parse("shm=trace,info,ofi=error");
  EXPECT_EQ(levels.of(LogModule::shm), LogLevel::info);
  EXPECT_EQ(levels.of(LogModule::ofi), LogLevel::error);
  EXPECT_EQ(LogLevels::parse("sim=debug").of(LogModule::runtime), LogLevel::warn);
}

TEST(Log, wrong_levels_and_modules_are_refused_with_what_would_be_right) {
  EXPECT_EQ(
      error_of("loud"),
      "\"loud\" is no level: it must be error, warn, info, debug or trace, or module=level, separated by "
      "commas");
  EXPECT_EQ(error_of("info,shm=loud").substr(0, 18), "\"loud\" is no level");
  EXPECT_EQ(error_of("").substr(0, 14), "\"\" is no level");
  EXPECT_EQ(error_of("info,").substr(0, 14), "\"\" is no level");
  EXPECT_EQ(error_of("lanes=debug"),
            "\"lanes\" is no module: it must be runtime, bootstrap, shm, tcp, ofi, ibv, sim, mixed, memory, "
            "matching, "
            "protocol, backlog or failure");
}

TEST(Log, the_attribute_is_checked_with_the_others) {
  const char* const environment[] = {"WEFT_LOG=shm=loud", nullptr};
  try {
    static_cast<void>(Attributes::load({}, environment));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "WEFT_LOG=shm=loud is not valid: \"loud\" is no level: it must be error, warn, info, debug or "
              "trace, or module=level, separated by commas");
  }
}

}  // namespace
}  // namespace weft::base
