// Puts and gets: the part of an endpoint that accesses memory of peers.
#pragma once

#include <weft/detail/copy.hpp>
#include <weft/detail/device_path.hpp>
#include <weft/detail/direct_window.hpp>
#include <weft/detail/endpoint_entry.hpp>
#include <weft/detail/export.hpp>
#include <weft/detail/immediate_completion.hpp>
#include <weft/detail/lane.hpp>
#include <weft/detail/lock.hpp>
#include <weft/memory.hpp>
#include <weft/options.hpp>
#include <weft/remote_region.hpp>
#include <weft/status.hpp>
#include <weft/types.hpp>

#include <cstring>
#include <source_location>

namespace weft {

namespace detail {

class DeviceState;

/// The library's side of one-sided operations, by lock policy.
template <class Locking>
struct OneSidedCalls {
  WEFT_API static Status post_put(DeviceState& device, int peer, const RemoteAddress& to, Bytes from,
                                  const AccessOptions& options);
  WEFT_API static Status post_get(DeviceState& device, int peer, const RemoteAddress& from,
                                  std::span<std::byte> to, const AccessOptions& options);
  WEFT_API static Outcome put(DeviceState& device, int peer, const RemoteAddress& to, Bytes from,
                              const AccessOptions& options, const std::source_location& where);
  WEFT_API static Outcome get(DeviceState& device, int peer, const RemoteAddress& from,
                              std::span<std::byte> to, const AccessOptions& options,
                              const std::source_location& where);
  WEFT_API static void flush(DeviceState& device, int peer, const std::source_location& where);
  WEFT_API static void flush(DeviceState& device, const std::source_location& where) noexcept;
  WEFT_API static bool flushed(DeviceState& device, int peer);
  WEFT_API static bool flushed(DeviceState& device) noexcept;
};

extern template struct OneSidedCalls<TryLock>;
extern template struct OneSidedCalls<NoLock>;

/// An access with a signal is copied while the lane of its signal is locked if it has up to so many bytes.
inline constexpr std::size_t kCopiedInLane = 4096;

/// Copies an access; up to 48 bytes without a call.
inline void copy_access(std::byte* to, const std::byte* from, std::size_t size) noexcept {
  if (size == 8) [[likely]]
    std::memcpy(to, from, 8);
  else if (size <= 48)
    copy_small(to, from, size);
  else if (size <= kBulkCopy)
    std::memcpy(to, from, size);
  else
    copy_bulk(to, from, size);
}

}  // namespace detail

/// The puts and gets of Endpoint and SerialEndpoint, which inherit them.
///
/// An access names a peer (a rank, oneself included) and an address in one of its regions:
/// `remote_region.at(offset)`, or `mapped_region.at(offset)`, which is loads and stores where the region is
/// mapped. Sizes are in bytes, 0 to 2^62, without alignment; offsets count from the region's start. An access
/// that is not all inside the region, or whose region has been released, touches nothing and ends with
/// Outcome::refused. Accesses are not ordered; overlapping ones that run at the same time leave any mixture
/// of their bytes. All calls throw weft::Error when `peer` is not a rank of the job or does not own the
/// region.
template <class Derived, class Locking>
class OneSidedOperations {
 public:
  /// Copies `from` into a peer's memory. Never blocks. `from` is borrowed until done or completion; after a
  /// post that answered posted without a completion object, until flush().
  ///
  /// done: the source may be reused. Without a completion object an access that is refused, or whose peer has
  /// left, is counted (RuntimeCounters). With options.signal the object that it names at the peer is
  /// signalled (Operation::put_arrived, with the tag) once the bytes are visible there.
  Status post_put(int peer, const RemoteAddress& to, Bytes from, const AccessOptions& options = {}) {
    const detail::EndpointEntry<Locking> entry(device(), "post_put");
    return Calls::post_put(device(), peer, to, from, options);
  }
  Status post_put(int peer, MappedAddress to, Bytes from, const AccessOptions& options) {
    const detail::EndpointEntry<Locking> entry(device(), "post_put");
    if (!try_put(peer, to, from, options)) [[unlikely]]
      return put_slow(peer, to, from, options);
    return detail::complete_immediately(device(), Operation::put, peer, options.tag, from, options);
  }
  Status post_put(int peer, MappedAddress to, Bytes from) {
    const detail::EndpointEntry<Locking> entry(device(), "post_put");
    if (!put_directly(peer, to, from)) [[unlikely]]
      return put_slow(peer, to, from);
    return Status::done();
  }

  /// Copies from a peer's memory into `to`, which is borrowed until done or completion; without a completion
  /// object, until flush(). Never blocks. With options.signal the object that it names at the peer is
  /// signalled (Operation::get_arrived) once the bytes have been read.
  Status post_get(int peer, const RemoteAddress& from, std::span<std::byte> to,
                  const AccessOptions& options = {}) {
    const detail::EndpointEntry<Locking> entry(device(), "post_get");
    return Calls::post_get(device(), peer, from, to, options);
  }
  Status post_get(int peer, MappedAddress from, std::span<std::byte> to, const AccessOptions& options) {
    const detail::EndpointEntry<Locking> entry(device(), "post_get");
    if (!try_get_value(peer, from, to, options)) [[unlikely]]
      return get_slow(peer, from, to, options);
    return detail::complete_immediately(device(), Operation::get, peer, options.tag, to, options);
  }
  Status post_get(int peer, MappedAddress from, std::span<std::byte> to) {
    const detail::EndpointEntry<Locking> entry(device(), "post_get");
    if (!get_directly(peer, from, to)) [[unlikely]]
      return get_slow(peer, from, to);
    return Status::done();
  }

  /// post_put that progresses until it has ended: on return the source may be reused and the bytes are
  /// visible at the target. Returns ok, refused, peer_failed or timed_out; options.completion, if any, is
  /// signalled as well. Not for handlers: they use post_put.
  Outcome put(int peer, const RemoteAddress& to, Bytes from, const AccessOptions& options = {},
              const std::source_location& where = std::source_location::current()) {
    const detail::EndpointEntry<Locking> entry(device(), "put");
    return Calls::put(device(), peer, to, from, options, where);
  }
  Outcome put(int peer, MappedAddress to, Bytes from, const AccessOptions& options = {},
              const std::source_location& where = std::source_location::current()) {
    const detail::EndpointEntry<Locking> entry(device(), "put");
    if (!detail::needs_signal(options) && try_put(peer, to, from, options)) [[likely]]
      return Outcome::ok;
    return Calls::put(device(), peer, to, from, options, where);
  }
  /// post_get that progresses until the bytes are in `to`, or the access has failed. Outcomes, completion and
  /// threads are those of put().
  Outcome get(int peer, const RemoteAddress& from, std::span<std::byte> to, const AccessOptions& options = {},
              const std::source_location& where = std::source_location::current()) {
    const detail::EndpointEntry<Locking> entry(device(), "get");
    return Calls::get(device(), peer, from, to, options, where);
  }
  Outcome get(int peer, MappedAddress from, std::span<std::byte> to, const AccessOptions& options = {},
              const std::source_location& where = std::source_location::current()) {
    const detail::EndpointEntry<Locking> entry(device(), "get");
    if (!detail::needs_signal(options) && try_get_value(peer, from, to, options)) [[likely]]
      return Outcome::ok;
    return Calls::get(device(), peer, from, to, options, where);
  }

  /// Progresses until every put, get and atomic operation that was posted on this device towards `peer`
  /// before the call has ended: their changes are visible at the peer, and the values that they read are in
  /// local memory. Returns as well when the peer has left. Signals of these accesses may still be under way.
  /// Does not wait for operations that other threads post meanwhile. Not for handlers, inside of which their
  /// own device does not progress.
  void flush(int peer, const std::source_location& where = std::source_location::current()) {
    const detail::EndpointEntry<Locking> entry(device(), "flush");
    Calls::flush(device(), peer, where);
  }
  /// flush() towards all peers.
  void flush(const std::source_location& where = std::source_location::current()) noexcept {
    const detail::EndpointEntry<Locking> entry(device(), "flush");
    Calls::flush(device(), where);
  }
  /// flush() without waiting: returns true when every put, get and atomic operation that was posted on this
  /// device towards `peer` before the call has ended, as flush() means it. Any thread that may use the
  /// endpoint, also inside handlers; does not progress: this rank and the peer must progress for it to become
  /// true. While other threads keep posting to the peer it may stay false: flush() waits for what was posted
  /// before.
  [[nodiscard]] bool flushed(int peer) const {
    const detail::EndpointEntry<Locking> entry(device(), "flushed");
    return Calls::flushed(device(), peer);
  }
  /// flushed() towards all peers.
  [[nodiscard]] bool flushed() const noexcept {
    const detail::EndpointEntry<Locking> entry(device(), "flushed");
    return Calls::flushed(device());
  }

 protected:
  ~OneSidedOperations() = default;

 private:
  using Calls = detail::OneSidedCalls<Locking>;

  [[nodiscard]] detail::DeviceState& device() const noexcept {
    return static_cast<const Derived*>(this)->state();
  }
  // Functions of their own, so that a loop over accesses that are copies keeps its registers; and with a
  // RemoteAddress that is made for the call, so that a mapped region that is a local object of the loop stays
  // in registers, too.
  [[gnu::cold, gnu::noinline]] Status put_slow(int peer, const RemoteAddress& to, Bytes from,
                                               const AccessOptions& options) {
    return Calls::post_put(device(), peer, to, from, options);
  }
  [[gnu::cold, gnu::noinline]] Status put_slow(int peer, const RemoteAddress& to, Bytes from) {
    return Calls::post_put(device(), peer, to, from, {});
  }
  [[gnu::cold, gnu::noinline]] Status get_slow(int peer, const RemoteAddress& from, std::span<std::byte> to,
                                               const AccessOptions& options) {
    return Calls::post_get(device(), peer, from, to, options);
  }
  [[gnu::cold, gnu::noinline]] Status get_slow(int peer, const RemoteAddress& from, std::span<std::byte> to) {
    return Calls::post_get(device(), peer, from, to, {});
  }
  [[nodiscard]] bool try_put(int peer, MappedAddress to, Bytes from,
                             const AccessOptions& options) const noexcept {
    if (!options.region.is_empty()) return false;
    if (options.signal == RemoteCompletion()) return put_directly(peer, to, from);
    return allows(peer, to, from.size()) &&
           with_signal(peer, options, detail::kPutSignalChannel, from.size(),
                       [&] { detail::copy_access(address_of(to), from.data(), from.size()); });
  }
  [[nodiscard]] bool try_get_value(int peer, MappedAddress from, std::span<std::byte> to,
                                   const AccessOptions& options) const noexcept {
    if (!options.region.is_empty()) return false;
    if (options.signal == RemoteCompletion()) return get_directly(peer, from, to);
    return allows(peer, from, to.size()) &&
           with_signal(peer, options, detail::kGetSignalChannel, to.size(),
                       [&] { detail::copy_access(to.data(), address_of(from), to.size()); });
  }
  /// Copies and sends the signal into the lane to its home device: the thread that receives it there has
  /// acquired the bytes that were copied. Returns false, without effect, when the lane is contended or full,
  /// or the handle is not open.
  template <class Copy>
  [[nodiscard]] bool with_signal(int peer, const AccessOptions& options, std::uint8_t channel,
                                 std::size_t size, const Copy& copy) const noexcept {
    if (size > detail::kCopiedInLane) return false;
    detail::SendLane* lane = static_cast<const Derived*>(this)->path().lane(
        peer, options.signal.device(), detail::column_of_post<Locking>());
    return lane != nullptr &&
           detail::try_post_slot_after<Locking>(*lane, options.signal, options.tag, channel, copy);
  }
  [[nodiscard]] static bool allows(int peer, MappedAddress address, std::size_t size) noexcept {
    const MappedRegion& region = address.region();
    return region.view_.allows(address.offset(), size, difference(peer, region));
  }
  /// Returns 0 when the region belongs to the peer.
  [[nodiscard]] static std::uint32_t difference(int peer, const MappedRegion& region) noexcept {
    return static_cast<std::uint32_t>(peer) ^ static_cast<std::uint32_t>(region.region_.rank);
  }
  [[nodiscard]] static std::byte* address_of(MappedAddress address) noexcept {
    return address.region().view_.base + address.offset();
  }
  // The bounds are those of the window, which come from the owner's table, not those of the key.
  [[nodiscard]] static bool put_directly(int peer, MappedAddress to, Bytes from) noexcept {
    const MappedRegion& region = to.region();
    if (!region.view_.allows(to.offset(), from.size(), difference(peer, region))) [[unlikely]]
      return false;
    detail::copy_access(region.view_.base + to.offset(), from.data(), from.size());
    return true;
  }
  [[nodiscard]] static bool get_directly(int peer, MappedAddress from, std::span<std::byte> to) noexcept {
    const MappedRegion& region = from.region();
    if (!region.view_.allows(from.offset(), to.size(), difference(peer, region))) [[unlikely]]
      return false;
    detail::copy_access(to.data(), region.view_.base + from.offset(), to.size());
    return true;
  }
};

}  // namespace weft
