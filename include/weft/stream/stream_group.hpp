// Stream groups: the streams of all ranks that exchange messages, addressed by rank and index.
#pragma once

#include <weft/collective.hpp>
#include <weft/detail/context_state.hpp>
#include <weft/message.hpp>
#include <weft/options.hpp>
#include <weft/stream/stream.hpp>

#include <bit>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <vector>

namespace weft {

/// In a StreamAddress of a receive: any stream of the rank.
inline constexpr std::uint32_t any_index = ~std::uint32_t{0};
/// A stream of a group: the index of the stream in the list that its rank gave.
struct StreamAddress {
  int rank = any_source;
  std::uint32_t index = any_index;
};

class StreamGroup;

namespace stream {
class EnqueueEngine;
}

namespace detail {

/// The words of messages of a group, which has several matching contexts: the index of the sender is the
/// lowest part of their numbers, and above it is that of the receiver where a rank gave a stream twice;
/// elsewhere the device tells the receiver.
struct StreamWords {
  static constexpr std::uint32_t kStreams = 1 << 10;  // of a rank

  std::uint64_t context = 0;       // the number of the first context, in its place in a word
  std::uint64_t sender_bits = 0;   // of an index
  std::uint64_t per_receiver = 0;  // in a word, for each index; 0: words do not tell the receiver

  constexpr StreamWords() noexcept = default;
  /// For up to `most` streams of a rank. `has_receivers`: whether some are there twice.
  constexpr StreamWords(std::uint32_t first, std::uint32_t most, bool has_receivers) noexcept
      : context(std::uint64_t{first} << 32),
        sender_bits(std::bit_ceil(most) - 1),
        per_receiver(has_receivers ? (sender_bits + 1) << 32 : 0) {}
  [[nodiscard]] static constexpr std::uint32_t contexts_for(std::uint32_t most, bool has_receivers) noexcept {
    const std::uint32_t streams = std::bit_ceil(most);
    return has_receivers ? streams * streams : streams;
  }
  [[nodiscard]] constexpr std::uint64_t of_sender(std::uint32_t index) const noexcept {
    return context | std::uint64_t{index} << 32;
  }
  [[nodiscard]] constexpr std::uint64_t of_receiver(std::uint32_t index) const noexcept {
    return context | index * per_receiver;
  }
  [[nodiscard]] constexpr std::uint32_t sender(std::uint64_t word) const noexcept {
    return static_cast<std::uint32_t>(word >> 32 & sender_bits);
  }
};

/// The matching engine of the stream on a device; that of null streams for device 0. Beyond those of
/// programs.
[[nodiscard]] constexpr std::uint16_t engine_of_stream(std::uint8_t device) noexcept {
  return static_cast<std::uint16_t>(kStreamEngines + device);
}

/// Where the streams of a group are: what posts need of it.
struct GroupView {
  const std::uint32_t* begins = nullptr;  // by rank, where its streams begin in `devices`; and the end
  const std::uint8_t* devices = nullptr;  // of all streams; 0: null
  std::uint32_t ranks = 0;
  StreamWords words;

  /// Throws weft::Error for an address that is not in the group.
  [[nodiscard, gnu::always_inline]] std::uint8_t device_of(StreamAddress address) const {
    const auto rank = static_cast<std::uint32_t>(address.rank);
    if (rank >= ranks || address.index >= begins[rank + 1] - begins[rank]) [[unlikely]]
      refuse(address);
    return devices[begins[rank] + address.index];
  }
  [[noreturn]] WEFT_API void refuse(StreamAddress address) const;
};

}  // namespace detail

/// One of the own streams in a group, with the operations on it. A light object; the group must outlive it.
/// Threads as for Stream: one at a time, any number for the null stream.
///
/// Messages between two streams of a group are matched in MPI's order. sender_of() and
/// Message::tag_in_context() say who has sent a message, and its tag. Of the options, the group supplies
/// `engine`, `device`, `policy` and `tag_mask`. All calls throw weft::Error for an address that is not in the
/// group.
class WEFT_API GroupStream {
 public:
  /// Posts a send to a stream of a rank; otherwise as BasicEndpoint::post_send().
  [[gnu::always_inline]] Status post_send(StreamAddress to, std::uint32_t tag, Bytes bytes,
                                          const SendOptions& options = {}) {
    const std::uint8_t device = view_.device_of(to);
    const std::uint64_t word = as_sender_ | to.index * view_.words.per_receiver | tag;
    // Field by field, so that the compiler still knows the constants of the caller's options.
    const auto post = [&](auto& endpoint) __attribute__((always_inline)) {
      return endpoint.post_send(to.rank, word, bytes,
                                {.completion = options.completion,
                                 .user_data = options.user_data,
                                 .engine = detail::engine_of_stream(device),
                                 .device = device,
                                 .may_retry = options.may_retry,
                                 .may_complete_now = options.may_complete_now,
                                 .message_class = options.message_class,
                                 .timeout = options.timeout,
                                 .synchronous = options.synchronous,
                                 .handle = options.handle});
    };
    if (serial_ == nullptr) [[unlikely]]
      return post(*shared_);
    const StreamAccess access(*stream_, *serial_, gate_);
    return post(*serial_);
  }
  /// Posts a receive of a message from a stream of a rank, from any index of a rank, from an index of any
  /// rank, or from any stream; otherwise as BasicEndpoint::post_receive() on an ordered engine.
  [[gnu::always_inline]] Status post_receive(StreamAddress from, std::uint32_t tag,
                                             std::span<std::byte> buffer, const ReceiveOptions& options) {
    if (serial_ == nullptr || from.rank == any_source || from.index == any_index) [[unlikely]]
      return post_receive_masked(from, tag, ~std::uint64_t{0}, buffer, options);
    static_cast<void>(view_.device_of(from));
    const std::uint64_t word = as_receiver_ | std::uint64_t{from.index} << 32 | tag;
    const StreamAccess access(*stream_, *serial_, gate_);
    return serial_->post_receive(from.rank, word, buffer,
                                 {.completion = options.completion,
                                  .user_data = options.user_data,
                                  .engine = engine_,
                                  .may_retry = options.may_retry,
                                  .may_complete_now = options.may_complete_now,
                                  .arrived = options.arrived,
                                  .handle = options.handle,
                                  .timeout = options.timeout});
  }
  Status post_receive(StreamAddress from, AnyTag, std::span<std::byte> buffer,
                      const ReceiveOptions& options) {
    return post_receive_masked(from, 0, ~std::uint64_t{0xffffffff}, buffer, options);
  }
  /// Sends, and waits until the bytes may be reused. Returns the outcome. Not inside handlers.
  Outcome send(StreamAddress to, std::uint32_t tag, Bytes bytes, const SendOptions& options = {},
               const std::source_location& where = std::source_location::current());
  /// Receives a message and returns it; data() is in `buffer`. Not inside handlers.
  Message receive(StreamAddress from, std::uint32_t tag, std::span<std::byte> buffer,
                  const ReceiveOptions& options = {},
                  const std::source_location& where = std::source_location::current()) {
    return receive_masked(from, tag, ~std::uint64_t{0}, buffer, options, where);
  }
  Message receive(StreamAddress from, AnyTag, std::span<std::byte> buffer, const ReceiveOptions& options = {},
                  const std::source_location& where = std::source_location::current()) {
    return receive_masked(from, 0, ~std::uint64_t{0xffffffff}, buffer, options, where);
  }
  /// See BasicEndpoint::cancel().
  bool cancel(const ReceiveHandle& handle) {
    return stream_->with([&](auto& endpoint) { return endpoint.cancel(handle); });
  }
  bool cancel(const SendHandle& handle) {
    return stream_->with([&](auto& endpoint) { return endpoint.cancel(handle); });
  }
  /// The sending stream of a message that was received in the group.
  [[nodiscard]] StreamAddress sender_of(const Message& message) const noexcept {
    return {message.peer(), view_.words.sender(message.tag())};
  }
  /// Whether a message has arrived that such a receive would get; its tag is found.tag_in_context().
  [[nodiscard]] bool probe(StreamAddress from, std::uint32_t tag, ProbedMessage& found) {
    return probe_masked(from, tag, ~std::uint64_t{0}, found);
  }
  [[nodiscard]] bool probe(StreamAddress from, AnyTag, ProbedMessage& found) {
    return probe_masked(from, 0, ~std::uint64_t{0xffffffff}, found);
  }

  std::size_t progress() { return stream_->progress(); }
  template <class Object>
  decltype(auto) wait(Object& object, const std::source_location& where = std::source_location::current()) {
    return stream_->wait(object, where);
  }
  void wait(Counter& counter, std::uint64_t target,
            const std::source_location& where = std::source_location::current()) {
    stream_->wait(counter, target, where);
  }

  [[nodiscard]] Stream& stream() const noexcept { return *stream_; }
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }

 private:
  friend class StreamGroup;
  GroupStream(const detail::GroupView& view, Stream& stream, std::uint32_t index) noexcept
      : view_(view),
        stream_(&stream),
        serial_(stream.serial_),
        shared_(stream.shared_),
        gate_(stream.gate_),
        index_(index),
        as_sender_(view.words.of_sender(index)),
        as_receiver_(view.words.of_receiver(index)),
        engine_(detail::engine_of_stream(static_cast<std::uint8_t>(stream.index()))) {}
  [[nodiscard]] std::uint64_t address(StreamAddress from, std::uint32_t tag, std::uint64_t mask,
                                      ReceiveOptions& options) const;
  Status post_receive_masked(StreamAddress from, std::uint32_t tag, std::uint64_t mask,
                             std::span<std::byte> buffer, const ReceiveOptions& options);
  Message receive_masked(StreamAddress from, std::uint32_t tag, std::uint64_t mask,
                         std::span<std::byte> buffer, const ReceiveOptions& options,
                         const std::source_location& where);
  bool probe_masked(StreamAddress from, std::uint32_t tag, std::uint64_t mask, ProbedMessage& found);

  detail::GroupView view_;
  Stream* stream_;
  SerialEndpoint* serial_;
  Endpoint* shared_;
  detail::StreamGate* gate_;
  std::uint32_t index_;
  std::uint64_t as_sender_;  // the words of its messages, but for the other's index and the tag
  std::uint64_t as_receiver_;
  std::uint16_t engine_;
};

/// Options of a StreamGroup.
struct StreamGroupOptions {
  /// Which of the streams of each rank carries the group's collectives.
  std::uint32_t collective_index = 0;
};

/// Streams of all ranks, one or several a rank ("stream communicator", "multiplex stream communicator").
/// Messages of a group match only receives of the same group.
class WEFT_API StreamGroup {
 public:
  /// Collective: all ranks make the groups of a runtime in the same order, one thread at a time, each with
  /// its streams, in the order of their indices. nullptr stands for the null stream. A rank may give none;
  /// the numbers may differ. The group keeps its streams: one that is moved, closed or destroyed meanwhile
  /// goes on in it; a stream may be in any number of groups, of which there may be hundreds of thousands.
  /// Throws weft::Error, on all ranks, when there are more than 1024 streams on a rank, or rank 0 has no
  /// numbers left for matching contexts.
  StreamGroup(Runtime& runtime, std::span<Stream* const> streams, const StreamGroupOptions& options = {});
  StreamGroup(Runtime& runtime, Stream& stream, const StreamGroupOptions& options = {});
  /// Receives of the group that are still posted end with their streams.
  ~StreamGroup();
  StreamGroup(StreamGroup&&) noexcept;
  StreamGroup& operator=(StreamGroup&&) = delete;
  /// Collective: a group of the same streams, whose messages match only each other.
  [[nodiscard]] StreamGroup duplicate() const;

  [[nodiscard]] Runtime& runtime() const noexcept;
  [[nodiscard]] int rank() const noexcept;
  [[nodiscard]] int size() const noexcept;
  /// The number of streams of a rank. Throws weft::Error when the rank is out of range.
  [[nodiscard]] std::uint32_t streams_of(int rank) const;
  /// The own stream of this index. Throws weft::Error when there is none.
  [[nodiscard]] GroupStream member(std::uint32_t index = 0) const;

  /// The collectives of the group, over one stream of each rank (StreamGroupOptions), in a context of their
  /// own: they neither match nor wait for messages of the group, of other groups and of Collectives. All
  /// ranks call them in the same order; on each rank the thread of that stream calls. Made at the first call,
  /// which is local. Throws weft::Error when a rank has no such stream.
  [[nodiscard]] Collective& collective();
  /// StreamGroupOptions::collective_index.
  [[nodiscard]] std::uint32_t collective_index() const noexcept;
  Outcome barrier(const std::source_location& where = std::source_location::current()) {
    return collective().barrier(where);
  }

 private:
  friend class stream::EnqueueEngine;
  struct Table;
  [[nodiscard]] detail::GroupView view() const noexcept;
  void exchange_devices(std::uint32_t most, bool has_receivers);
  [[nodiscard]] Collective& make_collective();
  /// The own stream of this index without its gate, for the thread of a queue.
  [[nodiscard]] GroupStream member_of_queue(std::uint32_t index) const;
  /// The null stream takes a queue in each group. Returns false when it has one in this group.
  [[nodiscard]] bool claim_null(std::uint32_t index) const;
  void release_null(std::uint32_t index) const noexcept;
  StreamGroup(Runtime* runtime, std::span<Stream* const> streams, const StreamGroupOptions& options);
  std::unique_ptr<Table> table_;
};

}  // namespace weft
