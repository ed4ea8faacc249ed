#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace weft::bootstrap {

// Checks of arguments that all implementations share. They throw weft::Error.

void check_rank(int rank, int size);
void check_key(std::string_view key);
void check_value(std::string_view key, std::size_t bytes);
void check_gathered(int size, std::size_t mine, std::size_t all);

[[noreturn]] void fail_published_twice(int rank, std::string_view key);
[[noreturn]] void fail_not_published(int rank, std::string_view key, double timeout_seconds);

}  // namespace weft::bootstrap
