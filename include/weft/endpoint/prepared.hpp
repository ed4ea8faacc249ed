// Preparing operations: the part of an endpoint for what is posted again and again.
#pragma once

#include <weft/memory.hpp>
#include <weft/options.hpp>
#include <weft/prepared.hpp>
#include <weft/remote_region.hpp>
#include <weft/types.hpp>

#include <cstdint>
#include <span>

namespace weft {

/// What Endpoint and SerialEndpoint inherit. Each call takes what the post of the same name takes, checks it
/// (weft::Error), and resolves what can be resolved; nothing is posted. Set-up, not data path; any thread
/// that may post.
template <class Derived, class Locking>
class PreparingOperations {
 public:
  [[nodiscard]] PreparedPut<Locking> prepare_put(int peer, const RemoteAddress& to, Bytes from,
                                                 const AccessOptions& options = {}) {
    return {self().state(), self().path(), peer, to, from, options};
  }
  [[nodiscard]] PreparedGet<Locking> prepare_get(int peer, const RemoteAddress& from, std::span<std::byte> to,
                                                 const AccessOptions& options = {}) {
    return {self().state(), self().path(), peer, from, to, options};
  }
  [[nodiscard]] PreparedActiveMessage<Locking> prepare_am(int peer, RemoteCompletion remote, Bytes bytes,
                                                          const ActiveMessageOptions& options = {}) {
    return {self().state(), self().path(), peer, remote, bytes, options};
  }
  [[nodiscard]] PreparedSend<Locking> prepare_send(int peer, std::uint64_t tag, Bytes bytes,
                                                   const SendOptions& options = {}) {
    return {self().state(), self().path(), peer, tag, bytes, options};
  }
  [[nodiscard]] PreparedReceive<Locking> prepare_receive(int source, std::uint64_t tag,
                                                         std::span<std::byte> buffer,
                                                         const ReceiveOptions& options) {
    return {self().state(), source, tag, buffer, options};
  }

 protected:
  ~PreparingOperations() = default;

 private:
  [[nodiscard]] const Derived& self() const noexcept { return *static_cast<const Derived*>(this); }
};

}  // namespace weft
