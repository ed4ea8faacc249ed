// From messages of weft to statuses of LCI, and back.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>

#include "objects.hpp"

namespace lci {

/// A status, written by pairs of words: it is copied by such pairs at once, into an argument or by the
/// program, and a load of a pair that was stored in parts waits until the stores have left the core.
[[gnu::always_inline]] inline status_t make_status(errorcode_t code, int rank, void* buffer, std::size_t size,
                                                   tag_t tag, void* user_context) noexcept {
  static_assert(std::endian::native == std::endian::little && sizeof(status_t) == 40 && sizeof(void*) == 8);
  static_assert(offsetof(status_t, rank) == 4 && offsetof(status_t, buffer) == 8 &&
                offsetof(status_t, size) == 16 && offsetof(status_t, tag) == 24);
  using Pair = std::uint64_t __attribute__((vector_size(16)));
  const Pair first{
      static_cast<std::uint64_t>(static_cast<std::uint32_t>(rank)) << 32 | static_cast<std::uint32_t>(code),
      reinterpret_cast<std::uintptr_t>(buffer)};
  const Pair second{size, tag};
  status_t status;
  auto* const to = reinterpret_cast<std::byte*>(&status);
  std::memcpy(to, &first, sizeof first);
  std::memcpy(to + sizeof first, &second, sizeof second);
  status.user_context = user_context;
  return status;
}

/// The operation of the messages that comp_signal() makes; none that arrives has it. Their device() is the
/// error code of the status.
inline constexpr weft::Operation kMadeBySignal = weft::Operation::peer_failure;

/// Supplies the memory for large active messages to one completion object, from the allocator of the runtime
/// that it receives from.
class ObjectPayloads final : public weft::PayloadOwner {
 public:
  [[nodiscard]] Payloads* of_runtime() const noexcept { return payloads_.load(std::memory_order_acquire); }
  void bind(Payloads& payloads) noexcept { payloads_.store(&payloads, std::memory_order_release); }
  [[nodiscard]] allocator_base_t& allocator() const noexcept {
    const Payloads* const payloads = of_runtime();
    return payloads != nullptr ? payloads->allocator() : g_allocator_default;
  }
  std::byte* allocate(std::size_t size) noexcept override {
    return static_cast<std::byte*>(allocator().allocate(size));
  }
  void release(std::byte* data, std::size_t, std::uint64_t) noexcept override {
    allocator().deallocate(data);
  }
  /// Frees the buffer of a status that the program does not get.
  void take_back(void* buffer) const noexcept {
    if (buffer == nullptr) return;
    Payloads* const payloads = of_runtime();
    if (payloads == nullptr || !payloads->put_packet(buffer)) allocator().deallocate(buffer);
  }
  /// The number of packets that statuses at rest may hold.
  [[nodiscard]] std::size_t packets_at_rest() const noexcept {
    const Payloads* const payloads = of_runtime();
    return payloads != nullptr ? payloads->packets() / 4 : 0;
  }

 private:
  std::atomic<Payloads*> payloads_{nullptr};
};

/// How a completion object hands out what it receives.
class Delivery {
 public:
  /// `payloads`: of the runtime that the object receives from, or null.
  Delivery(Payloads* payloads, bool into_packets) noexcept
      : payloads_(payloads),
        room_(payloads != nullptr ? payloads->packet_bytes() : 0),
        into_packets_(into_packets) {}
  /// The same, but not into packets.
  [[nodiscard]] Delivery into_memory() const noexcept { return {payloads_, false}; }

  /// The status of an operation that has ended, or of a message that has arrived, whose payload then belongs
  /// to the program.
  [[nodiscard, gnu::always_inline]] inline status_t status_of(weft::Message& message) const noexcept {
    const weft::Operation operation = message.operation();
    if (operation == weft::Operation::active_message) [[likely]] {
      const std::size_t size = message.size();
      void* const buffer = keep(message);
      return make_status(errorcode_t::done, message.peer(), buffer, size, message.tag(), nullptr);
    }
    errorcode_t code = errorcode_t::done;
    if (const weft::Outcome outcome = message.outcome(); outcome != weft::Outcome::ok) [[unlikely]]
      code = failed(message, outcome);
    if (operation == kMadeBySignal) [[unlikely]]
      code = static_cast<errorcode_t>(message.device());
    return make_status(code, message.peer(), const_cast<std::byte*>(message.data()), message.size(),
                       message.tag(), message.user_data());
  }

  /// A copy of an active message, which the program takes over; null: it is empty.
  [[nodiscard, gnu::always_inline]] inline void* own_copy(int rank, const std::byte* data,
                                                          std::size_t size) const noexcept {
    return into_packets_ ? own_copy<true>(rank, data, size) : own_copy<false>(rank, data, size);
  }
  /// The same for callers that know where the copies go.
  template <bool kIntoPackets>
  [[nodiscard, gnu::always_inline]] inline void* own_copy(int rank, const std::byte* data,
                                                          std::size_t size) const noexcept {
    if (size == 0) [[unlikely]]
      return nullptr;
    void* const memory = copy_to_own<kIntoPackets>(data, size);
    return memory != nullptr ? memory : copy_of(data, size, rank);
  }

  /// A copy of an active message of a word, which the caller has in a register.
  [[nodiscard, gnu::always_inline]] inline void* own_copy(int rank, std::uint64_t word) const noexcept {
    void* const memory = room_ < sizeof word ? nullptr
                         : into_packets_     ? payloads_->take_packet()
                                             : payloads_->allocate(sizeof word);
    if (memory == nullptr) [[unlikely]]
      return copy_of(reinterpret_cast<const std::byte*>(&word), sizeof word, rank);
    std::memcpy(memory, &word, sizeof word);
    return memory;
  }

  /// Says on standard error how the operation has ended. Returns the code for its status.
  static errorcode_t failed(const weft::Message& message, weft::Outcome outcome) noexcept;

 private:
  [[nodiscard, gnu::always_inline]] inline void* keep(weft::Message& message) const noexcept {
    const std::size_t size = message.size();
    if (size == 0) return nullptr;
    void* const memory =
        into_packets_ ? copy_to_own<true>(message.data(), size) : copy_to_own<false>(message.data(), size);
    return memory != nullptr ? memory : keep_large(message);
  }
  /// A copy of up to a packet, as the program takes it over; null: it is larger, or there is no memory.
  template <bool kIntoPackets>
  [[nodiscard, gnu::always_inline]] inline void* copy_to_own(const std::byte* from,
                                                             std::size_t size) const noexcept {
    if (size > room_) [[unlikely]]
      return nullptr;
    void* const memory = kIntoPackets ? payloads_->take_packet() : payloads_->allocate(size);
    if (memory == nullptr) [[unlikely]]
      return nullptr;
    if (size == sizeof(std::uint64_t)) {
      std::uint64_t word;
      std::memcpy(&word, from, sizeof word);
      std::memcpy(memory, &word, sizeof word);
    } else {
      std::memcpy(memory, from, size);
    }
    return memory;
  }
  /// Memory of the allocator in which the message lies, or to which it is copied.
  [[nodiscard]] void* keep_large(weft::Message& message) const noexcept;
  /// A copy in memory of the allocator; the program ends when that has none.
  [[nodiscard]] void* copy_of(const std::byte* data, std::size_t size, int rank) const noexcept;

  Payloads* payloads_;
  std::size_t room_;  // of a packet; 0 without payloads_
  bool into_packets_;
};

/// Signals weft's object as if an operation had ended with this status.
void signal_with(weft::Completion& completion, const status_t& status);

}  // namespace lci
