#include "network/session/session_device.hpp"

#include "base/clock.hpp"
#include "concurrent/process_barrier.hpp"

#include <algorithm>
#include <cstdio>

namespace weft::network::session {

namespace {

constexpr std::int64_t kBetweenDrives = 20'000;  // nanoseconds
constexpr std::size_t kMostAnnounced = 64;       // reported by a poll: as many as a drive may find

}  // namespace

SessionDevice::SessionDevice(const Shared& shared, std::uint32_t index, std::unique_ptr<Transport> transport)
    : transport_(std::move(transport)),
      context_(shared, static_cast<std::uint8_t>(index), *transport_),
      links_(shared.peers.size()) {}

void SessionDevice::drive() noexcept {
  if (is_stopped()) return;
  credits_.count_drive();
  staging_.flush_links(false);
  transport_->drive(*this);
  contacts_.serve_links();
}

bool SessionDevice::is_drive_due() noexcept {
  const std::int64_t now = base::now_ns();
  if (now < next_drive_) return false;
  next_drive_ = now + kBetweenDrives;
  return true;
}

bool SessionDevice::prepare_park() noexcept {
  concurrent::process_barrier();
  Guard guard(lock_);
  if (!guard) return false;
  credits_.return_when_idle();
  staging_.flush_links(true);
  transport_->prepare_sleep();
  drive();
  return !delivery_.has_pending() && !context_.links_need_service && staging_.is_empty() &&
         accesses_.are_reported() && announcements_.is_empty() && !context_.has_rejections() &&
         !credits_.is_due();
}

bool SessionDevice::park(std::uint32_t token, std::uint32_t bits, std::chrono::nanoseconds limit) noexcept {
  if (!transport_->may_sleep()) return true;
  return parking_.park(transport_->wait_descriptor(), token, bits,
                       std::min(limit, transport_->longest_sleep()));
}

std::size_t SessionDevice::poll(Sink& sink, std::size_t limit) noexcept {
  std::vector<Rejection> rejections;
  std::array<AccessEnds::End, 16> ended;
  std::array<Announcements::Announcement, kMostAnnounced> announced;
  std::size_t count = 0;
  std::size_t announced_count = 0;
  if (Guard guard(lock_); guard) {
    drive();
    if (!accesses_.are_reported()) [[unlikely]]
      count = accesses_.take(ended);
    if (!announcements_.is_empty()) [[unlikely]]
      announced_count = announcements_.take(announced);
    if (context_.has_rejections()) [[unlikely]]
      rejections = context_.take_rejections();
  }
  for (const Rejection& rejection : rejections) sink.reject(rejection.rank, rejection.what, rejection.value);
  for (const AccessEnds::End& end : std::span(ended).first(count))
    sink.access_completed(end.token, end.outcome);
  if (announced_count != 0) [[unlikely]]
    report(std::span(announced).first(announced_count), sink);
  return count + announced_count + delivery_.deliver_all(sink, limit);
}

void SessionDevice::report(std::span<const Announcements::Announcement> announced, Sink& sink) noexcept {
  for (const auto& [peer, value] : announced)
    if (peer < 0)
      sink.landed(value, transport_->landing_bytes());
    else
      sink.immediate_arrived(peer, value, Transport::kImmediateBytes);
  announcements_.reported(announced.size());
}

bool SessionDevice::flush_staged() noexcept {
  const Guard guard(lock_);
  if (!guard) return false;
  staging_.flush_links(true);
  return staging_.is_empty();
}

bool SessionDevice::is_laden() const noexcept {
  return !is_stopped() && (staging_.is_staging() || credits_.is_owed() || transport_->is_laden());
}

void SessionDevice::carry() noexcept {
  bool has_ends = false;
  {
    const DeviceLock::Visit visit(lock_);
    if (!visit.owns() || is_stopped()) return;
    staging_.flush_links(true);
    transport_->carry(*this);
    // The program may have made its last call for long, and its peers end only when they have this credit.
    credits_.begin_idle();
    credits_.return_when_idle();
    contacts_.serve_links();
    has_ends = !accesses_.are_reported() || !announcements_.is_empty();
  }
  // What has been read meanwhile rings for no sleeping thread any more.
  if ((has_ends || delivery_.has_pending()) && parking_.has_parked()) parking_.wake(~std::uint32_t{0});
}

void SessionDevice::describe_unsent(std::vector<std::string>& lines) {
  const DeviceLock::Visit visit(lock_);
  if (!visit.owns()) return;
  const auto add = [&](int rank, std::size_t bytes, std::int64_t since, const std::string& what) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.3f", static_cast<double>(base::now_ns() - since) * 1e-9);
    lines.push_back("device " + std::to_string(context_.index) + ": " + what + " to rank " +
                    std::to_string(rank) + ", " + std::to_string(bytes) + " bytes, for " + seconds + " s");
  };
  for (const Link* link = links_.first(); link != nullptr; link = link->next) {
    const StagedFrame& staged = link->staged;
    if (staged.frame != nullptr)
      add(link->rank, staged.size, staged.since,
          std::to_string(staged.messages) + " messages are staged, to leave together,");
    if (const Transport::Unsent unsent = transport_->unsent(*link); unsent.bytes != 0)
      add(link->rank, unsent.bytes, unsent.since, "messages wait until the network has room,");
  }
}

}  // namespace weft::network::session
