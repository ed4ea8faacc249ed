// Puts and gets on shared memory.
#pragma once

#include "network/network.hpp"
#include "network/shm/lane/send_state.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::network::shm {

/// Accesses the regions of peers, and their memory, without their owners' help: copies where the memory is
/// mapped or lies in this process, cross-memory attach where the kernel permits it. Any thread.
class RegionAccess {
 public:
  /// `shared` must outlive the object.
  explicit RegionAccess(const Shared& shared) noexcept : shared_(shared) {}

  /// See Port::put() and get(): both are over when they return.
  [[nodiscard]] AccessResult put(int rank, const RemoteMemory& to, Bytes from) noexcept {
    return access(rank, to, const_cast<std::byte*>(from.data()), from.size(), true);
  }
  [[nodiscard]] AccessResult get(int rank, const RemoteMemory& from, std::span<std::byte> to) noexcept {
    return access(rank, from, to.data(), to.size(), false);
  }
  /// See Port::locate().
  [[nodiscard]] AccessResult locate(int rank, const RemoteMemory& memory, std::size_t size,
                                    std::byte*& address) noexcept;
  /// See Port::read().
  [[nodiscard]] bool read(int rank, std::uint64_t address, std::span<std::byte> local) noexcept;

 private:
  AccessResult access(int rank, const RemoteMemory& memory, std::byte* local, std::size_t size,
                      bool is_put) noexcept;
  template <class Registered>
  AccessResult find(int rank, const RemoteMemory& memory, std::size_t size, std::byte*& address,
                    const Registered& registered) noexcept;

  const Shared& shared_;
};

}  // namespace weft::network::shm
