#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"

namespace weft::bootstrap {

/// Limits of every implementation. A key or value beyond them throws weft::Error at the caller.
inline constexpr std::size_t kMaximumKey = 255;
inline constexpr std::size_t kMaximumValue = std::size_t{64} << 20;
inline constexpr std::size_t kMaximumGathered = std::size_t{1} << 30;

/// Random bytes that only the ranks of a job know.
using Secret = std::array<std::byte, 32>;

/// Membership of a job before any network exists: the own rank, and small data of all ranks. All functions
/// may be called by any thread at any time; they throw weft::Error with one clear line. The destructor leaves
/// the job; it is not collective.
class Bootstrap {
 public:
  Bootstrap() = default;
  Bootstrap(const Bootstrap&) = delete;
  Bootstrap& operator=(const Bootstrap&) = delete;
  virtual ~Bootstrap() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// 32 hexadecimal digits, equal on all ranks, different for every job and for every runtime of a job.
  virtual std::string_view job_id() const = 0;

  /// By which ranks prove to each other that they belong to the job.
  virtual const Secret& secret() const = 0;
  /// The host on which the launcher has started a rank; hosts are counted from 0.
  virtual int host_of(int rank) const {
    static_cast<void>(rank);
    return 0;
  }

  /// Publishes a value under (rank(), key). A key is published once; the second time is an Error.
  virtual void put(std::string_view key, std::span<const std::byte> value) = 0;
  /// Returns the value of another rank, or nullopt when it has not been published yet. Never waits for it.
  /// One round trip to the launcher at most (tens of microseconds); none for the first short value of a rank.
  virtual std::optional<std::vector<std::byte>> try_get(int rank, std::string_view key) = 0;
  /// Waits for a value of another rank, at most for the attribute bootstrap_timeout. Fails at once, naming
  /// the rank and how it ended, when that rank has left without publishing it.
  virtual std::vector<std::byte> get(int rank, std::string_view key) = 0;

  /// Makes a file descriptor of this rank available to other ranks, independent of /proc and the rights of
  /// processes: a copy is kept under (rank(), key) until take_back() or the end of this object. Returns false
  /// when descriptors cannot be passed on, or no more of them.
  virtual bool lend(std::string_view key, int descriptor) {
    static_cast<void>(key);
    static_cast<void>(descriptor);
    return false;
  }
  virtual void take_back(std::string_view key) { static_cast<void>(key); }
  /// Returns a copy of the descriptor that another rank lends under this key, closed on exec; an empty one
  /// when there is none, or that rank has left. Never waits for that rank.
  virtual base::Descriptor borrow(int rank, std::string_view key) {
    static_cast<void>(rank);
    static_cast<void>(key);
    return {};
  }

  /// Returns true when this rank has other pid or user namespaces than the launcher, or cannot tell: peers
  /// may then be unable to see it in /proc, or not be allowed to.
  virtual bool is_apart() const noexcept { return false; }

  /// Collectives: every rank makes the same calls in the same order. They wait for ranks that are alive, even
  /// if they are slow, and fail within a second, naming the rank, when one has left.
  virtual void barrier() = 0;
  /// `all` holds size() * mine.size() bytes, rank by rank; mine.size() is the same on every rank.
  virtual void allgather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;

  /// Ends the job with this exit code (1 when it is 0) and names the reason. Does not return when ranks are
  /// processes; in-process ranks see every later and pending call fail with the reason.
  virtual void abort(int code, std::string_view reason) = 0;

  /// Counts the ranks that are known to have failed: their process ended, or closed its connection to the
  /// launcher, without leaving the job. The counter lives as long as this object; nullptr when failures are
  /// not detected. After a load with acquire, has_failed() tells which ranks were counted.
  virtual const std::atomic<std::uint32_t>* failures() const noexcept { return nullptr; }
  virtual bool has_failed(int rank) const noexcept {
    static_cast<void>(rank);
    return false;
  }

  /// Counts the ranks that have failed and those that have left the job in order. Lifetime and loads are
  /// those of failures(); has_left() tells which ranks have left in order.
  virtual const std::atomic<std::uint32_t>* departures() const noexcept { return nullptr; }
  virtual bool has_left(int rank) const noexcept {
    static_cast<void>(rank);
    return false;
  }

  /// Reports that this rank has lost its connection with a rank that has not left. The launcher alone decides
  /// which of them has failed, and failures() then tells every rank.
  virtual void report_unreachable(int rank, std::string_view why) noexcept {
    static_cast<void>(rank);
    static_cast<void>(why);
  }

  /// This rank begins to leave and takes part in no further collective: collectives that wait for it, now or
  /// later, fail as if it had left. The values that it has published stay.
  virtual void begin_to_leave() noexcept {}
  /// Reports that messages which this rank had accepted for other ranks are lost. The launcher prints it, and
  /// the job has not succeeded.
  virtual void report_loss(std::string_view what) noexcept { static_cast<void>(what); }

  /// Shares an object with the other ranks of the same process. When ranks are processes, share() does
  /// nothing and shared() returns nullptr.
  virtual void share(std::string key, std::shared_ptr<void> object) {
    static_cast<void>(key);
    static_cast<void>(object);
  }
  virtual std::shared_ptr<void> shared(int rank, std::string_view key) {
    static_cast<void>(rank);
    static_cast<void>(key);
    return nullptr;
  }
  /// The object that this rank shares under the key stays shared when it leaves, until all ranks have left.
  virtual void keep_shared(std::string_view key) noexcept { static_cast<void>(key); }
  /// Returns the single object of this key that all ranks of the job share, made by the first rank that calls
  /// this; it lives as long as the job. When ranks are processes: returns nullptr, and makes nothing.
  virtual std::shared_ptr<void> share_once(std::string_view key,
                                           const std::function<std::shared_ptr<void>()>& make) {
    static_cast<void>(key);
    static_cast<void>(make);
    return nullptr;
  }
};

}  // namespace weft::bootstrap
