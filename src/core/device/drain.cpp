// Closing a device: what was accepted for a peer is delivered as long as the peer exists, however slow or
// stopped it is.
//
// When a peer has left in order, or has failed, operations in progress towards it end. The attribute
// drain_timeout counts only where no living process could receive: towards a peer whose process has ended
// while no network or launcher reports it, and towards one that is closing as well and accepts only messages
// that need no receive. So two ranks that close at the same time do not wait for each other for ever. A rank
// whose runtime ends drops messages that it has received and will never match, and thereby ends the waits of
// their senders.
#include "base/clock.hpp"
#include "core/device/device_state.hpp"
#include "core/device/waiting.hpp"
#include "core/diagnosis/waits.hpp"
#include "core/runtime/runtime_state.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <string>
#include <thread>

namespace weft::detail {

using base::Attribute;
using Taker = network::Network::Taker;

namespace {

constexpr std::uint32_t kYields = 32;               // rounds before it sleeps in between
constexpr std::int64_t kLookEvery = 20'000'000;     // nanoseconds between checks for living peers
constexpr std::int64_t kDropEvery = 1'000'000;      // nanoseconds
constexpr std::int64_t kFirstWord = 1'000'000'000;  // nanoseconds, at least, before a wait is reported
constexpr std::size_t kListedInDrain = 1024;        // operations of each kind
constexpr std::size_t kNamedInWait = 8;             // peers
constexpr const char* kDrainWait = "peers to take what was sent for them, because the device is being closed";

void append(std::string& text, const std::string& what) { text += (text.empty() ? "" : ", ") + what; }

std::string messages(std::uint64_t count) {
  return "up to " + std::to_string(count) + (count == 1 ? " message" : " messages");
}

std::string all_of(const std::map<int, std::string>& by_peer) {
  std::string text;
  for (const auto& [peer, what] : by_peer)
    append(text, peer < 0 ? what : what + " for rank " + std::to_string(peer));
  return text;
}

/// The same for a line that is read while the job goes on: of many peers it names some.
std::string some_of(std::map<int, std::string> by_peer) {
  const std::size_t all = by_peer.size();
  if (all > kNamedInWait) by_peer.erase(std::next(by_peer.begin(), kNamedInWait), by_peer.end());
  return all_of(by_peer) +
         (all > kNamedInWait ? ", and others for " + std::to_string(all - kNamedInWait) + " more ranks" : "");
}

}  // namespace

class DeviceState::Drain {
 public:
  explicit Drain(DeviceState& device) noexcept
      : device_(device),
        runtime_(device.runtime_),
        port_(*device.port_),
        rendezvous_(device.protocols().rendezvous) {}

  void run() noexcept;

 private:
  [[nodiscard]] bool need_not_be_awaited(const network::Port::Unconsumed& messages) noexcept;
  [[nodiscard]] bool is_drained() noexcept;
  /// Returns what has not ended, by peer; kAnybody where the peer is not known.
  [[nodiscard]] std::map<int, std::string> pending_by_peer() noexcept;
  [[nodiscard]] bool has_living_taker() noexcept;
  void name_lost_operations(bool is_over) noexcept;

  DeviceState& device_;
  RuntimeState& runtime_;
  network::Port& port_;
  core::Rendezvous& rendezvous_;
};

void DeviceState::drain() noexcept { Drain(*this).run(); }

/// Returns true when the messages are lost, or may stay where the peer finds them. Messages that need their
/// sender may stay only where no process could receive them.
bool DeviceState::Drain::need_not_be_awaited(const network::Port::Unconsumed& messages) noexcept {
  network::Network& network = runtime_.network();
  return messages.has_left || (network.keeps_messages_for(messages.peer) &&
                               (!messages.needs_sender || network.taker_of(messages.peer) == Taker::nobody));
}

bool DeviceState::Drain::is_drained() noexcept {
  if (!device_.protocols().backlog.empty() || device_.protocols().ends.kept() != 0 ||
      rendezvous_.outstanding() != 0 || device_.protocols().one_sided.outstanding() != 0 ||
      device_.protocols().vectored_accesses.outstanding() != 0)
    return false;
  // An answer that still has to be sent ends an operation of a peer.
  if (rendezvous_.has_work()) return false;
  // The network writes into buffers that may be gone after the end.
  if (rendezvous_.receiver().landing() != 0) return false;
  if (port_.drained()) return true;
  const auto stays = [this](const network::Port::Unconsumed& each) { return need_not_be_awaited(each); };
  const auto unconsumed = port_.unconsumed();
  return !unconsumed.empty() && std::all_of(unconsumed.begin(), unconsumed.end(), stays);
}

std::map<int, std::string> DeviceState::Drain::pending_by_peer() noexcept {
  std::map<int, std::map<const char*, std::uint64_t>> operations;
  core::PendingList list(kListedInDrain);
  static_cast<void>(device_.describe(list));
  for (const core::PendingOperation& each : list.operations()) {
    // Large messages of peers count while this rank has to answer them.
    if (each.kind != core::PendingKind::arrival || each.completion != nullptr || runtime_.is_ending())
      ++operations[each.peer][core::to_string(each.kind)];
  }
  std::map<int, std::string> all;
  for (const network::Port::Unconsumed& each : port_.unconsumed())
    if (!need_not_be_awaited(each)) append(all[each.peer], messages(each.messages));
  for (const auto& [peer, kinds] : operations) {
    if (peer >= 0 && port_.has_left(peer)) continue;
    for (const auto& [kind, count] : kinds)
      append(all[peer], std::to_string(count) + " " + kind + (count == 1 ? "" : "s"));
  }
  return all;
}

/// Returns true when waiting makes sense: a process may receive what is left, or the operations are about to
/// end because their peer has left.
bool DeviceState::Drain::has_living_taker() noexcept {
  core::PendingList list(kListedInDrain);
  static_cast<void>(device_.describe(list));
  for (const core::PendingOperation& each : list.operations())
    if ((each.kind != core::PendingKind::arrival || each.completion != nullptr) && each.peer >= 0 &&
        port_.has_left(each.peer))
      return true;
  const auto pending = pending_by_peer();
  return std::any_of(pending.begin(), pending.end(), [this](const auto& each) {
    return each.first >= 0 && runtime_.network().taker_of(each.first) == Taker::living;
  });
}

void DeviceState::Drain::run() noexcept {
  // The device has no other users any more: this thread has it for itself, whatever its endpoints were.
  device_.protocols().lost_operations.open();
  runtime_.devices().begin_to_close();
  rendezvous_.receiver().admission().decline_what_has_no_memory();
  const std::int64_t limit = base::seconds_to_ns(runtime_.attributes().seconds(Attribute::drain_timeout));
  const WaitDescription description{kDrainWait, std::source_location::current()};
  core::WaitScope explained(runtime_.waits(), description, nullptr,
                            static_cast<std::int32_t>(device_.index_));
  const std::int64_t begin = base::now_ns();
  std::int64_t moved = begin;
  std::int64_t next_look = begin + std::min(kLookEvery, limit);
  std::int64_t next_drop = begin;
  std::int64_t next_word = begin + std::max(limit, kFirstWord);
  bool is_over = false;
  for (std::uint32_t idle = 0; !is_over && !is_drained(); ++idle) {
    const bool has_moved = device_.progress() != 0;
    const std::int64_t now = base::now_ns();
    if (runtime_.is_ending() && now >= next_drop) {
      runtime_.drop_unreceived(device_);
      next_drop = now + kDropEvery;
    }
    if (has_moved) {
      moved = now;
      idle = 0;
      continue;
    }
    device_.failures_.complete_lost_operations(device_.caller());
    if (now >= next_look) {
      explained.enter();
      next_look = now + std::min(kLookEvery, limit);
      is_over = now - moved >= limit && !has_living_taker() && !is_drained();
    }
    if (!is_over && now >= next_word) {
      runtime_.log().warn("device " + std::to_string(device_.index_) + " closes and has waited for " +
                          std::to_string((now - begin) / 1'000'000'000) +
                          " s for what its peers have not taken: " + some_of(pending_by_peer()));
      next_word = now + 2 * (now - begin);
    }
    if (idle < kYields)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(unwoken_sleep(now - moved));
  }
  if (rendezvous_.receiver().landing() != 0 || rendezvous_.sender().is_putting()) port_.stop_fetches();
  name_lost_operations(is_over);
  if (is_over) return;
  runtime_.log().info([&] {
    return "device " + std::to_string(device_.index_) + " closes, drained in " +
           std::to_string((base::now_ns() - begin) / 1000) + " microseconds";
  });
}

void DeviceState::Drain::name_lost_operations(bool is_over) noexcept try {
  std::map<int, std::string> failed;
  std::map<int, std::string> unreceived;  // by ranks that have left, or leave as well
  const auto lost = [&](int peer) -> std::string& {
    return (runtime_.failures().knows(peer) ? failed : unreceived)[peer];
  };
  for (const network::Port::Unconsumed& each : port_.unconsumed())
    if (each.has_left && each.peer != runtime_.rank()) append(lost(each.peer), messages(each.messages));
  device_.protocols().lost_operations.for_each(
      [&](int peer, const std::string& what) { append(lost(peer), what); });
  if (is_over) {
    for (const auto& [peer, what] : pending_by_peer()) {
      const bool is_closing =
          peer == runtime_.rank() || (peer >= 0 && runtime_.network().taker_of(peer) == Taker::closing);
      append((is_closing ? unreceived : failed)[peer], what);
    }
  }
  const std::string name = "device " + std::to_string(device_.index_) + " closes ";
  if (!unreceived.empty()) runtime_.log().warn(name + "with what nobody has received: " + all_of(unreceived));
  if (failed.empty()) return;
  const std::string what = all_of(failed);
  runtime_.log().error(name + "and drops what it had accepted for ranks that have failed" +
                       (is_over ? " or cannot be reached for " +
                                      std::string(runtime_.attributes().text(Attribute::drain_timeout))
                                : std::string()) +
                       ": " + what);
  runtime_.bootstrap().report_loss(what);
} catch (const std::exception& error) {
  runtime_.log().error(std::string("what a device drops at its end cannot be named: ") + error.what());
}

}  // namespace weft::detail
