#include "study/parcelports/connections/connection_port.hpp"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "study/parcelports/connections/connection_context.hpp"
#include "study/parcelports/connections/header_message.hpp"
#include "study/parcelports/connections/receive_connection.hpp"
#include "study/parcelports/connections/send_connection.hpp"

namespace weft::parcel::ports {

void ConnectionContext::wait_for_room(SendConnection& connection, unsigned worker) {
  WaitingConnections& all = waiting_of(worker);
  const std::lock_guard lock(all.mutex);
  all.sends.push_back(&connection);
  all.count.fetch_add(1, std::memory_order_relaxed);
}
void ConnectionContext::wait_for_room(ReceiveConnection& connection, unsigned worker) {
  WaitingConnections& all = waiting_of(worker);
  const std::lock_guard lock(all.mutex);
  all.receives.push_back(&connection);
  all.count.fetch_add(1, std::memory_order_relaxed);
}

bool ConnectionContext::retry(unsigned worker) {
  WaitingConnections& own = waiting_of(worker);
  bool has_done = retry(own, worker);
  if (!are_retries_own) return has_done;
  // The worker whose they are may sleep, or compute for long.
  constexpr unsigned kForAll = 64;
  const unsigned tries = own.tries.load(std::memory_order_relaxed) + 1;
  own.tries.store(tries, std::memory_order_relaxed);
  if (worker + 1 < waiting.size() && tries % kForAll != 0) return has_done;
  for (WaitingConnections& each : waiting) has_done |= retry(each, worker);
  return has_done;
}

bool ConnectionContext::retry(WaitingConnections& all, unsigned worker) {
  if (all.count.load(std::memory_order_relaxed) == 0) [[likely]]
    return false;
  // Each once, in their order; receives first, since they make room.
  const auto resume_all = [&](auto& list) {
    bool has_done = false;
    std::unique_lock lock(all.mutex);
    for (std::size_t left = list.size(); left > 0 && !list.empty(); --left) {
      auto* const connection = list.front();
      list.pop_front();
      all.count.fetch_sub(1, std::memory_order_relaxed);
      lock.unlock();
      const bool has_gone_on = connection->resume(worker);
      has_done |= has_gone_on;
      if (!has_gone_on) wait_for_room(*connection, worker);
      lock.lock();
    }
    return has_done;
  };
  const bool has_received = resume_all(all.receives);
  return resume_all(all.sends) || has_received;
}

namespace {

class ConnectionPort final : public Parcelport, private HeaderReceiver {
 public:
  ConnectionPort(std::unique_ptr<TwoSided> transport, bool has_own_retries)
      : transport_(std::move(transport)), context_(*transport_, has_own_retries) {}
  ~ConnectionPort() override { stop(); }

  int rank() const noexcept override { return transport_->rank(); }
  int size() const noexcept override { return transport_->size(); }
  int ranks_of_host() const noexcept override { return transport_->ranks_of_host(); }
  void allgather(Bytes mine, std::span<std::byte> all) override { transport_->allgather(mine, all); }
  PortLimits limits() const noexcept override {
    const std::size_t room = transport_->header_bytes() - sizeof(HeaderMessage);
    // Each chunk is a message in any case, and those of one connection go one after the other.
    return {room, room, kMessagesAtOnce, PortLimits::kAnyNumber};
  }
  bool has_failed(int rank) const noexcept override { return transport_->has_failed(rank); }
  weft::Runtime* transport() noexcept override { return transport_->transport(); }
  std::string description() const override {
    std::string text = transport_->description();
    if (!text.empty()) text += ',';
    return text + "retries=" + (context_.are_retries_own ? "own" : "shared");
  }

  void start(Receiver& receiver, unsigned workers) override {
    workers_ = workers;
    context_.start(workers);
    context_.receiver = &receiver;
    transport_->start(*this, workers);
  }
  void stop() override {
    if (context_.receiver == nullptr) return;
    while (context_.live.load(std::memory_order_acquire) != 0) poll(workers_);
    transport_->stop();
    context_.receiver = nullptr;
  }

  bool try_send_small(int peer, Bytes parcels, unsigned worker) override {
    return SendConnection::try_send_small(context_, peer, parcels, worker);
  }
  bool try_send(std::unique_ptr<OutgoingMessage>& message, unsigned worker) override {
    return SendConnection::try_send(context_, message, worker);
  }
  bool poll(unsigned worker) override {
    const bool has_done = transport_->poll(worker);
    return context_.retry(worker) || has_done;
  }
  std::uint64_t wakes() const noexcept override { return transport_->wakes(); }
  void park(unsigned worker, Timeout longest, std::uint64_t seen) override {
    transport_->park(worker, longest, seen);
  }
  void wake() noexcept override { transport_->wake(); }

 private:
  struct Copied final : IncomingMessage {
    std::vector<std::byte> bytes;
  };
  static constexpr std::uint32_t kMessagesAtOnce = 4;
  // Longer heads keep memory of their own, instead of being copied among others.
  static constexpr std::size_t kSmall = 2048;

  void on_header(int source, Bytes bytes, unsigned worker) override {
    const auto header = read_header_message(bytes, size());
    if (!header) return context_.receiver->dropped(source, "it is no header message");
    if (source != kUnknown && header->fields.source != source)
      return context_.receiver->dropped(source, "it names another rank than the one that has sent it");
    const HeaderMessage& fields = header->fields;
    context_.tags.peer_has_finished(fields.source, fields.finished);
    if (fields.kind == HeaderMessage::kFinished) return;
    if (fields.kind == HeaderMessage::kRelease) {
      if (!context_.tags.release(fields.number)) refuse("it gives a tag back that was not taken");
      return;
    }
    const bool has_all = (fields.flags & HeaderMessage::kHasHead) != 0 && fields.chunks == 0;
    if (!has_all) {
      if (!context_.tags.begin(fields.source, fields.number))
        return context_.receiver->dropped(fields.source,
                                          "its follow-up messages would have the tags of others");
      receive_followups(*header, worker);
      return;
    }
    if (header->head.size() <= kSmall) {
      context_.receiver->on_small(fields.source, header->head);
    } else {
      auto copied = std::make_unique<Copied>();
      copied->source = fields.source;
      copied->bytes.assign(header->head.begin(), header->head.end());
      copied->head = copied->bytes;
      context_.receiver->arrived(std::move(copied));
    }
    if (transport_->tag_policy() == TagPolicy::provider)
      SendConnection::send_notice(context_, fields.source, HeaderMessage::kRelease, fields.number, 0, worker);
  }

  void on_failure(int rank) override { context_.receiver->failed(rank); }

  void receive_followups(const ReceivedHeader& header, unsigned worker) {
    std::unique_ptr<ReceiveConnection> connection;
    try {
      connection = std::make_unique<ReceiveConnection>(context_, header);
      connection->begin();
    } catch (const std::exception&) {
      return context_.receiver->dropped(header.fields.source, "there is no memory for what it announces");
    }
    ReceiveConnection* const begun = connection.release();
    if (!begun->resume(worker)) context_.wait_for_room(*begun, worker);
  }
  void refuse(const char* why) const noexcept {
    std::fprintf(stderr, "weft: rank %d: parcel: a header message was dropped: %s\n", rank(), why);
  }

  std::unique_ptr<TwoSided> transport_;
  ConnectionContext context_;
  unsigned workers_ = 0;
};

}  // namespace

std::unique_ptr<Parcelport> make_connection_port(std::unique_ptr<TwoSided> transport, bool has_own_retries) {
  return std::make_unique<ConnectionPort>(std::move(transport), has_own_retries);
}

}  // namespace weft::parcel::ports
