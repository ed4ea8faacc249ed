#include "perf/progress_bar.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

namespace weft::tools::perf {

ProgressBar::ProgressBar(std::size_t steps) : shown_(::isatty(STDERR_FILENO) == 1), steps_(steps) {}

void ProgressBar::show(std::string_view name) {
  constexpr std::size_t kWidth = 30;
  if (!shown_ || steps_ == 0) return;
  const std::size_t filled = kWidth * done_ / steps_;
  fmt::print(stderr, "\r\x1b[K[{:#<{}}{:<{}}] {}/{} {}", "", filled, "", kWidth - filled, done_, steps_,
             name);
  std::fflush(stderr);
}

void ProgressBar::finish() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

}  // namespace weft::tools::perf
