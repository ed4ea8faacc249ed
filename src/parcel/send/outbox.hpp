// Parcels on their way out: what travels together, and what waits while the transport pushes back.
#pragma once

#include <weft/parcel/options.hpp>
#include <weft/parcel/parcelport.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace weft::parcel {

struct OutboxCounts {
  std::uint64_t messages = 0;
  std::uint64_t pushed_back = 0;
  std::uint64_t aggregated = 0;
  std::uint64_t lost = 0;
};

class Outbox {
 public:
  /// `poll` moves communication forward in the calling thread: immediate parcels wait in it.
  Outbox(Parcelport& port, const RuntimeOptions& options, bool (*poll)(void*), void* context);
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// Sends one parcel: `head`, which is moved from, and the chunks that lie in `held`. Any thread.
  void send(int peer, detail::ByteBuffer& head, std::vector<Bytes>& chunks,
            std::unique_ptr<detail::HeldValues> held, unsigned worker);
  /// Sends what waits, as far as the transport takes it. Any thread. Returns whether anything has left.
  bool flush(unsigned worker);
  /// A message has left. Any thread, also inside send() and flush().
  void sent(std::unique_ptr<OutgoingMessage> message, bool is_delivered);
  /// Nothing waits, and no message is under way. Approximate while others send.
  [[nodiscard]] bool is_empty() const noexcept;
  [[nodiscard]] OutboxCounts counts() const noexcept;

 private:
  /// The parcels towards one rank that wait.
  struct Destination {
    std::atomic<std::int64_t> last_held_up{0};  // when a parcel last found enough messages under way
    std::mutex mutex;
    std::atomic<bool> has_waiting{false};
    std::unique_ptr<OutgoingMessage> open;                // parcels are appended to it
    std::deque<std::unique_ptr<OutgoingMessage>> sealed;  // before those in `open`
    std::size_t waiting_bytes = 0;
    std::atomic<std::uint32_t> connections{0};  // messages under way that are reported sent()
    std::atomic<std::size_t> chunk_bytes{0};    // waiting or under way
  };

  /// Moves communication until less than a limit of chunks is under way to `peer`, or it has failed.
  void wait_for_room(Destination& destination, int peer, unsigned worker);
  void send_at_once(int peer, detail::ByteBuffer& head, std::vector<Bytes>& chunks,
                    std::unique_ptr<detail::HeldValues>& held, unsigned worker);
  [[nodiscard]] bool try_now(int peer, detail::ByteBuffer& head, std::vector<Bytes>& chunks,
                             std::unique_ptr<detail::HeldValues>& held, unsigned worker);
  void append(Destination& destination, int peer, detail::ByteBuffer& head, std::vector<Bytes>& chunks,
              std::unique_ptr<detail::HeldValues> held);
  /// `is_urgent`: however many messages are under way.
  bool flush_locked(Destination& destination, int peer, unsigned worker, bool is_urgent = false);
  /// There are fewer messages under way than what makes waiting worth while.
  [[nodiscard]] bool has_room(const Destination& destination, bool has_chunks) const noexcept;
  /// Returns whether a parcel is to be sent by itself at once (adaptive). `is_urgent`: although enough
  /// messages are under way, since parcels come so slowly that none should wait for another.
  [[nodiscard]] bool may_leave_now(Destination& destination, bool has_chunks, bool& is_urgent) const noexcept;
  /// Drops what waits for a rank that has failed.
  void drop(Destination& destination);
  [[nodiscard]] bool try_message(Destination& destination, std::unique_ptr<OutgoingMessage>& message,
                                 unsigned worker);
  [[nodiscard]] std::unique_ptr<OutgoingMessage> connection(int peer);
  [[nodiscard]] bool is_small(const detail::ByteBuffer& head, bool has_chunks) const noexcept {
    return !has_chunks && !are_small_tracked_ && head.size() <= limits_.small_bytes;
  }

  Parcelport& port_;
  const Aggregation aggregation_;
  const PortLimits limits_;
  const bool are_small_tracked_;     // as messages that are reported sent(): so many are under way
  const std::size_t message_bytes_;  // a message is sealed when it has so many
  const unsigned most_connections_;
  bool (*const poll_)(void*);
  void* const context_;
  std::vector<std::unique_ptr<Destination>> destinations_;
  std::atomic<std::uint32_t> waiting_destinations_{0};
  std::atomic<std::uint64_t> under_way_{0};
  // The connection cache: messages with their memory, last used first. Those used longest ago are dropped.
  std::mutex cache_mutex_;
  std::deque<std::unique_ptr<OutgoingMessage>> cache_;
  std::atomic<std::uint64_t> messages_{0};
  std::atomic<std::uint64_t> pushed_back_{0};
  std::atomic<std::uint64_t> aggregated_{0};
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace weft::parcel
