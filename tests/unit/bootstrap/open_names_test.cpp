#include "bootstrap/open_names.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>

namespace weft::bootstrap {
namespace {

std::string error_in_another_thread(OpenNames& names, const std::string& name) {
  std::string error;
  std::thread([&] {
    try {
      names.take(name);
    } catch (const Error& refused) {
      error = refused.what();
    }
  }).join();
  return error;
}

TEST(OpenNames, are_free_again_once_their_runtime_has_ended) {
  OpenNames names;
  for (int round = 0; round < 3; ++round)
    for (const char* name : {"", "library"}) EXPECT_NO_THROW(names.take(name));
  EXPECT_EQ(error_in_another_thread(names, ""), "");
}

TEST(OpenNames, let_one_thread_have_several_without_a_name) {
  OpenNames names;
  std::optional<OpenNames::Hold> first(names.take(""));
  const OpenNames::Hold second = names.take("");
  first.reset();
  EXPECT_NO_THROW(names.take(""));
}

TEST(OpenNames, refuse_a_second_thread_without_a_name_as_long_as_one_is_open) {
  OpenNames names;
  std::optional<OpenNames::Hold> first(names.take(""));
  std::optional<OpenNames::Hold> second(names.take(""));
  EXPECT_NE(error_in_another_thread(names, "").find("RuntimeOptions::name"), std::string::npos);
  first.reset();
  EXPECT_NE(error_in_another_thread(names, ""), "");
  EXPECT_EQ(error_in_another_thread(names, "library"), "");
  second.reset();
  EXPECT_EQ(error_in_another_thread(names, ""), "");
}

TEST(OpenNames, belong_to_one_runtime_at_a_time) {
  OpenNames names;
  const OpenNames::Hold first = names.take("library");
  EXPECT_THROW(names.take("library"), Error);
  EXPECT_NE(error_in_another_thread(names, "library").find("\"library\" is open"), std::string::npos);
  EXPECT_NO_THROW(names.take("another"));
}

TEST(OpenNames, are_short) {
  OpenNames names;
  EXPECT_NO_THROW(names.take(std::string(kMaximumName, 'x')));
  EXPECT_THROW(names.take(std::string(kMaximumName + 1, 'x')), Error);
}

}  // namespace
}  // namespace weft::bootstrap
