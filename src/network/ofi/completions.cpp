// Completions that libfabric reports: received messages, and transfers that have ended.
#include "network/ofi/ofi_endpoint.hpp"
#include "network/session/session_device.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <string>

namespace weft::network::ofi {

namespace {

constexpr std::size_t kEntries = 16;
constexpr std::uint32_t kReadsPerPost = 8;  // in a row that have found something
constexpr std::size_t kPerCall = 64;        // completions; limits the time that a thread holds the lock
constexpr std::uint32_t kFewReceives = 4;   // posted: more buffers are needed

}  // namespace

void OfiEndpoint::drive(session::SessionDevice& device) noexcept {
  std::size_t all = 0;
  for (std::size_t seen = 0; seen < kPerCall;) {
    std::array<fi_cq_data_entry, kEntries> entries;
    const ssize_t count = ::fi_cq_read(completions_.queue.get(), entries.data(), entries.size());
    if (count == -FI_EAVAIL) {
      on_error(device);
      ++seen;
      continue;
    }
    for (ssize_t next = 0; next < count; ++next)
      on_completion(entries[static_cast<std::size_t>(next)], device);
    all += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
    // What has come is delivered before the provider is asked for more: that may cost it a system call.
    if (count < static_cast<ssize_t>(kEntries)) break;
    seen += kEntries;
  }
  // Not between a message and its delivery, unless many buffers may be free: what has no buffer waits in the
  // provider.
  fruitful_reads_ = all == 0 ? 0 : fruitful_reads_ + 1;
  if (fruitful_reads_ % kReadsPerPost == 0 || posted_ < kFewReceives) post_receives();
  if (accesses_ != nullptr) accesses_->drive(device);
  note_driven();
}

void OfiEndpoint::post_receives() noexcept {
  post_free_buffers();
  if (posted_ >= kFewReceives || unposted_ != nullptr) return;
  try {
    if (buffers_.grow_further()) post_free_buffers();
  } catch (const std::exception& error) {
    context_.log.info([&] { return "no more receive buffers now: " + std::string(error.what()); });
  }
}

void OfiEndpoint::post_free_buffers() noexcept {
  ReceiveBuffer* buffer = buffers_.take_free();
  while (buffer != nullptr) {
    auto* const next = static_cast<ReceiveBuffer*>(buffer->next);
    buffer->next = unposted_;
    unposted_ = buffer;
    buffer = next;
  }
  while (unposted_ != nullptr) {
    auto* const next = static_cast<ReceiveBuffer*>(unposted_->next);
    unposted_->kind = Transfer::Kind::receive;
    if (::fi_recv(endpoint_.get(), unposted_->bytes, buffers_.size(), unposted_->descriptor, FI_ADDR_UNSPEC,
                  &unposted_->raw) != 0)
      return;  // the queue of receives is full; further messages wait in the provider
    ++posted_;
    unposted_ = next;
  }
}

void OfiEndpoint::on_completion(const fi_cq_data_entry& entry, session::SessionDevice& device) noexcept {
  if ((entry.flags & (FI_REMOTE_CQ_DATA | FI_REMOTE_WRITE)) != 0) return device.landed(entry.data);
  auto* transfer = static_cast<Transfer*>(entry.op_context);
  if (transfer->kind != Transfer::Kind::receive) {
    auto& sending = *static_cast<Sending*>(transfer);
    if (sending.kind == Transfer::Kind::access) device.fetch_completed(sending.token, Outcome::ok);
    return end(sending);
  }
  --posted_;
  auto& buffer = *static_cast<ReceiveBuffer*>(transfer);
  buffer.size = std::min(entry.len, buffers_.size());
  device.accept(buffer);
}

void OfiEndpoint::on_error(session::SessionDevice& device) noexcept {
  fi_cq_err_entry error{};
  if (::fi_cq_readerr(completions_.queue.get(), &error, 0) != 1) return;
  char room[128] = {};
  const char* details =
      ::fi_cq_strerror(completions_.queue.get(), error.prov_errno, error.err_data, room, sizeof room);
  const std::string text = error_text(error.err) + " (" + (details != nullptr ? details : "no details") + ")";
  auto* transfer = static_cast<Transfer*>(error.op_context);
  if (transfer == nullptr) {
    context_.log.warn("the network lost something: " + text);
    return;
  }
  if (transfer->kind == Transfer::Kind::receive) {
    --posted_;
    auto& buffer = *static_cast<ReceiveBuffer*>(transfer);
    if (error.err == FI_ETRUNC) context_.log.warn("refused a message that is longer than a packet");
    buffers_.release(buffer);
    return;
  }
  auto& sending = *static_cast<Sending*>(transfer);
  // A network that has lost one message cannot promise to deliver the next. A lost goodbye is no failure: the
  // peer has left as well and has closed the connection.
  const bool is_missed = sending.kind != Transfer::Kind::goodbye;
  if (sending.kind == Transfer::Kind::access) device.fetch_completed(sending.token, Outcome::peer_failed);
  context_.peers.mark_left(sending.link->rank, is_missed ? "a message was not delivered: " + text : "");
  end(sending);
}

}  // namespace weft::network::ofi
