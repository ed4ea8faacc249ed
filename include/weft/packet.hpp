// Pre-registered buffers in which users assemble messages in place.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/types.hpp>

#include <span>
#include <utility>

namespace weft {

namespace detail {
class PacketSource {
 public:
  virtual void put_packet(std::uint32_t index) noexcept = 0;

 protected:
  ~PacketSource() = default;
};
}  // namespace detail

/// Owns one packet of a device's pool, or none. A post that accepts the packet takes it over; a post that
/// answers retry leaves it with this object. Destruction releases the packet to its pool; any thread. A
/// packet that is destroyed after its runtime ends the program with a line that says so.
class Packet {
 public:
  Packet() noexcept = default;
  Packet(std::byte* data, std::size_t capacity, std::uint32_t index, detail::PacketSource* source) noexcept
      : data_(data), capacity_(capacity), index_(index), source_(source) {}
  Packet(Packet&& other) noexcept { *this = std::move(other); }
  Packet& operator=(Packet&& other) noexcept {
    if (this != &other) {
      reset();
      data_ = std::exchange(other.data_, nullptr);
      capacity_ = std::exchange(other.capacity_, 0);
      index_ = other.index_;
      source_ = std::exchange(other.source_, nullptr);
    }
    return *this;
  }
  ~Packet() { reset(); }

  /// False when there was no packet (pool empty), or it has been posted or released.
  [[nodiscard]] explicit operator bool() const noexcept { return source_ != nullptr; }
  /// The room for the payload, in bytes (attribute packet_size).
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {data_, capacity_}; }
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }

  /// Releases the packet to its pool.
  void reset() noexcept {
    if (source_ != nullptr) std::exchange(source_, nullptr)->put_packet(index_);
  }
  /// Ends this object's ownership without releasing the packet to its pool; the program gets it back by
  /// Runtime::packet_of(data()). Returns index().
  std::uint32_t release() noexcept {
    source_ = nullptr;
    return index_;
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t capacity_ = 0;
  std::uint32_t index_ = 0;
  detail::PacketSource* source_ = nullptr;
};

}  // namespace weft
