// Contact between devices: greetings, and the messages by which they publish handles. Serves the links.
#include "network/session/session_device.hpp"

#include "base/clock.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace weft::network::session {

namespace {

constexpr std::uint32_t kForTheNetwork = 8;  // messages of the network itself that a link may have under way
/// Credits are returned in batches, and when they are asked for; the rest is returned, by the courier where
/// the program makes no call, when nothing has come for long: this rank may not be there to answer when a
/// peer that ends asks whether everything has been taken. Not soon, because a credit for each message would
/// double what is sent.
constexpr std::int64_t kIdleFor = 10'000'000;  // nanoseconds
constexpr std::uint32_t kIdleDrivesPerClock = 64;
constexpr std::uint32_t kMostCredits = 1U << 20;

}  // namespace

Link* SessionDevice::find(int rank, std::uint8_t device) const noexcept {
  // Both loads pair with the releases in contact().
  const Row* row = rows_[device].load(std::memory_order_acquire);
  return row == nullptr ? nullptr : row[rank].load(std::memory_order_acquire);
}

Link* SessionDevice::contact(int rank, std::uint8_t device, std::span<const std::byte> address) noexcept try {
  auto link = std::make_unique<Link>();
  link->rank = rank;
  link->device = device;
  link->peer = &shared_.peers.peer(rank);
  owned_links_.reserve(owned_links_.size() + 1);
  auto& row = owned_rows_[device];
  if (row == nullptr) {
    row = std::make_unique<Row[]>(static_cast<std::size_t>(shared_.peers.size()));
    rows_[device].store(row.get(), std::memory_order_release);
  }
  std::uint32_t first = 0;
  std::uint32_t further = 0;
  for (std::size_t next = 0; next < kTrafficClasses; ++next) {
    Lane& lane = link->lanes[next];
    const std::uint32_t few = credits_of(static_cast<TrafficClass>(next), shared_.first);
    lane.grants = credits_of(static_cast<TrafficClass>(next), shared_.credits);
    lane.batch = std::max(few / 4, 1U);
    first += few;
    further += lane.grants - few;
  }
  link->lane(TrafficClass::urgent).is_urgent = true;
  may_stage_ = shared_.courier.add(index_, *this) && shared_.stages;
  buffers_.grow(first + kForTheNetwork + shared_.held, shared_.held);
  buffers_.allow(further);
  if (!transport_->connect(*link, address)) {
    shared_.peers.mark_left(rank, "its address cannot be used");
    return nullptr;
  }
  link->next = links_.load(std::memory_order_relaxed);
  owned_links_.push_back(std::move(link));
  Link* ready = owned_links_.back().get();
  links_.store(ready, std::memory_order_release);
  row[static_cast<std::size_t>(rank)].store(ready, std::memory_order_release);
  links_need_service_ = true;
  shared_.log.debug([&] {
    return "a link between device " + std::to_string(index_) + " and device " + std::to_string(device) +
           " of rank " + std::to_string(rank);
  });
  return ready;
} catch (const std::exception& error) {
  shared_.log.warn("no contact with rank " + std::to_string(rank) + " yet: " + error.what());
  return nullptr;
}

void SessionDevice::serve_links() noexcept {
  if (changes_seen_ != shared_.board.changes()) {
    changes_seen_ = shared_.board.changes();
    links_need_service_ = true;
  }
  // Pairs with the release in deliver().
  if (credit_is_due_.load(std::memory_order_relaxed) &&
      credit_is_due_.exchange(false, std::memory_order_acquire))
    links_need_service_ = true;
  if (owes_batch_.load(std::memory_order_relaxed)) owes_batch_.store(false, std::memory_order_relaxed);
  if (idle_drives_ == 1) idle_since_ = base::now_ns();
  if (idle_drives_ % kIdleDrivesPerClock == 0) return_credit_when_idle();
  if (!links_need_service_ && !returns_all_credit_) return;
  links_need_service_ = false;
  // Pairs with the release in deliver().
  if (returns_all_credit_) owes_credit_.exchange(false, std::memory_order_acquire);
  for (Link* link = links_.load(std::memory_order_relaxed); link != nullptr; link = link->next)
    if (!link->peer->has_left.load(std::memory_order_relaxed) && !serve(*link)) links_need_service_ = true;
  if (returns_all_credit_ && links_need_service_) owes_credit_.store(true, std::memory_order_relaxed);
  if (!links_need_service_) returns_all_credit_ = false;
}

void SessionDevice::return_credit_when_idle() noexcept {
  if (!owes_credit_.load(std::memory_order_relaxed) || idle_drives_ == 0) return;
  if (base::now_ns() - idle_since_ >= kIdleFor) returns_all_credit_ = true;
}

bool SessionDevice::serve(Link& link) noexcept {
  if (!link.hello_sent && transport_->is_reaching(link)) return true;
  if (!link.hello_sent && send_hello(link) == Sent::later) {
    static_cast<void>(shared_.peers.has_left(link.rank));  // notices a peer that has ended
    return false;
  }
  if (!link.open.load(std::memory_order_relaxed)) return true;
  if (owes_credit(link) && send_credit(link) == Sent::later) return false;
  return link.changes_sent != link.changes_taken || !shared_.board.has_news(link.cursor) ||
         send_news(link) != Sent::later;
}

std::size_t SessionDevice::make_hello(std::span<std::byte, kLongestHello> room,
                                      HandleCursor& cursor) const noexcept {
  const Header head = header(Kind::hello, 0, 0);
  Hello hello{kMagic, kWireVersion, shared_.credits, 0, {}};
  shared_.peers.job_id().copy(hello.job_id.data(), hello.job_id.size() - 1);
  std::array<HandleChange, kChangesPerMessage> news;
  cursor = {};
  const std::size_t count = shared_.board.take_news(cursor, news);
  std::memcpy(room.data(), &head, sizeof head);
  std::memcpy(room.data() + sizeof head, &hello, sizeof hello);
  std::memcpy(room.data() + sizeof head + sizeof hello, news.data(), count * sizeof(HandleChange));
  return sizeof head + sizeof hello + count * sizeof(HandleChange);
}

Sent SessionDevice::send_hello(Link& link) noexcept {
  std::array<std::byte, kLongestHello> room;
  HandleCursor cursor;
  const std::size_t size = make_hello(room, cursor);
  const Sent sent =
      transport_->transmit(link, header(Kind::hello, 0, 0), Bytes(room).first(size).subspan(sizeof(Header)));
  if (sent == Sent::yes) hello_has_left(link, cursor);
  return sent;
}

void SessionDevice::hello_has_left(Link& link, const HandleCursor& cursor) noexcept {
  link.hello_sent = true;
  link.cursor = cursor;
  open_if_both_spoke(link);
}

void SessionDevice::open_if_both_spoke(Link& link) noexcept {
  if (!link.hello_sent || !link.hello_heard) return;
  // Pairs with the acquire in submit(): the credits are visible.
  link.open.store(true, std::memory_order_release);
  links_need_service_ = true;
}

Sent SessionDevice::send_news(Link& link) noexcept {
  std::array<HandleChange, kChangesPerMessage> news;
  HandleCursor cursor = link.cursor;
  const std::size_t count = shared_.board.take_news(cursor, news);
  Sent sent = Sent::yes;
  if (count != 0)
    sent = transport_->transmit(link, header(Kind::handles, 0, 0), bytes_of(std::span(news.data(), count)));
  if (sent == Sent::later) return sent;
  link.cursor = cursor;
  if (count != 0) ++link.changes_sent;
  return sent;
}

void SessionDevice::on_hello(const Header& header, Bytes payload) noexcept {
  const int rank = static_cast<int>(header.rank);
  Hello hello{};
  if (payload.size() >= sizeof hello) std::memcpy(&hello, payload.data(), sizeof hello);
  if (hello.magic != kMagic) return reject(rank, "greeting of a wrong form", payload.size());
  if (hello.version != kWireVersion)
    return reject(rank, "greeting in another version of the wire format", hello.version);
  hello.job_id.back() = '\0';
  if (shared_.peers.job_id() != hello.job_id.data())
    return reject(rank, "greeting of another job", hello.version);
  if (hello.credits == 0 || hello.credits > kMostCredits)
    return reject(rank, "greeting with an impossible number of credits", hello.credits);
  const Bytes changes = payload.subspan(sizeof hello);
  if (changes.size() % sizeof(HandleChange) != 0)
    return reject(rank, "greeting with handles of a wrong length", changes.size());
  Link* link = find(rank, header.device);
  if (link == nullptr) {
    const auto address = shared_.peers.find(rank, header.device);
    if (!address.has_value()) return reject(rank, "greeting of a device without an address", header.device);
    link = contact(rank, header.device, *address);
    if (link == nullptr) return;
  }
  if (link->hello_heard) return reject(rank, "second greeting of a device", header.device);
  link->hello_heard = true;
  // What the peer has room for from the start, and counts its batches by.
  const std::uint32_t first = shared_.adapts ? std::min(hello.credits, kFirstCredits) : hello.credits;
  for (std::size_t next = 0; next < kTrafficClasses; ++next)
    link->lanes[next].window.open(credits_of(static_cast<TrafficClass>(next), first),
                                  credits_of(static_cast<TrafficClass>(next), hello.credits));
  learn_handles(*link, changes);
  open_if_both_spoke(*link);
}

void SessionDevice::on_handles(Link& link, Bytes payload) noexcept {
  if (payload.empty() || payload.size() % sizeof(HandleChange) != 0)
    return reject(link.rank, "handles of a wrong length", payload.size());
  ++link.changes_heard;
  links_need_service_ = true;
  learn_handles(link, payload);
}

void SessionDevice::learn_handles(Link& link, Bytes payload) noexcept {
  for (; !payload.empty(); payload = payload.subspan(sizeof(HandleChange))) {
    HandleChange change{};
    std::memcpy(&change, payload.data(), sizeof change);
    if (change.state > static_cast<std::uint16_t>(HandleState::withdrawn) || change.version == 0)
      return reject(link.rank, "handle in an unknown state", change.state);
    if (!link.peer->handles.learn(change))
      shared_.log.warn("no memory for the handles of rank " + std::to_string(link.rank));
  }
}

}  // namespace weft::network::session
