#pragma once

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

namespace weft::bootstrap {

/// Limits of every implementation. A key or value beyond them is an Error at the caller.
inline constexpr std::size_t kMaximumKey = 255;
inline constexpr std::size_t kMaximumValue = std::size_t{64} << 20;
inline constexpr std::size_t kMaximumGathered = std::size_t{1} << 30;

/// Membership of a job before any network exists: who am I, and small data from everybody.
/// All functions may be called by any thread at any time; they throw weft::Error with one clear line.
/// Destruction leaves the job; it is not collective.
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

  /// Publishes a value under (rank(), key). A key is published once; the second time is an Error.
  virtual void put(std::string_view key, std::span<const std::byte> value) = 0;
  /// The value of another rank, or nothing when it has not been published yet. Never waits for it.
  /// One round trip to the launcher at most (tens of microseconds).
  virtual std::optional<std::vector<std::byte>> try_get(int rank, std::string_view key) = 0;
  /// Waits for the value, at most for the attribute bootstrap_timeout. Fails at once, naming the rank
  /// and how it ended, when the rank has left without publishing it.
  virtual std::vector<std::byte> get(int rank, std::string_view key) = 0;

  /// Collectives: every rank makes the same calls in the same order. They wait for ranks that are alive
  /// however slow they are, and fail within a second, naming the rank, when one has left.
  virtual void barrier() = 0;
  /// `all` holds size() * mine.size() bytes, rank by rank; mine.size() is the same on every rank.
  virtual void allgather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;

  /// Ends the job with this exit code (1 when it is 0) and names the reason. Does not return when ranks are
  /// processes; in-process ranks see every later and pending call fail with the reason.
  virtual void abort(int code, std::string_view reason) = 0;

  /// Counts the ranks that are known to have failed: their process ended, or closed its connection to the
  /// launcher, without leaving the job. Lives as long as this object; nullptr where nobody would find out. A
  /// load tells; has_failed() then says who, to callers that have read the count with acquire.
  virtual const std::atomic<std::uint32_t>* failures() const noexcept { return nullptr; }
  virtual bool has_failed(int rank) const noexcept {
    static_cast<void>(rank);
    return false;
  }

  /// Objects that ranks of one process share through one mapping. Where ranks are processes, sharing does
  /// nothing and nothing is found.
  virtual void share(std::string key, std::shared_ptr<void> object) {
    static_cast<void>(key);
    static_cast<void>(object);
  }
  virtual std::shared_ptr<void> shared(int rank, std::string_view key) {
    static_cast<void>(rank);
    static_cast<void>(key);
    return nullptr;
  }
  /// The one object of this key that all ranks of the job share, made by the rank that asks first; it lives
  /// as long as the job. Where ranks are processes: nullptr, and nothing is made.
  virtual std::shared_ptr<void> share_once(std::string_view key,
                                           const std::function<std::shared_ptr<void>()>& make) {
    static_cast<void>(key);
    static_cast<void>(make);
    return nullptr;
  }
};

}  // namespace weft::bootstrap
