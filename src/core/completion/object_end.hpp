// Destruction of a completion object while operations name it.
//
// Nothing is counted in the object while operations are posted and end: it only knows that receives were
// posted with it, and which device has ever stored another operation that names it. When an object is
// destroyed, all owners of operations are asked: the runtimes of the process.
#pragma once

#include <weft/completion/completion.hpp>
#include <weft/detail/message_access.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <vector>

namespace weft::core {

/// Replaces a destroyed object in the operations that continue without it. Kept until all of them have
/// signalled it.
class DetachedOperations final : public Completion {
 public:
  ~DetachedOperations() override { set_unnamed(); }
  void signal(Message& message) noexcept override {
    detail::MessageAccess::excuse_outcome(message);  // nobody is left to read it
    ended_.fetch_add(1, std::memory_order_release);
  }
  [[nodiscard]] bool ready() const noexcept override {
    return ended_.load(std::memory_order_acquire) >= named_.load(std::memory_order_relaxed);
  }
  /// Counts an operation that will signal this object. Any thread.
  void add() noexcept { named_.fetch_add(1, std::memory_order_relaxed); }
  /// The number of operations that have not ended.
  [[nodiscard]] std::uint64_t left() const noexcept {
    const std::uint64_t ended = ended_.load(std::memory_order_acquire);
    const std::uint64_t named = named_.load(std::memory_order_relaxed);
    return named > ended ? named - ended : 0;
  }

 private:
  std::atomic<std::uint64_t> named_{0};
  std::atomic<std::uint64_t> ended_{0};
};

/// A runtime, as an owner of operations that name completion objects.
class OperationOwner {
 public:
  /// Returns true when an operation may name the object. Called with the lock of OperationOwners; cheap,
  /// never waits.
  [[nodiscard]] virtual bool may_name(const Completion& object) noexcept = 0;
  /// Ends the operations that name the object, or makes them signal DetachedOperations. Called without the
  /// lock; may wait.
  virtual void forget_object(Completion& object) noexcept = 0;

 protected:
  ~OperationOwner() = default;

 private:
  friend class OperationOwners;
  std::atomic<std::uint32_t> attached_{0};  // threads in forget_object(); more only with the lock
};

/// A shared lock whose owners write no common cache line, because objects of many threads are destroyed at a
/// time. An exclusive owner locks all of its parts.
class DividedLock {
 public:
  void lock();
  void unlock() noexcept;
  /// The part of the calling thread, to be locked shared.
  [[nodiscard]] std::shared_mutex& own() noexcept;

 private:
  static constexpr std::size_t kParts = 16;
  struct alignas(64) Part {
    std::shared_mutex mutex;
  };
  std::array<Part, kParts> parts_;
};

/// All owners of the process. Never destroyed, because objects may be destroyed at the very end of the
/// process.
class OperationOwners {
 public:
  [[nodiscard]] static OperationOwners& all() noexcept;

  void add(OperationOwner& owner);
  /// Waits for the threads that are using the owner.
  void remove(OperationOwner& owner) noexcept;
  /// Guards the data that may_name() reads: they change only while no thread reads them.
  [[nodiscard]] DividedLock& lock() noexcept { return lock_; }
  /// The object is being destroyed: no operation names it any more when this returns.
  void forget_object(Completion& object) noexcept;

 private:
  DividedLock lock_;  // shared by threads that destroy objects; no thread waits while it holds this
  std::vector<OperationOwner*> owners_;
  std::atomic<std::uint32_t> count_{0};
};

}  // namespace weft::core
