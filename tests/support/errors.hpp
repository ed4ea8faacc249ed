// What a call throws, and what its text names.
#pragma once

#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace weft::test {

/// The text of the weft::Error that the call throws.
template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// Expects one line that has every part.
inline void expect_names(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "\"" << text << "\" lacks " << part;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
}

}  // namespace weft::test
