// Finds a second thread inside a SerialEndpoint, in programs that are compiled with assertions.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/lock.hpp>

namespace weft::detail {

class DeviceState;

/// The calling thread is inside a call of the SerialEndpoint of a device for the lifetime of the object. Ends
/// the program, with one line that names both threads and their calls, when another thread is inside. Calls
/// of the same thread nest.
class WEFT_API SerialEntry {
 public:
  /// `call` in static storage: "post_am".
  SerialEntry(DeviceState& device, const char* call) noexcept;
  ~SerialEntry();
  SerialEntry(const SerialEntry&) = delete;
  SerialEntry& operator=(const SerialEntry&) = delete;

 private:
  DeviceState* device_;  // nullptr: nested
};

/// SerialEntry for the endpoints that one thread at a time may use. Costs nothing for others, and nothing in
/// programs that are compiled with NDEBUG: the locked instruction that it takes would make posts half as
/// fast.
template <class Locking, bool kIsChecked>
class EndpointEntryOf {
 public:
  EndpointEntryOf(const DeviceState&, const char*) noexcept {}
};
template <>
class EndpointEntryOf<NoLock, true> : public SerialEntry {
 public:
  using SerialEntry::SerialEntry;
};

#ifdef NDEBUG
template <class Locking>
using EndpointEntry = EndpointEntryOf<Locking, false>;
#else
template <class Locking>
using EndpointEntry = EndpointEntryOf<Locking, true>;
#endif

}  // namespace weft::detail
