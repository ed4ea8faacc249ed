// Atomic operations: the part of an endpoint that changes values in memory of peers.
#pragma once

#include <weft/atomic.hpp>
#include <weft/detail/atomic_update.hpp>
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

#include <source_location>
#include <type_traits>

namespace weft {

namespace detail {

class DeviceState;

/// The library's side of atomic operations, by lock policy. `old` may be null.
template <class Locking>
struct AtomicCalls {
  WEFT_API static Status post(DeviceState& device, int peer, const RemoteAddress& where,
                              const AtomicUpdate& update, void* old, const AccessOptions& options);
  WEFT_API static Outcome perform(DeviceState& device, int peer, const RemoteAddress& where,
                                  const AtomicUpdate& update, void* old, const AccessOptions& options,
                                  const std::source_location& caller);
};

extern template struct AtomicCalls<TryLock>;
extern template struct AtomicCalls<NoLock>;

}  // namespace detail

/// The atomic operations of Endpoint and SerialEndpoint, which inherit them.
///
/// An atomic operation names a peer (a rank, oneself included) and an address in one of its regions; T is the
/// type of the value there, which must be aligned to its size. All atomic operations on a region are atomic
/// against each other, whichever ranks, devices and threads they come from, the owner's own included (peer is
/// then its own rank); and against std::atomic_ref in memory that weft allocated. Puts, gets and plain loads
/// are not atomic against them. In memory that weft allocated and that is mapped they are operations of this
/// processor; in memory of the user they are carried out by the owner when it progresses.
///
/// Atomic operations are posted as puts are (same answers, options, threads and errors), not ordered, and
/// covered by flush(). An operation whose address is not all inside the region, or not aligned, or whose
/// region has been released, changes nothing and ends with Outcome::refused. Also throws weft::Error when T
/// does not have the operation.
///
/// T must be given where no argument determines it: post_atomic<std::uint64_t>(peer, counters.at(8),
/// AtomicOperation::add, 1).
template <class Derived, class Locking>
class AtomicOperations {
  template <class T>
  using Value = std::type_identity_t<T>;

 public:
  /// Changes the value at `where` by `operation` and `operand`. Never blocks. done: the operation needs
  /// nothing of the caller any more; where it travels by message it may still be under way, until flush().
  template <AtomicValue T, RemotePlace Place>
  Status post_atomic(int peer, const Place& where, AtomicOperation operation, Value<T> operand,
                     const AccessOptions& options) {
    T ignored;
    return post<T>(peer, where, operation, operand, T{}, ignored, false, options);
  }
  template <AtomicValue T, RemotePlace Place>
  Status post_atomic(int peer, const Place& where, AtomicOperation operation, Value<T> operand) {
    T ignored;
    return post_unobserved<T>(peer, where, operation, operand, T{}, ignored, false);
  }

  /// Changes the value at `where` by `operation` and `operand`, and stores the value before the change in
  /// `old`, which is borrowed until done or completion; without a completion object, until flush(). A refused
  /// operation leaves `old` as it was. Never blocks.
  template <AtomicValue T, RemotePlace Place>
  Status post_fetch_atomic(int peer, const Place& where, AtomicOperation operation, Value<T> operand, T& old,
                           const AccessOptions& options) {
    return post<T>(peer, where, operation, operand, T{}, old, true, options);
  }
  template <AtomicValue T, RemotePlace Place>
  Status post_fetch_atomic(int peer, const Place& where, AtomicOperation operation, Value<T> operand,
                           T& old) {
    return post_unobserved<T>(peer, where, operation, operand, T{}, old, true);
  }

  /// Compare-and-swap: stores `desired` at `where` if the value there equals `expected`, else changes
  /// nothing. The outcome is Outcome::ok in both cases.
  template <AtomicInteger T, RemotePlace Place>
  Status post_compare_swap(int peer, const Place& where, Value<T> expected, Value<T> desired,
                           const AccessOptions& options = {}) {
    T ignored;
    return post<T>(peer, where, detail::kCompareSwap, desired, expected, ignored, false, options);
  }
  /// Compare-and-swap that also stores the value before it in `old`; the swap has happened if `old` equals
  /// `expected`. `old` is borrowed as in post_fetch_atomic().
  template <AtomicInteger T, RemotePlace Place>
  Status post_fetch_compare_swap(int peer, const Place& where, Value<T> expected, Value<T> desired, T& old,
                                 const AccessOptions& options = {}) {
    return post<T>(peer, where, detail::kCompareSwap, desired, expected, old, true, options);
  }

  /// From here on: the operations of the posts above, progressing until they have been carried out. Their
  /// outcome is ok, refused or peer_failed; options.completion, if any, is signalled as well. Those that
  /// fetch return the value before the change with it: fetch_atomic<std::uint64_t>(peer, counters.at(8),
  /// AtomicOperation::add, 1).value. Not for handlers.
  template <AtomicValue T, RemotePlace Place>
  Outcome atomic(int peer, const Place& where, AtomicOperation operation, Value<T> operand,
                 const AccessOptions& options = {},
                 const std::source_location& caller = std::source_location::current()) {
    T ignored;
    return perform<T>(peer, where, operation, operand, T{}, ignored, false, options, caller);
  }
  template <AtomicValue T, RemotePlace Place>
  Fetched<T> fetch_atomic(int peer, const Place& where, AtomicOperation operation, Value<T> operand,
                          const AccessOptions& options = {},
                          const std::source_location& caller = std::source_location::current()) {
    Fetched<T> fetched;
    fetched.outcome = perform<T>(peer, where, operation, operand, T{}, fetched.value, true, options, caller);
    return fetched;
  }
  template <AtomicInteger T, RemotePlace Place>
  Outcome compare_swap(int peer, const Place& where, Value<T> expected, Value<T> desired,
                       const AccessOptions& options = {},
                       const std::source_location& caller = std::source_location::current()) {
    T ignored;
    return perform<T>(peer, where, detail::kCompareSwap, desired, expected, ignored, false, options, caller);
  }
  template <AtomicInteger T, RemotePlace Place>
  Fetched<T> fetch_compare_swap(int peer, const Place& where, Value<T> expected, Value<T> desired,
                                const AccessOptions& options = {},
                                const std::source_location& caller = std::source_location::current()) {
    Fetched<T> fetched;
    fetched.outcome = perform<T>(peer, where, detail::kCompareSwap, desired, expected, fetched.value, true,
                                 options, caller);
    return fetched;
  }

 protected:
  ~AtomicOperations() = default;

 private:
  using Calls = detail::AtomicCalls<Locking>;

  [[nodiscard]] detail::DeviceState& device() const noexcept {
    return static_cast<const Derived*>(this)->state();
  }
  template <class T, class Place>
  Status post(int peer, const Place& where, AtomicOperation operation, T operand, T expected, T& old,
              bool fetches, const AccessOptions& options) {
    const detail::EndpointEntry<Locking> entry(device(), "an atomic operation");
    if (at_once(peer, where, operation, operand, expected, old, options)) [[likely]]
      return ended(peer, old, fetches, options);
    return Calls::post(device(), peer, where, detail::atomic_update(operation, operand, expected),
                       fetches ? &old : nullptr, options);
  }
  template <class T, class Place>
  Status post_unobserved(int peer, const Place& where, AtomicOperation operation, T operand, T expected,
                         T& old, bool fetches) {
    const detail::EndpointEntry<Locking> entry(device(), "an atomic operation");
    if (directly(peer, where, operation, operand, expected, old)) [[likely]]
      return Status::done();
    return post_slow(peer, where, operation, operand, expected, fetches ? &old : nullptr);
  }
  // A function of its own, so that a loop over operations of this processor keeps its registers.
  template <class T, class Place>
  [[gnu::cold, gnu::noinline]] Status post_slow(int peer, const Place& where, AtomicOperation operation,
                                                T operand, T expected, T* old) {
    return Calls::post(device(), peer, where, detail::atomic_update(operation, operand, expected), old, {});
  }
  template <class T, class Place>
  Outcome perform(int peer, const Place& where, AtomicOperation operation, T operand, T expected, T& old,
                  bool fetches, const AccessOptions& options, const std::source_location& caller) {
    const detail::EndpointEntry<Locking> entry(device(), "an atomic operation");
    if (!detail::needs_signal(options) && at_once(peer, where, operation, operand, expected, old, options))
        [[likely]]
      return Outcome::ok;
    return Calls::perform(device(), peer, where, detail::atomic_update(operation, operand, expected),
                          fetches ? &old : nullptr, options, caller);
  }

  template <class T>
  [[nodiscard]] Status ended(int peer, const T& old, bool fetches,
                             const AccessOptions& options) const noexcept {
    return detail::complete_immediately(device(), Operation::atomic, peer, options.tag,
                                        fetches ? bytes_of(old) : Bytes(), options);
  }

  template <class T>
  [[nodiscard]] static bool directly(int, const RemoteAddress&, AtomicOperation, T, T, T&) noexcept {
    return false;
  }
  template <class T>
  [[nodiscard]] static bool directly(int peer, MappedAddress where, AtomicOperation operation, T operand,
                                     T expected, T& old) noexcept {
    std::byte* address = address_of<T>(peer, where);
    return address != nullptr && detail::apply_atomically(address, operation, operand, expected, old);
  }
  template <class T>
  [[nodiscard]] bool at_once(int, const RemoteAddress&, AtomicOperation, T, T, T&,
                             const AccessOptions&) const noexcept {
    return false;
  }
  template <class T>
  [[nodiscard]] bool at_once(int peer, MappedAddress where, AtomicOperation operation, T operand, T expected,
                             T& old, const AccessOptions& options) const noexcept {
    if (options.signal == RemoteCompletion()) return directly(peer, where, operation, operand, expected, old);
    std::byte* address = address_of<T>(peer, where);
    if (address == nullptr || !detail::has_operation<T>(operation)) return false;
    detail::SendLane* lane = static_cast<const Derived*>(this)->path().lane(
        peer, options.signal.device(), detail::column_of_post<Locking>());
    return lane != nullptr &&
           detail::try_post_slot_after<Locking>(
               *lane, options.signal, options.tag, detail::kAtomicSignalChannel, [&] {
                 static_cast<void>(detail::apply_atomically(address, operation, operand, expected, old));
               });
  }
  /// Returns the address where the value is mapped; nullptr when it is not mapped or may not be accessed.
  template <class T>
  [[nodiscard]] static std::byte* address_of(int peer, MappedAddress where) noexcept {
    const MappedRegion& region = where.region();
    if (peer != region.region_.rank || !region.view_.allows(where.offset(), sizeof(T))) [[unlikely]]
      return nullptr;
    std::byte* address = region.view_.base + where.offset();
    return detail::is_aligned(address, sizeof(T)) ? address : nullptr;
  }
};

}  // namespace weft
