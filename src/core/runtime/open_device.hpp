// A device as its runtime sees it: what the runtime asks of devices that are open, without knowing how they
// are composed.
#pragma once

#include <weft/counters.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weft {
class Completion;
}

namespace weft::core {
class MatchingEngine;
class DetachedOperations;
class PendingList;
struct MatchRecord;
}  // namespace weft::core

namespace weft::detail {

class RuntimeState;

/// The threads that work in a device for objects that are being destroyed, or wait for those that are inside
/// of it; the device does not end meanwhile.
class AttachedThreads {
 public:
  /// The device must be listed by the runtime. Needs the lock of that list: of OperationOwners for those that
  /// are not closing.
  void attach() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
  void detach() noexcept { count_.fetch_sub(1, std::memory_order_release); }
  [[nodiscard]] bool any() const noexcept { return count_.load(std::memory_order_acquire) != 0; }

 private:
  std::atomic<std::uint32_t> count_{0};
};

/// Receives that were refused and wait in backlogs: all of an engine, or those in some of its contexts.
struct QueuedReceives {
  std::uint32_t engine = 0;
  std::uint32_t first_context = 0;
  std::uint64_t contexts = std::uint64_t{1} << 32;

  [[nodiscard]] bool has(std::uint32_t of_engine, std::uint64_t tag) const noexcept {
    return of_engine == engine && static_cast<std::uint32_t>(tag >> 32) - first_context < contexts;
  }
};

class OpenDevice {
 public:
  virtual ~OpenDevice() = default;
  OpenDevice(const OpenDevice&) = delete;
  OpenDevice& operator=(const OpenDevice&) = delete;

  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  [[nodiscard]] AttachedThreads& attached_threads() noexcept { return attached_threads_; }

  /// The counts since the device was opened. Any thread.
  [[nodiscard]] virtual RuntimeCounters counters() noexcept = 0;
  /// Takes the peer and the object's id of the active message that was refused last because the peer was not
  /// ready; false: there was none. Any thread.
  virtual bool take_unready(std::int32_t& peer, std::int32_t& id) noexcept = 0;
  /// "Endpoint (device 3)": an object of the program that uses the device; empty: there is none. Any thread.
  [[nodiscard]] virtual std::string user() const = 0;
  /// Sends what was accepted, and posts again what was refused since, but for a SerialEndpoint; delivers
  /// nothing. Returns true when something refused is left that this can send. Any thread.
  virtual bool carry() noexcept = 0;
  /// Waits until threads that are inside of a progress call now have left it.
  virtual void quiesce() noexcept = 0;
  /// Lets other threads run, and go on that wait for a device which this thread is inside of. For who waits
  /// for them.
  virtual void give_way() noexcept = 0;
  /// Lists operations that have not ended. Any thread. Returns false when a thread stays inside progress, so
  /// that the backlog could not be read.
  virtual bool describe(core::PendingList& list) noexcept = 0;
  virtual void describe_refusals(std::vector<std::string>& notes) const = 0;
  /// Posts that the network has refused and that wait for a progress call. Approximate; any thread.
  [[nodiscard]] virtual std::size_t refused_posts() const noexcept = 0;
  /// Returns true when nothing of this peer, which has left, will be delivered any more. Any thread.
  [[nodiscard]] virtual bool has_buried(int peer) const noexcept = 0;
  /// Drops a message that nobody will receive, and tells its sender. Under the lock of the engine.
  virtual void drop_unreceived(core::MatchingEngine& engine, core::MatchRecord& record) noexcept = 0;
  /// Ends these receives as cancelled; where this thread, or one that waits for its device, is in a handler
  /// inside of the device's progress, with the device's next progress, and their buffers are left alone until
  /// then. Any thread.
  virtual void cancel_queued(const QueuedReceives& which) noexcept = 0;

  // Completion objects that are destroyed.

  /// Returns true when an operation of the device may signal the object. Any thread; never waits.
  [[nodiscard]] virtual bool may_name(const Completion& object) const noexcept = 0;
  /// Ends the operations that name the object, or makes them signal `instead`. Any thread.
  virtual void forget_object(const Completion& object, core::DetachedOperations& instead) noexcept = 0;
  /// One progress call, by any thread that may make it.
  virtual void progress_for_end() noexcept = 0;

 protected:
  explicit OpenDevice(std::uint32_t index) noexcept : index_(index) {}

  const std::uint32_t index_;

 private:
  AttachedThreads attached_threads_;
};

/// Opens the device `index` of a runtime; supplied by api/, which knows what a device is composed of.
using DeviceFactory = std::function<std::shared_ptr<OpenDevice>(RuntimeState&, std::uint32_t index)>;

}  // namespace weft::detail
