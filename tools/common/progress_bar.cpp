#include "common/progress_bar.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace weft::tools {
namespace {

constexpr const char* kErase = "\r\x1b[K";

std::string bar_of(double share) {
  constexpr int kWidth = 32;
  const int filled = static_cast<int>(std::clamp(share, 0.0, 1.0) * kWidth);
  return fmt::format("[{:#<{}}{:<{}}]", "", filled, "", kWidth - filled);
}

}  // namespace

ProgressBar::ProgressBar(bool is_wanted, std::chrono::milliseconds interval)
    : is_shown_(is_wanted && ::isatty(STDERR_FILENO) == 1), interval_(interval) {}

bool ProgressBar::is_due() {
  if (!is_shown_) return false;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return false;
  next_ = now + interval_;
  is_drawn_ = true;
  return true;
}

void ProgressBar::show_steps(std::size_t done, std::size_t steps, std::string_view name) {
  if (steps == 0 || !is_due()) return;
  fmt::print(stderr, "{}{} {}/{} {}", kErase, bar_of(static_cast<double>(done) / static_cast<double>(steps)),
             done, steps, name);
  std::fflush(stderr);
}

void ProgressBar::show_share(std::string_view phase, double share) {
  if (!is_due()) return;
  fmt::print(stderr, "{}{:<9} {} {:3.0f} %", kErase, phase, bar_of(share), share * 100);
  std::fflush(stderr);
}

void ProgressBar::clear() {
  if (!is_drawn_) return;
  fmt::print(stderr, "{}", kErase);
  std::fflush(stderr);
  is_drawn_ = false;
}

}  // namespace weft::tools
