// What the ranks of live modes have in common: the plan of a case, threads that take turns, and signs that
// ranks give each other without any messages.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "study/matching/model/orders.hpp"

namespace weft::tools::study {

using Json = nlohmann::json;

/// One case of a job. Rank 0 receives; the sending threads are dealt to ranks 1 to `senders` in turn.
struct HaloCase {
  explicit HaloCase(const Json& parameters);

  std::string engine;
  HaloExchange exchange;
  std::vector<std::uint64_t> tags;  ///< by message
  int senders;
  bool is_unexpected;  ///< the messages come before their receives are posted
  bool has_counters;
  int runs;
  int warm_ups;
  std::uint64_t seed;

  [[nodiscard]] int source_of(std::uint32_t message) const {
    return 1 + static_cast<int>(exchange.messages[message].sender % static_cast<std::uint32_t>(senders));
  }
  /// The threads of a rank, each with the messages that it sends, or receives.
  [[nodiscard]] std::vector<MessageOrder> threads_of(int rank) const;
};

/// Calls work(message) for all messages of all threads, which are threads of the process. Where they share a
/// core, each gives way before a message as often as the seed says, so that whose message is next is as good
/// as drawn among those that have any left. They are made in an order that the seed decides, because waiting
/// threads are woken in the order in which they began to wait. `begin` is called when all are ready to start.
void run_threads(const std::vector<MessageOrder>& threads, std::uint64_t seed,
                 const std::function<void()>& begin, const std::function<void(std::uint32_t)>& work);

/// run_threads() of posts. Returns their microseconds summed over threads: threads that wait for a core do
/// not search.
[[nodiscard]] double time_posts(const std::vector<MessageOrder>& threads, std::uint64_t seed,
                                const std::function<void(std::uint32_t)>& post);

/// Numbers that the ranks of a host see without communicating: a file that all of them map. A rank that
/// raises its number says how far it has come.
class ReadySigns {
 public:
  explicit ReadySigns(const std::string& path);
  ~ReadySigns();
  ReadySigns(const ReadySigns&) = delete;
  ReadySigns& operator=(const ReadySigns&) = delete;

  static constexpr std::size_t kBytes = 4096;

  void raise(int rank, std::uint32_t to) { sign(rank).store(to, std::memory_order_release); }
  [[nodiscard]] bool has_reached(int rank, std::uint32_t number) {
    return sign(rank).load(std::memory_order_acquire) >= number;
  }
  /// Waits, without any communication, until ranks 1 to `ranks` have reached the number. Throws weft::Error
  /// after a minute.
  void wait_for(int ranks, std::uint32_t number);

 private:
  [[nodiscard]] std::atomic_ref<std::uint32_t> sign(int rank) {
    return std::atomic_ref<std::uint32_t>(numbers_[rank]);
  }
  std::uint32_t* numbers_;
};

}  // namespace weft::tools::study
