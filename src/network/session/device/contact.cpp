#include "network/session/device/contact.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <string>
#include <utility>

namespace weft::network::session {

namespace {

constexpr std::uint32_t kMostCredits = 1U << 20;

}  // namespace

Link* Contacts::contact(int rank, std::uint8_t device, std::span<const std::byte> address) noexcept try {
  auto link = std::make_unique<Link>();
  link->rank = rank;
  link->device = device;
  link->peer = &context_.shared.peers.meet(rank);
  if (link->peer->has_left.load(std::memory_order_relaxed)) return nullptr;
  links_.reserve(device);
  std::uint32_t first = 0;
  std::uint32_t further = 0;
  for (std::size_t next = 0; next < kTrafficClasses; ++next) {
    Lane& lane = link->lanes[next];
    const std::uint32_t few = credits_of(static_cast<TrafficClass>(next), context_.shared.first);
    lane.grants = credits_of(static_cast<TrafficClass>(next), context_.shared.credits);
    lane.batch = std::max(few / 4, 1U);
    first += few;
    further += lane.grants - few;
  }
  link->lane(TrafficClass::urgent).is_urgent = true;
  staging_.allow(context_.shared.courier.add(context_.index, device_) && context_.shared.stages);
  context_.buffers.grow(first + kForTheNetwork + context_.shared.held, context_.shared.held);
  context_.buffers.allow(further);
  if (!context_.transport.connect(*link, address)) {
    context_.shared.peers.mark_left(rank, "its address cannot be used");
    return nullptr;
  }
  Link& ready = links_.add(std::move(link));
  context_.links_need_service = true;
  context_.shared.log.debug([&] {
    return "a link between device " + std::to_string(context_.index) + " and device " +
           std::to_string(device) + " of rank " + std::to_string(rank);
  });
  return &ready;
} catch (const std::exception& error) {
  context_.shared.log.warn("no contact with rank " + std::to_string(rank) + " yet: " + error.what());
  return nullptr;
}

void Contacts::serve_links() noexcept {
  if (changes_seen_ != context_.shared.board.changes()) {
    changes_seen_ = context_.shared.board.changes();
    context_.links_need_service = true;
  }
  credits_.look();
  if (!context_.links_need_service && !credits_.returns_all()) return;
  context_.links_need_service = false;
  credits_.begin_round();
  for (Link* link = links_.first(); link != nullptr; link = link->next)
    if (!link->peer->has_left.load(std::memory_order_relaxed) && !serve(*link))
      context_.links_need_service = true;
  credits_.end_round();
}

bool Contacts::serve(Link& link) noexcept {
  if (!link.hello_sent && context_.transport.is_reaching(link)) return true;
  if (!link.hello_sent && send_hello(link) == Sent::later) {
    static_cast<void>(context_.shared.peers.has_left(link.rank));  // notices a peer that has ended
    return false;
  }
  if (!link.open.load(std::memory_order_relaxed)) return true;
  if (credits_.owes(link) && credits_.send(link) == Sent::later) return false;
  return link.changes_sent != link.changes_taken || !context_.shared.board.has_updates(link.cursor) ||
         send_updates(link) != Sent::later;
}

std::size_t Contacts::make_hello(std::span<std::byte, kLongestHello> room,
                                 HandleCursor& cursor) const noexcept {
  const Header head = context_.header(Kind::hello, 0, 0);
  Hello hello{kMagic, kWireVersion, context_.shared.credits, 0, {}};
  context_.shared.peers.job_id().copy(hello.job_id.data(), hello.job_id.size() - 1);
  std::array<HandleChange, kChangesPerMessage> updates;
  cursor = {};
  const std::size_t count = context_.shared.board.take_updates(cursor, updates);
  std::memcpy(room.data(), &head, sizeof head);
  std::memcpy(room.data() + sizeof head, &hello, sizeof hello);
  std::memcpy(room.data() + sizeof head + sizeof hello, updates.data(), count * sizeof(HandleChange));
  return sizeof head + sizeof hello + count * sizeof(HandleChange);
}

Sent Contacts::send_hello(Link& link) noexcept {
  std::array<std::byte, kLongestHello> room;
  HandleCursor cursor;
  const std::size_t size = make_hello(room, cursor);
  const Sent sent = context_.transport.transmit(link, context_.header(Kind::hello, 0, 0),
                                                Bytes(room).first(size).subspan(sizeof(Header)));
  if (sent == Sent::yes) hello_has_left(link, cursor);
  return sent;
}

void Contacts::hello_has_left(Link& link, const HandleCursor& cursor) noexcept {
  link.hello_sent = true;
  link.cursor = cursor;
  open_if_both_spoke(link);
}

void Contacts::open_if_both_spoke(Link& link) noexcept {
  if (!link.hello_sent || !link.hello_heard) return;
  // Pairs with the acquire in submit(): the credits are visible.
  link.open.store(true, std::memory_order_release);
  context_.links_need_service = true;
}

/// There are some: has_updates() has said so.
Sent Contacts::send_updates(Link& link) noexcept {
  std::array<HandleChange, kChangesPerMessage> updates;
  HandleCursor cursor = link.cursor;
  const std::size_t count = context_.shared.board.take_updates(cursor, updates);
  const Sent sent = context_.transport.transmit(link, context_.header(Kind::handles, 0, 0),
                                                bytes_of(std::span(updates.data(), count)));
  if (sent == Sent::later) return sent;
  link.cursor = cursor;
  ++link.changes_sent;
  return sent;
}

void Contacts::on_hello(const Header& header, Bytes payload) noexcept {
  const int rank = static_cast<int>(header.rank);
  Hello hello{};
  if (payload.size() >= sizeof hello) std::memcpy(&hello, payload.data(), sizeof hello);
  if (hello.magic != kMagic) return context_.reject(rank, "greeting of a wrong form", payload.size());
  if (hello.version != kWireVersion)
    return context_.reject(rank, "greeting in another version of the wire format", hello.version);
  hello.job_id.back() = '\0';
  if (context_.shared.peers.job_id() != hello.job_id.data())
    return context_.reject(rank, "greeting of another job", hello.version);
  if (hello.credits == 0 || hello.credits > kMostCredits)
    return context_.reject(rank, "greeting with an impossible number of credits", hello.credits);
  const Bytes changes = payload.subspan(sizeof hello);
  if (changes.size() % sizeof(HandleChange) != 0)
    return context_.reject(rank, "greeting with handles of a wrong length", changes.size());
  Link* link = links_.find(rank, header.device);
  if (link == nullptr) {
    const auto address = context_.shared.peers.find(rank, header.device);
    if (!address.has_value())
      return context_.reject(rank, "greeting of a device without an address", header.device);
    link = contact(rank, header.device, *address);
    if (link == nullptr) return;
  }
  if (link->hello_heard) return context_.reject(rank, "second greeting of a device", header.device);
  link->hello_heard = true;
  // What the peer has room for from the start, and counts its batches by.
  const std::uint32_t first = context_.shared.adapts ? std::min(hello.credits, kFirstCredits) : hello.credits;
  for (std::size_t next = 0; next < kTrafficClasses; ++next)
    link->lanes[next].window.open(credits_of(static_cast<TrafficClass>(next), first),
                                  credits_of(static_cast<TrafficClass>(next), hello.credits));
  learn_handles(*link, changes);
  open_if_both_spoke(*link);
}

void Contacts::on_handles(Link& link, Bytes payload) noexcept {
  if (payload.empty() || payload.size() % sizeof(HandleChange) != 0)
    return context_.reject(link.rank, "handles of a wrong length", payload.size());
  ++link.changes_heard;
  context_.links_need_service = true;
  learn_handles(link, payload);
}

void Contacts::learn_handles(Link& link, Bytes payload) noexcept {
  for (; !payload.empty(); payload = payload.subspan(sizeof(HandleChange))) {
    HandleChange change{};
    std::memcpy(&change, payload.data(), sizeof change);
    if (change.state > static_cast<std::uint16_t>(HandleState::withdrawn) || change.version == 0)
      return context_.reject(link.rank, "handle in an unknown state", change.state);
    if (!link.peer->handles.learn(change))
      context_.shared.log.warn("no memory for the handles of rank " + std::to_string(link.rank));
  }
}

}  // namespace weft::network::session
