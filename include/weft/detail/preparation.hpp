// Look-ups and checks that a persistent operation makes once.
#pragma once

#include <weft/detail/device_path.hpp>
#include <weft/detail/direct_window.hpp>
#include <weft/detail/export.hpp>
#include <weft/detail/lane.hpp>
#include <weft/message.hpp>
#include <weft/options.hpp>
#include <weft/remote_region.hpp>
#include <weft/status.hpp>
#include <weft/types.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

namespace weft {

class Completion;

namespace core {
class MatchingEngine;
}

namespace detail {

class DeviceState;

/// The lane of a persistent operation. It is cached for the lock policy NoLock; otherwise it depends on the
/// thread that starts the operation. `uses`: the operation can be written into a lane at all.
template <class Locking>
class PreparedLane {
 public:
  [[nodiscard, gnu::always_inline]] SendLane* get(bool uses, const DevicePath& path, int peer,
                                                  std::uint8_t device) const noexcept {
    if constexpr (Locking::kExclusive)
      return kept_;
    else
      return uses ? path.lane(peer, device, column_of_post<Locking>()) : nullptr;
  }
  /// Looks up the lane to be cached, if it does not exist yet: it is made at first contact.
  void renew(bool uses, const DevicePath& path, int peer, std::uint8_t device) noexcept {
    if constexpr (Locking::kExclusive)
      if (uses && kept_ == nullptr) kept_ = path.lane(peer, device);
  }

 private:
  SendLane* kept_ = nullptr;
};

/// A receive with the results of the look-ups that a post makes each time.
struct PersistentMatch {
  // The runtime's pointer to the engine, which is never null.
  const std::atomic<core::MatchingEngine*>* engine = nullptr;
  int source = 0;
  std::uint64_t tag = 0;
  std::span<std::byte> buffer;
  ReceiveOptions options;
  bool fits_fast_path = false;  // no timeout, and an unordered engine that compares rank and tag
};

/// The checks that posts make each time. All throw weft::Error.
struct Preparation {
  WEFT_API static void check_active_message(DeviceState& device, int peer, RemoteCompletion remote,
                                            Bytes bytes, const ActiveMessageOptions& options);
  WEFT_API static void check_send(DeviceState& device, int peer, Bytes bytes, const SendOptions& options);
  [[nodiscard]] WEFT_API static PersistentMatch prepare_receive(DeviceState& device, int source,
                                                                std::uint64_t tag,
                                                                std::span<std::byte> buffer,
                                                                const ReceiveOptions& options);
  WEFT_API static Status start_receive(DeviceState& device, const PersistentMatch& match);
  WEFT_API static void check_access(DeviceState& device, Operation operation, int peer,
                                    const RemoteAddress& where, Bytes buffer, LocalRegion region);
  /// Returns the window of a region that has been mapped; kNoWindow once its owner has released it.
  [[nodiscard]] WEFT_API static DirectWindow window_of(DeviceState& device, const RemoteRegion& region);
  /// Destroys the object when the runtime ends and nothing can signal it any more.
  WEFT_API static void destroy_at_end(DeviceState& device, std::unique_ptr<Completion> completion) noexcept;
};

}  // namespace detail
}  // namespace weft
