// Parcelports: what carries parcels between ranks. The runtime above decides what travels together; a
// parcelport moves messages, and says when it cannot take more.
#pragma once

#include <weft/bytes.hpp>
#include <weft/detail/export.hpp>
#include <weft/parcel/detail/array_memory.hpp>
#include <weft/parcel/detail/byte_buffer.hpp>
#include <weft/runtime.hpp>
#include <weft/types.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::parcel {

namespace detail {
struct DecodedParcel;

/// Keeps the arguments in which zero-copy chunks lie.
struct HeldValues {
  virtual ~HeldValues() = default;
};
}  // namespace detail

/// Parcels that leave in one message.
struct OutgoingMessage {
  int peer = -1;
  detail::ByteBuffer head;    ///< the parcels, one behind the other
  std::vector<Bytes> chunks;  ///< of all parcels, in their order
  std::vector<std::unique_ptr<detail::HeldValues>> held;
};

/// Parcels that arrive in one message. A parcelport derives from it what owns the bytes of `head`.
struct IncomingMessage {
  virtual ~IncomingMessage() = default;
  int source = -1;
  Bytes head;
  std::vector<std::uint64_t> chunk_sizes;
  /// Where the chunks lie, all of them or none: those that have come with the head.
  std::vector<const std::byte*> chunk_addresses;
  detail::ChunkKeeper* keeper = nullptr;  ///< of chunk_addresses: arrays may stay there
  /// Where the chunks belong, filled by Receiver::place(). Empty for those that it has taken from
  /// chunk_addresses.
  std::vector<MutableBytes> landings;
  std::vector<detail::DecodedParcel*> decoded;
};

/// The runtime's side of a parcelport. Calls come from worker threads, inside Parcelport::poll(), park(),
/// try_send() or try_send_small(); sent() and failed() from any thread.
class Receiver {
 public:
  /// A message without chunks, which is copied: what try_send_small() took comes here, and others may.
  virtual void on_small(int source, Bytes parcels) = 0;
  /// Decodes the parcels, so that message.landings says where the chunks belong; those of a parcel that
  /// cannot be decoded land in memory that nobody reads. False: the bytes are no parcels, which has been
  /// counted and logged; the chunks, if any, are to be dropped.
  [[nodiscard]] virtual bool place(IncomingMessage& message) = 0;
  /// The message is complete; without chunks it need not have been placed.
  virtual void arrived(std::unique_ptr<IncomingMessage> message) = 0;
  /// A message cannot be read, and nothing says how many parcels it had. Counted, and logged with `why`.
  virtual void dropped(int source, const char* why) = 0;
  /// The sender has failed before all chunks had come.
  virtual void lost(std::unique_ptr<IncomingMessage> message) = 0;
  /// The message has left, and its memory may be used again; or it could not be delivered. `message.peer` is
  /// its rank.
  virtual void sent(std::unique_ptr<OutgoingMessage> message, bool is_delivered) = 0;
  /// The rank has failed.
  virtual void failed(int rank) = 0;

 protected:
  ~Receiver() = default;
};

struct PortLimits {
  std::size_t small_bytes = 0;    ///< longest message of parcels for try_send_small
  std::size_t message_bytes = 0;  ///< heads up to here are moved with the least effort
  /// So many messages to a rank are worth having under way; while there are as many, parcels that follow
  /// close upon each other wait and travel together (Aggregation::adaptive). For ports where a message costs
  /// much more than a parcel, and which take all the same whatever they are given.
  std::uint32_t messages_at_once = kAnyNumber;
  std::uint32_t chunked_at_once = kAnyNumber;  ///< likewise, of parcels with chunks
  static constexpr std::uint32_t kAnyNumber = UINT32_MAX;
};

/// One parcelport. Unless said otherwise, any worker thread calls, several at a time; `worker` is its number,
/// or the number of workers for calls of other threads.
class WEFT_API Parcelport {
 public:
  virtual ~Parcelport() = default;

  [[nodiscard]] virtual int rank() const noexcept = 0;
  [[nodiscard]] virtual int size() const noexcept = 0;
  /// Ranks of this rank's host, itself included.
  [[nodiscard]] virtual int ranks_of_host() const noexcept { return 1; }
  /// As weft::Runtime::allgather. One thread; also before start() and after stop().
  virtual void allgather(Bytes mine, std::span<std::byte> all) = 0;
  [[nodiscard]] virtual PortLimits limits() const noexcept = 0;

  /// From now on messages are accepted. One thread.
  virtual void start(Receiver& receiver, unsigned workers) = 0;
  /// No message is accepted any more; those that were taken over are delivered, or reported lost. One
  /// thread, while no worker calls.
  virtual void stop() = 0;

  /// Sends a message without chunks, copied, of at most small_bytes; or a record of the runtime, of up to 256
  /// bytes, also where that is 0. False: push-back, not now.
  [[nodiscard]] virtual bool try_send_small(int peer, Bytes parcels, unsigned worker) = 0;
  /// Takes over `message`, which becomes empty, and reports it sent() later, or inside the call. False:
  /// push-back.
  [[nodiscard]] virtual bool try_send(std::unique_ptr<OutgoingMessage>& message, unsigned worker) = 0;
  /// Moves communication forward. Returns whether it did anything.
  virtual bool poll(unsigned worker) = 0;
  /// Differs after each wake(). Read before the look for something to do that precedes a park().
  [[nodiscard]] virtual std::uint64_t wakes() const noexcept = 0;
  /// Sleeps until something arrives, wakes() is not `seen` any more, or the time is over. What arrives may be
  /// missed for as long as `longest`; a wake(), also one before the call, is not.
  virtual void park(unsigned worker, Timeout longest, std::uint64_t seen) = 0;
  /// Ends park() in all threads. Any thread.
  virtual void wake() noexcept = 0;
  [[nodiscard]] virtual bool has_failed(int rank) const noexcept = 0;
  /// Its own options with their values, for Runtime::description(): "retries=own,devices=2"; or nothing.
  [[nodiscard]] virtual std::string description() const { return {}; }
  /// The runtime of weft that carries the messages; nullptr for other transports.
  [[nodiscard]] virtual weft::Runtime* transport() noexcept { return nullptr; }
};

}  // namespace weft::parcel
