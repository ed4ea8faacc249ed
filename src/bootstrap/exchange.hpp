#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::bootstrap {

using Bytes = std::vector<std::byte>;

/// An order of (rank, key) pairs; lookups need no std::string.
struct RankedKeyLess {
  using is_transparent = void;
  template <typename A, typename B>
  bool operator()(const A& a, const B& b) const {
    return a.first != b.first ? a.first < b.first : std::string_view{a.second} < std::string_view{b.second};
  }
};

enum class CollectiveKind : std::uint8_t { barrier, allgather };

/// The published values and the collectives in progress of one job. It is a pure state machine without locks,
/// waiting or input and output, so that processes (through the launcher) and in-process ranks (through the
/// hub) follow the same rules. Callers pass valid ranks only.
class Exchange {
 public:
  explicit Exchange(int size);

  int size() const { return static_cast<int>(gone_.size()); }

  /// The rank leaves: from now on it can neither publish nor arrive. `how` completes "rank 1 ..." ("exited
  /// with code 0"). Only the first reason counts.
  void leave(int rank, std::string how);
  bool has_left(int rank) const { return gone_[index(rank)].has_value(); }
  /// The rank begins to leave: from now on it arrives at no collective, but its values, also those that it
  /// still publishes, remain valid.
  void begin_to_leave(int rank, const std::string& how);

  /// Publishes a value. Returns false when the rank has already published this key.
  bool put(int rank, std::string_view key, std::span<const std::byte> value);
  const Bytes* find(int rank, std::string_view key) const;
  /// Returns the reason why the key will never be published, or nullopt while it still may be.
  std::optional<std::string> why_never(int rank, std::string_view key) const;

  struct Outcome {
    std::shared_ptr<const Bytes> gathered;  ///< null for a barrier or after an error
    std::string error;
  };
  /// The rank joins its next collective. Returns that collective's number.
  std::uint64_t arrive(int rank, CollectiveKind kind, std::span<const std::byte> mine);
  bool is_decided(std::uint64_t number) const;
  /// Returns the outcome for this rank, once, when it is decided; else nullopt.
  std::optional<Outcome> take(int rank, std::uint64_t number);

 private:
  struct Collective {
    CollectiveKind kind;
    std::size_t bytes;  // per rank, as given by the first rank to arrive
    int first_rank;
    int missing;  // ranks that have not arrived
    int untaken;  // ranks that may still ask for the outcome
    std::vector<bool> arrived;
    std::vector<bool> taken;
    std::shared_ptr<Bytes> data;
    std::string error;

    bool decided() const { return missing == 0 || !error.empty(); }
  };

  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  Collective& open(int rank, CollectiveKind kind, std::size_t bytes);
  void drop_finished();

  /// Makes collectives that wait for the rank fail, and later ones, too.
  void end_collectives(int rank, const std::string& how);

  std::vector<std::optional<std::string>> gone_;
  // By rank: why it takes part in no further collective; nullopt while it does.
  std::vector<std::optional<std::string>> absent_;
  std::map<std::pair<int, std::string>, Bytes, RankedKeyLess> values_;
  std::deque<Collective> collectives_;  // the first has the number first_number_
  std::uint64_t first_number_ = 0;
  std::vector<std::uint64_t> next_number_;  // by rank
};

}  // namespace weft::bootstrap
