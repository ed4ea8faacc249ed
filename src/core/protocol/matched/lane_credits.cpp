#include "core/protocol/matched/lane_credits.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace weft::core {

namespace {

constexpr std::uint32_t kLaneShare = 64;  // of the credits, at most: a window of many programs
constexpr std::uint32_t kParts = 4;       // 1 / kParts of them may lie in the first lane ...
constexpr std::uint32_t kOtherParts = 2 * detail::DevicePath::kColumns;  // ... and in each other one

/// Returns the number of credits that the lane of a column may take at a time. Other threads cannot reach the
/// credits in one thread's lane, so these must not be all credits.
std::uint32_t share_of(std::uint32_t limit, std::uint32_t column, bool exclusive) noexcept {
  if (exclusive) return kLaneShare;
  const std::uint32_t parts = column == detail::DevicePath::kFirstColumn ? kParts : kOtherParts;
  return std::clamp(limit / parts, 1U, kLaneShare);
}

}  // namespace

/// Fills the share of a lane that was entered and has no credits. Returns false when there are none.
bool LaneCredits::take_share(detail::SendLane& lane, int peer, std::uint8_t device, std::uint32_t column,
                             bool exclusive) noexcept {
  Credits& credits = credits_.of(MessageClass::normal);
  lane.credits = credits.take_up_to(share_of(credits.limit(), column, exclusive), peer, device, exclusive);
  return lane.credits != 0;
}

template <class Locking>
bool LaneCredits::refill(detail::SendLane& lane, int peer, std::uint8_t device,
                         std::uint32_t column) noexcept {
  auto* const hold = detail::enter<Locking>(lane.bias, lane.lock);
  if (hold == nullptr) return false;
  const bool has_more = lane.credits == 0 && take_share(lane, peer, device, column, Locking::kExclusive);
  detail::leave<Locking>(hold);
  return has_more;
}
template bool LaneCredits::refill<detail::TryLock>(detail::SendLane&, int, std::uint8_t,
                                                   std::uint32_t) noexcept;
template bool LaneCredits::refill<detail::NoLock>(detail::SendLane&, int, std::uint8_t,
                                                  std::uint32_t) noexcept;

bool LaneCredits::take(int peer, const SendOptions& options, Caller caller) noexcept {
  const bool exclusive = caller.exclusive;
  const std::uint8_t device = options.device;
  Credits& credits = of(options);
  // Inlined posts are of the class normal.
  const std::uint32_t column = exclusive || options.engine >= kMatchingEngines
                                   ? detail::DevicePath::kFirstColumn
                                   : detail::thread_column;
  detail::SendLane* lane =
      options.message_class == MessageClass::normal ? path_.lane(peer, device, column) : nullptr;
  auto* const hold = lane == nullptr ? nullptr : detail::enter(lane->bias, lane->lock, exclusive);
  if (hold == nullptr) return credits.take_up_to(1, peer, device, exclusive) != 0;
  const bool has_credit = lane->credits != 0 || take_share(*lane, peer, device, column, exclusive);
  if (has_credit) --lane->credits;
  detail::leave(hold, exclusive);
  return has_credit;
}

bool LaneCredits::take_of_others(int peer, const SendOptions& options, Caller caller) noexcept {
  if (caller.exclusive || options.message_class != MessageClass::normal) return false;
  for (std::uint32_t column = 0; column < detail::DevicePath::kColumns; ++column) {
    detail::SendLane* const lane = path_.lane(peer, options.device, column);
    if (lane == nullptr || unused(*lane) == 0) continue;
    auto* const hold = detail::enter(lane->bias, lane->lock, false);
    if (hold == nullptr) continue;
    const bool has_credit = lane->credits != 0;
    if (has_credit) --lane->credits;
    detail::leave(hold, false);
    if (has_credit) return true;
  }
  return false;
}

/// Calls visit(lane, peer, device) for each lane once.
template <class Visit>
void LaneCredits::for_each_lane(const Visit& visit) const noexcept {
  const detail::DevicePath::LaneRow* before = nullptr;
  for (std::size_t device = 0; device < std::size(path_.rows); ++device) {
    const detail::DevicePath::LaneRow* row = path_.rows[device].load(std::memory_order_acquire);
    if (std::exchange(before, row) == row) continue;  // devices that were not contacted share one row
    for (std::uint32_t peer = 0; peer < path_.ranks; ++peer) {
      std::array<const detail::SendLane*, detail::DevicePath::kColumns> lanes{};
      for (std::uint32_t column = 0; column < detail::DevicePath::kColumns; ++column) {
        const detail::SendLane* lane =
            row[detail::DevicePath::index_of(static_cast<int>(peer), column)].load(std::memory_order_acquire);
        // Several columns may hold the same lane.
        if (lane == nullptr || std::ranges::find(lanes, lane) != lanes.end()) continue;
        lanes[column] = lane;
        visit(*lane, static_cast<int>(peer), static_cast<std::uint8_t>(device));
      }
    }
  }
}

LaneCredits::~LaneCredits() {
  for_each_lane([&](const detail::SendLane& lane, int peer, std::uint8_t device) {
    credits_.of(MessageClass::normal).undo(lane.credits, peer, device);
  });
}

/// The number of sends: each takes a credit; inlined posts take credits that their lanes were given.
std::uint64_t LaneCredits::sends() noexcept {
  std::uint64_t unused = 0;
  for_each_lane(
      [&](const detail::SendLane& lane, int, std::uint8_t) { unused += LaneCredits::unused(lane); });
  const std::uint64_t taken = credits_.taken() - taken_before_;
  return taken > unused ? taken - unused : 0;
}

void LaneCredits::on_credit(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept {
  const auto device = static_cast<std::uint8_t>(word >> 32);
  const std::uint64_t message_class = word >> 40 & 0xff;
  const auto more = static_cast<std::uint32_t>(word >> 48);
  if (message_class >= SendCredits::classes() ||
      !credits_.of(static_cast<MessageClass>(message_class))
           .give(arrival.peer(), device, static_cast<std::uint32_t>(word),
                 exclusive_.load(std::memory_order_relaxed)))
    sink.reject(arrival.peer(), "more credits than were taken", word);
  else if (more != 0 &&
           !credits_.of(static_cast<MessageClass>(message_class)).raise(arrival.peer(), device, more))
    sink.reject(arrival.peer(), "more credits than can be", word);
}

}  // namespace weft::core
