// Ranks of one process, payloads that can be recognised, and waiting with a hang guard.
#pragma once

#include <weft/testing/in_process_job.hpp>
#include <weft/weft.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

namespace weft::test {

/// `size` bytes that depend on `seed` and on their place.
inline void fill(std::span<std::byte> bytes, std::uint64_t seed) noexcept {
  std::uint64_t state = seed * 0x9e3779b97f4a7c15 + 0x2545f4914f6cdd1d;
  std::size_t place = 0;
  while (place < bytes.size()) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const std::size_t count = bytes.size() - place < sizeof state ? bytes.size() - place : sizeof state;
    std::memcpy(bytes.data() + place, &state, count);
    place += count;
  }
}

[[nodiscard]] inline std::vector<std::byte> payload(std::size_t size, std::uint64_t seed) {
  std::vector<std::byte> bytes(size);
  fill(bytes, seed);
  return bytes;
}

/// Whether `bytes` is what fill() makes of `seed`.
[[nodiscard]] inline bool matches(Bytes bytes, std::uint64_t seed) noexcept {
  std::uint64_t state = seed * 0x9e3779b97f4a7c15 + 0x2545f4914f6cdd1d;
  for (std::size_t place = 0; place < bytes.size(); place += sizeof state) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const std::size_t rest = bytes.size() - place;
    if (std::memcmp(bytes.data() + place, &state, rest < sizeof state ? rest : sizeof state) != 0)
      return false;
  }
  return true;
}

/// Long enough that only a hang reaches it, under sanitizers as well.
inline constexpr std::chrono::seconds kHangGuard{50};

/// Calls `step` until `condition` holds. False: the hang guard ran out.
template <class Condition, class Step>
[[nodiscard]] bool until(const Condition& condition, const Step& step) {
  const auto end = std::chrono::steady_clock::now() + kHangGuard;
  for (std::uint32_t round = 0; !condition(); ++round) {
    step();
    if (round % 64 == 63) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
  }
  return true;
}

/// A size attribute in bytes.
[[nodiscard]] inline std::size_t size_attribute(const Runtime& runtime, const char* name) {
  char* unit = nullptr;
  const std::size_t value = std::strtoull(runtime.attribute(name), &unit, 10);
  return *unit == 'K' ? value << 10 : *unit == 'M' ? value << 20 : value;
}

/// Sizes around every border between protocols, for the attributes of `runtime`.
[[nodiscard]] inline std::vector<std::size_t> border_sizes(const Runtime& runtime) {
  const std::size_t packet = size_attribute(runtime, "packet_size");
  const std::size_t slots = size_attribute(runtime, "inline_max");
  return {
      0,      1,   7,         8,     15,        16,         17,     47,         48,          49,
      112,    113, slots - 1, slots, slots + 1, packet - 1, packet, packet + 1, packet + 17, 2 * packet - 16,
      100'000};
}

/// For tests that look at single steps: messages of the simulated network arrive in order with the next poll,
/// and nothing is refused by chance. Other networks have no such moods.
inline const std::vector<AttributeSetting> kNoSurprises = {
    {"sim_delay", "0"}, {"sim_reorder", "0"}, {"sim_refuse", "0"}, {"sim_stale", "0"}, {"sim_slow", "0"}};

[[nodiscard]] inline std::vector<AttributeSetting> with_no_surprises(std::vector<AttributeSetting> others) {
  others.insert(others.end(), kNoSurprises.begin(), kNoSurprises.end());
  return others;
}

/// Whether messages from one device to another arrive in the order of their posts.
[[nodiscard]] inline bool keeps_order(const Runtime& runtime) {
  return std::string_view(runtime.attribute("network")) != "sim" ||
         std::string_view(runtime.attribute("sim_reorder")) == "0";
}

/// Whether messages between the ranks of a job may arrive some time after their post, by sockets or
/// libfabric.
[[nodiscard]] inline bool is_message_network(const Runtime& runtime) {
  const std::string_view network = runtime.network();
  return network == "tcp" || network == "ofi" || network == "ibv" || network == "mixed";
}

/// Whether a packet is free again as soon as it has been posted: the kernel has taken its bytes.
[[nodiscard]] inline bool copies_packets_at_once(const Runtime& runtime) {
  const std::string_view network = runtime.network();
  return network == "tcp" ||
         (network == "mixed" && std::string_view(runtime.attribute("remote_network")) == "tcp");
}

/// All ranks of an in-process job with an endpoint each, driven by the thread that owns this object.
template <class EndpointType = Endpoint>
class Ranks {
 public:
  explicit Ranks(int count, std::vector<AttributeSetting> attributes = {}) : job_(count) {
    for (int rank = 0; rank < count; ++rank)
      runtimes_.push_back(std::make_unique<Runtime>(job_, rank, RuntimeOptions{.attributes = attributes}));
    for (auto& runtime : runtimes_) endpoints_.push_back(std::make_unique<EndpointType>(*runtime));
  }
  ~Ranks() {
    // Messages under way need their receivers: all ranks progress until nothing moves any more. On networks
    // other than shared memory some are under way for many polls.
    const bool immediate = !runtimes_.empty() && runtimes_.front() != nullptr &&
                           std::string_view(runtimes_.front()->network()) == "shm";
    for (int quiet = 0; quiet < (immediate ? 3 : 1000);) quiet = progress() == 0 ? quiet + 1 : 0;
    endpoints_.clear();
    runtimes_.clear();
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] int size() const noexcept { return static_cast<int>(runtimes_.size()); }
  [[nodiscard]] Runtime& runtime(int rank) { return *runtimes_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] EndpointType& endpoint(int rank) { return *endpoints_[static_cast<std::size_t>(rank)]; }

  /// One progress of every rank.
  std::size_t progress() {
    std::size_t count = 0;
    for (auto& endpoint : endpoints_)
      if (endpoint != nullptr) count += endpoint->progress();
    return count;
  }
  template <class Condition>
  [[nodiscard]] bool progress_until(const Condition& condition) {
    return until(condition, [this] { progress(); });
  }
  /// Posts until the answer is not retry. Nothing: the hang guard ran out.
  [[nodiscard]] std::optional<Status> post(int from, int to, RemoteCompletion remote, Bytes bytes,
                                           const ActiveMessageOptions& options = {}) {
    Status status = Status::retry(Reason::none);
    const bool ended = progress_until([&] {
      status = endpoint(from).post_am(to, remote, bytes, options);
      return status.is_accepted();
    });
    return ended ? std::optional(status) : std::nullopt;
  }
  /// Every rank has met every other and knows its handles. Where these are told by messages, posts answer
  /// not_ready before, until both ranks have progressed.
  [[nodiscard]] bool meet() {
    std::vector<Counter> met(runtimes_.size());
    RemoteCompletion remote;
    for (std::size_t rank = 0; rank < met.size(); ++rank)
      remote = runtimes_[rank]->expose(met[rank], {.id = 65535});
    for (int from = 0; from < size(); ++from)
      for (int to = 0; to < size(); ++to)
        if (!post(from, to, remote, {}).has_value()) return false;
    return progress_until([&] {
      for (const Counter& counter : met)
        if (counter.value() != met.size()) return false;
      return true;
    });
  }
  /// Ends a rank before the others.
  void leave(int rank) {
    endpoints_[static_cast<std::size_t>(rank)].reset();
    runtimes_[static_cast<std::size_t>(rank)].reset();
  }

 private:
  InProcessJob job_;
  std::vector<std::unique_ptr<Runtime>> runtimes_;
  std::vector<std::unique_ptr<EndpointType>> endpoints_;
};

/// A completion object of a user, which keeps what it is told.
class Recorder final : public Completion {
 public:
  ~Recorder() override { withdraw(); }
  void signal(Message& message) noexcept override {
    messages.push_back(message.take());
    notify_waiters();
  }
  [[nodiscard]] bool ready() const noexcept override { return !messages.empty(); }
  std::vector<Message> messages;  // of one thread
};

}  // namespace weft::test
