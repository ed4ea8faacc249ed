// Parcels on their way out: what travels together, and what waits while the transport pushes back.
#pragma once

#include <weft/parcel/options.hpp>
#include <weft/parcel/parcelport.hpp>
#include <weft/parcel/waiter.hpp>

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
  std::uint64_t waits = 0;
  std::uint64_t pending = 0;  // bytes
};

class Outbox {
 public:
  /// `poll` moves communication forward in the calling thread.
  Outbox(Parcelport& port, const RuntimeOptions& options, bool (*poll)(void*), void* context);
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// Whether RuntimeOptions::pending_limit is reached. One relaxed load.
  [[nodiscard]] bool is_full() const noexcept { return pending_.load(std::memory_order_relaxed) >= limit_; }
  /// Waits until it is not. A task is suspended; not inside a call of the port.
  void wait_for_room();
  /// Sends one parcel: `head`, which is moved from, and the chunks that lie in `held`; what the transport
  /// does not take waits here. Never waits for the peer. Any thread.
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
    std::atomic<std::size_t> waiting_bytes{0};            // of heads
    std::atomic<std::uint32_t> connections{0};            // messages under way that are reported sent()
    std::atomic<std::size_t> chunk_bytes{0};              // waiting or under way
    std::atomic<std::uint64_t> taken{0};                  // messages that the rank has taken
    std::atomic<bool> is_stalled{false};                  // it takes none: nobody keeps pace with it
  };

  /// Moves communication for some microseconds while `is_ahead(destination)`, if the rank takes what is sent.
  template <class IsAhead>
  void keep_pace(Destination& destination, int peer, unsigned worker, const IsAhead& is_ahead);
  [[nodiscard]] static std::size_t weight_of(const OutgoingMessage& message) noexcept;
  void add_pending(std::size_t bytes) noexcept { pending_.fetch_add(bytes, std::memory_order_relaxed); }
  void remove_pending(std::size_t bytes) noexcept;
  static void note_taken(Destination& destination) noexcept;
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
  const bool are_small_tracked_;  // as messages that are reported sent(): so many are under way
  const std::size_t limit_;
  const std::size_t pace_;
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
  std::atomic<std::uint64_t> waits_{0};
  // weight_of() all messages here or under way; heads of small ones that leave at once are none.
  alignas(64) std::atomic<std::size_t> pending_{0};
  std::atomic<bool> has_waiters_{false};
  std::mutex waiters_mutex_;
  std::vector<Waiter*> waiters_;
};

}  // namespace weft::parcel
