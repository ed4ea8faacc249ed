// What libfabric reports: messages that have arrived, transfers that have ended.
#include "network/ofi/device.hpp"

#include <array>
#include <cstring>

namespace weft::network::ofi {

namespace {

constexpr std::size_t kEntries = 16;
constexpr std::uint32_t kLongIdle = 1U << 20;
constexpr std::size_t kPerCall = 64;  // so that a flood does not keep a thread inside

}  // namespace

void OfiDevice::drive() noexcept {
  post_receives();
  if (idle_drives_ <= kLongIdle) ++idle_drives_;
  // Some providers report one completion at a time however many there are.
  for (std::size_t seen = 0; seen < kPerCall;) {
    std::array<fi_cq_data_entry, kEntries> entries;
    const ssize_t count = ::fi_cq_read(completions_.get(), entries.data(), entries.size());
    if (count == -FI_EAVAIL) {
      on_error();
      ++seen;
      continue;
    }
    if (count <= 0) break;
    for (ssize_t next = 0; next < count; ++next) on_completion(entries[static_cast<std::size_t>(next)]);
    seen += static_cast<std::size_t>(count);
  }
  serve_links();
}

void OfiDevice::post_receives() noexcept {
  ReceiveBuffer* buffer = buffers_.take_free();
  while (buffer != nullptr) {
    ReceiveBuffer* next = buffer->next;
    buffer->next = unposted_;
    unposted_ = buffer;
    buffer = next;
  }
  while (unposted_ != nullptr) {
    ReceiveBuffer* next = unposted_->next;
    unposted_->transfer.kind = Transfer::Kind::receive;
    if (::fi_recv(endpoint_.get(), unposted_->bytes, buffers_.size(), unposted_->descriptor, FI_ADDR_UNSPEC,
                  &unposted_->transfer.raw) != 0)
      return;  // the queue of receives is full; what arrives beyond it waits in the provider
    unposted_ = next;
  }
}

void OfiDevice::on_completion(const fi_cq_data_entry& entry) noexcept {
  auto* transfer = static_cast<Transfer*>(entry.op_context);
  if (transfer->kind == Transfer::Kind::receive)
    on_message(*reinterpret_cast<ReceiveBuffer*>(transfer), entry.len);
  else
    end(*static_cast<Sending*>(transfer));
}

void OfiDevice::on_error() noexcept {
  fi_cq_err_entry error{};
  if (::fi_cq_readerr(completions_.get(), &error, 0) != 1) return;
  char room[128] = {};
  const char* details =
      ::fi_cq_strerror(completions_.get(), error.prov_errno, error.err_data, room, sizeof room);
  const std::string text = error_text(error.err) + " (" + (details != nullptr ? details : "no details") + ")";
  auto* transfer = static_cast<Transfer*>(error.op_context);
  if (transfer == nullptr) {
    shared_.log.warn("the network lost something: " + text);
    return;
  }
  if (transfer->kind == Transfer::Kind::receive) {
    auto& buffer = *reinterpret_cast<ReceiveBuffer*>(transfer);
    if (error.err == FI_ETRUNC) shared_.log.warn("refused a message that is longer than a packet");
    buffers_.give_back(buffer);
    return;
  }
  auto& sending = *static_cast<Sending*>(transfer);
  // A network that has lost one message cannot promise the next. A goodbye is not missed by a peer that has
  // left, too, and has closed the connection.
  const bool is_missed = sending.kind != Transfer::Kind::goodbye;
  shared_.peers.mark_gone(sending.link->rank, is_missed ? "a message was not delivered: " + text : "");
  end(sending);
}

void OfiDevice::on_message(ReceiveBuffer& buffer, std::size_t size) noexcept {
  buffer.size = size;
  Header header{};
  if (size >= sizeof header && size <= buffers_.size()) std::memcpy(&header, buffer.bytes, sizeof header);
  if (!accept(buffer, header)) buffers_.give_back(buffer);
}

bool OfiDevice::accept(ReceiveBuffer& buffer, const Header& header) noexcept {
  const auto peers = static_cast<std::uint32_t>(shared_.peers.size());
  const int rank = header.rank < peers ? static_cast<int>(header.rank) : shared_.peers.rank();
  if (buffer.size < sizeof header || header.rank >= peers) {
    reject(rank, "message of no rank", header.rank);
    return false;
  }
  const Bytes payload(buffer.bytes + sizeof header, buffer.size - sizeof header);
  if (header.kind == Kind::hello) {
    on_hello(header, payload);
    return false;
  }
  Link* link = find(rank, header.device);
  if (link == nullptr || !link->hello_heard) {
    reject(rank, "message of a device that has not said hello", header.device);
    return false;
  }
  switch (header.kind) {
    case Kind::data:
    case Kind::control:
    case Kind::urgent:
    case Kind::bulk:
    case Kind::chunks: {
      Lane& lane = link->lane(traffic_of(header.kind));
      if (lane.received - lane.told >= lane.grants) {
        reject(rank, "message beyond its credit", lane.received);
        return false;
      }
      ++lane.received;
      idle_drives_ = 0;
      buffer.link = link;
      lane.arrived.put(buffer);
      // Pairs with the acquires of deliver() and poll().
      lane.pending.fetch_add(1, std::memory_order_release);
      pending_.fetch_add(1, std::memory_order_release);
      return true;
    }
    case Kind::credit:
      on_credit(*link, payload);
      return false;
    case Kind::ask:
      on_ask(*link, payload);
      return false;
    case Kind::handles:
      on_handles(*link, payload);
      return false;
    case Kind::goodbye:
      shared_.peers.mark_gone(rank, "");
      return false;
    case Kind::hello:
      break;
  }
  reject(rank, "message of an unknown kind", static_cast<std::uint64_t>(header.kind));
  return false;
}

void OfiDevice::reject(int rank, const char* what, std::uint64_t value) noexcept {
  constexpr std::size_t kKept = 64;  // between two polls; a flood of them is as good as these
  if (rejections_.size() >= kKept) return;
  rejections_.push_back({rank, what, value});
  has_rejections_.store(true, std::memory_order_relaxed);
}

}  // namespace weft::network::ofi
