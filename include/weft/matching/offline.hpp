// A matching engine without a network: for simulations, studies, and tests of matching algorithms.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/matching/counters.hpp>
#include <weft/options.hpp>

#include <cstdint>
#include <memory>

namespace weft {

class MatchingAlgorithm;

/// Options of an OfflineMatchingEngine; the first four as in MatchingEngineOptions.
struct OfflineMatchingOptions {
  MatchOrder order = MatchOrder::unordered;
  bool serial = false;
  std::shared_ptr<MatchingAlgorithm> algorithm = nullptr;
  bool counters = false;
  std::uint32_t records = 65536;  ///< receives and messages that may wait at a time, 1 to 2^24
  std::uint32_t buckets = 16384;  ///< of weft's own table: a power of two, 1 to 2^24
  int ranks = 1;                  ///< sources are 0 to ranks - 1
};

/// The engine that matches the sends and receives of a runtime, driven by hand: what a program posts and what
/// arrives are numbers that the caller chooses. Any thread; by contract one at a time when it is serial.
class WEFT_API OfflineMatchingEngine {
 public:
  enum class Answer : std::uint8_t {
    matched,    ///< `id` is that of the partner
    waits,      ///< nothing fits; it waits from now on. Of probe() and take(): nothing fits
    contended,  ///< of arrive(): another thread is in the engine; without effect. Try again
    exhausted   ///< as many receives and messages wait as there are records; without effect
  };
  struct Result {
    Answer answer = Answer::waits;
    std::uint64_t id = 0;
  };

  /// Throws weft::Error when an option is out of range, or an algorithm is given for an unordered engine.
  explicit OfflineMatchingEngine(const OfflineMatchingOptions& options);
  ~OfflineMatchingEngine();
  OfflineMatchingEngine(const OfflineMatchingEngine&) = delete;
  OfflineMatchingEngine& operator=(const OfflineMatchingEngine&) = delete;

  // The calls below throw weft::Error for a source that is no rank; any_source is for receives and probes on
  // ordered engines.

  /// Posts a receive: matched with the message that waits for it, or begins to wait. Wildcards and a mask
  /// only on ordered engines. `handle`: for cancel(); set when the receive waits.
  Result post(std::uint64_t id, int source, std::uint64_t tag, std::uint64_t tag_mask = ~std::uint64_t{0},
              ReceiveHandle* handle = nullptr);
  /// A message arrives from a rank: matched with the receive that waits for it, or begins to wait.
  Result arrive(std::uint64_t id, int source, std::uint64_t tag);
  /// Returns false when the receive does not wait any more.
  bool cancel(const ReceiveHandle& handle) noexcept;
  /// Finds the message that a receive would match, which stays.
  Result probe(int source, std::uint64_t tag, std::uint64_t tag_mask = ~std::uint64_t{0});
  /// Takes the message that a receive would match.
  Result take(int source, std::uint64_t tag, std::uint64_t tag_mask = ~std::uint64_t{0});

  /// All zeros without OfflineMatchingOptions::counters.
  [[nodiscard]] MatchingCounters counters() const noexcept;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace weft
