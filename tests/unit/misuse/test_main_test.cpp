// tests/support/main/test_main.cpp: a case that takes its process with it is named by what the process leaves
// behind.
#include <gtest/gtest.h>

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

namespace weft {
namespace {

constexpr const char* kAsked = "WEFTDEV_CASE_THAT";

// What a program says that runs the one case below, and is asked to end in this way.
std::string said_by_a_case_that(const std::string& end) {
  const std::string command = std::string(kAsked) + "=" + end + " WEFTDEV_CASE_SECONDS=1 exec /proc/" +
                              std::to_string(getpid()) +
                              "/exe --gtest_brief=1 --gtest_filter=CaseThat.does_as_it_is_asked 2>&1";
  std::string said;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> output(::popen(command.c_str(), "r"), ::pclose);
  if (output == nullptr) {
    return "nothing could be started";
  }
  for (int character = std::fgetc(output.get()); character != EOF; character = std::fgetc(output.get())) {
    said.push_back(static_cast<char>(character));
  }
  return said;
}

TEST(CaseThat, does_as_it_is_asked) {
  const char* asked = std::getenv(kAsked);
  const std::string_view end(asked == nullptr ? "succeeds" : asked);
  if (end == "aborts") {
    std::abort();
  } else if (end == "exits") {
    std::exit(0);
  } else if (end == "is-killed") {
    std::raise(SIGBUS);
  } else if (end == "hangs") {
    for (;;) {
      ::pause();
    }
  }
}

TEST(CaseThat, ends_well_leaves_no_word) {
  EXPECT_EQ(said_by_a_case_that("succeeds").find("FAILED"), std::string::npos);
}

TEST(CaseThat, takes_the_process_with_it_is_named) {
  EXPECT_NE(said_by_a_case_that("aborts").find(
                "[  FAILED  ] CaseThat.does_as_it_is_asked took the process with it"),
            std::string::npos);
}

TEST(CaseThat, ends_the_process_is_named) {
  EXPECT_NE(said_by_a_case_that("exits").find("[  FAILED  ] CaseThat.does_as_it_is_asked ended the process"),
            std::string::npos);
}

TEST(CaseThat, raises_a_signal_is_named) {
  // A sanitizer has words of its own for it.
  EXPECT_NE(said_by_a_case_that("is-killed").find("CaseThat.does_as_it_is_asked"), std::string::npos);
}

TEST(CaseThat, never_ends_is_named_when_its_time_is_over) {
  EXPECT_NE(said_by_a_case_that("hangs").find(
                "[  FAILED  ] CaseThat.does_as_it_is_asked has not ended in the time that a case has"),
            std::string::npos);
}

}  // namespace
}  // namespace weft
