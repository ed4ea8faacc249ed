#include "core/protocol/rendezvous/way_choice.hpp"

#include <algorithm>

namespace weft::core {

namespace {

constexpr std::uint32_t kKnown = 8;       // messages after which the pace of a way is taken as known
constexpr double kRemembered = 32;        // messages that make the pace of the settled way
constexpr double kOutlier = 4;            // a message counts at most so many times what others take
constexpr std::uint32_t kTried = 16;      // messages of a trial ...
constexpr double kTriedBytes = 8 << 20;   // ... or so many bytes ...
constexpr std::uint32_t kLeastTried = 4;  // ... in at least so many
constexpr std::uint32_t kGivenUp = 128;   // a trial whose messages cannot be measured ends
constexpr double kBetter = 0.9;           // of the settled way's time: less is worth a change
constexpr double kClearlyWorse = 2;       // ends a trial early
constexpr double kChanged = 1.3;          // a pace that many times another one: conditions have changed
constexpr double kTrialsPerCost = 200;    // trials cost one part in so many
constexpr double kLeastGap = 0.25;        // ways that are closer count as this far apart
constexpr double kNarrowSpacing = 8;      // at first, and after a change
constexpr double kWideSpacing = 4096;
constexpr double kAfterFailure = 16384;
constexpr double kEarlyPart = 8;  // a change is looked into after this part of the time between trials

}  // namespace

void WayChoice::ended(Way way, std::size_t bytes, std::int64_t ns) noexcept {
  ++ends_;
  const bool counts = way == this->way() && ns > 0 && bytes > 0;
  if (is_trying_) {
    if (counts) add_to_trial(bytes, ns);
    if (is_tried()) conclude();
  } else {
    if (counts) add_to_settled(bytes, ns);
    // All of a window may have begun in the way that was tried, before the trial ended.
    if (way != settled_) ++tried_;
    if (is_due()) try_other();
  }
}

void WayChoice::failed() noexcept {
  settled_ = Way::copy;
  is_trying_ = false;
  pace_ = {};
  reference_ = 0;
  ends_ = 0;
  tried_ = 1;
  spacing_ = widest_spacing_ = kAfterFailure;
}

void WayChoice::add_to_settled(std::size_t bytes, std::int64_t ns) noexcept {
  const auto size = static_cast<double>(bytes);
  auto time = static_cast<double>(ns);
  if (pace_.messages >= kKnown) time = std::min(time, kOutlier * pace_.value() * size);
  const double kept = pace_.messages < kRemembered ? 1 : 1 - 1 / kRemembered;
  pace_ = {pace_.ns * kept + time, pace_.bytes * kept + size, pace_.messages + 1};
}

/// The slowest is kept apart: one that was interrupted must not decide.
void WayChoice::add_to_trial(std::size_t bytes, std::int64_t ns) noexcept {
  Pace each{static_cast<double>(ns), static_cast<double>(bytes), 1};
  if (slowest_.messages == 0 || each.value() > slowest_.value()) std::swap(each, slowest_);
  trial_ = {trial_.ns + each.ns, trial_.bytes + each.bytes, trial_.messages + each.messages};
}

bool WayChoice::is_due() const noexcept {
  if (pace_.messages < kKnown) return false;
  const double interval = spacing_ * tried_;
  if (ends_ >= interval) return true;
  if (reference_ == 0 || ends_ < std::max(interval / kEarlyPart, kRemembered)) return false;
  const double change = pace_.value() / reference_;
  return change > kChanged || change * kChanged < 1;
}

void WayChoice::try_other() noexcept {
  is_trying_ = true;
  ends_ = 0;
  trial_ = slowest_ = {};
}

bool WayChoice::is_tried() const noexcept {
  if (ends_ >= kGivenUp) return true;
  if (trial_.messages < kLeastTried) return false;
  return trial_.messages >= kTried || trial_.bytes >= kTriedBytes ||
         trial_value() > kClearlyWorse * pace_.value();
}

double WayChoice::trial_value() const noexcept {
  const double most = kOutlier * trial_.value() * slowest_.bytes;
  return (trial_.ns + std::min(slowest_.ns, most)) / (trial_.bytes + slowest_.bytes);
}

void WayChoice::conclude() noexcept {
  const bool is_known = trial_.messages >= kLeastTried;
  const double ratio = is_known ? trial_value() / pace_.value() : 1;  // of the other way's time
  double gap = ratio - 1;
  if (ratio < kBetter) {
    gap = 1 / ratio - 1;
    settled_ = other_way(settled_);
    pace_ = {trial_value() * (trial_.bytes + slowest_.bytes), trial_.bytes + slowest_.bytes,
             trial_.messages + 1};
    widest_spacing_ = kNarrowSpacing;  // soon once more: conditions may be about to change again
  } else {
    widest_spacing_ = std::clamp(widest_spacing_ * 2, kNarrowSpacing, kWideSpacing);
  }
  spacing_ = std::min(kTrialsPerCost * std::max(gap, kLeastGap), widest_spacing_);
  tried_ = ends_;
  reference_ = pace_.value();
  is_trying_ = false;
  ends_ = 0;
}

}  // namespace weft::core
