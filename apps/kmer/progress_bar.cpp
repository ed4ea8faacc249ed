#include "progress_bar.hpp"

#include <algorithm>
#include <cstdio>

#include <unistd.h>

#include <fmt/format.h>

namespace kmer {

namespace {
constexpr int kWidth = 32;
constexpr auto kInterval = std::chrono::milliseconds(100);
}  // namespace

ProgressBar::ProgressBar(bool is_first_rank)
    : is_shown_(is_first_rank && ::isatty(STDERR_FILENO) == 1), next_(std::chrono::steady_clock::now()) {}

void ProgressBar::show(std::string_view phase, double share) {
  if (!is_shown_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + kInterval;
  const int filled = static_cast<int>(std::clamp(share, 0.0, 1.0) * kWidth);
  fmt::print(stderr, "\r{:<9} [{:#<{}}{:<{}}] {:3.0f} %", phase, "", filled, "", kWidth - filled,
             share * 100);
  std::fflush(stderr);
  is_drawn_ = true;
}

void ProgressBar::clear() {
  if (!is_drawn_) return;
  fmt::print(stderr, "\r{:60}\r", "");
  std::fflush(stderr);
  is_drawn_ = false;
}

}  // namespace kmer
