// What large messages need around them, towards nobody.
#pragma once

#include "core/protocol/rendezvous/rendezvous.hpp"

#include "support/fake_network.hpp"

#include <weft/completion/completion.hpp>

#include <array>
#include <atomic>
#include <functional>

namespace weft::core::test {

using weft::test::FakeNetwork;
using weft::test::FakePort;
using weft::test::FakeSink;

/// By rank: whoever has gone has been heard out.
inline const std::array<std::atomic<bool>, 3> all_is_over{true, true, true};

class Ended final : public Completion {
 public:
  ~Ended() override { withdraw(); }
  std::atomic<int> count{0};
  Outcome outcome = Outcome::cancelled;
  std::function<void()> on_signal = [] {};
  void signal(Message& message) noexcept override {
    outcome = message.outcome();
    ++count;
    on_signal();
  }
  [[nodiscard]] bool ready() const noexcept override { return true; }
};

/// What a device of large messages works with, towards nobody.
struct Device {
  explicit Device(std::uint32_t requests = 16, std::size_t fetched_bytes = 0)
      : context{.port = &port,
                .pool = pool,
                .exposures = exposures,
                .counters = counters,
                .log = log,
                .limits = {64, 1024},
                .transfer = Transfer::copy,
                .requests = requests,
                .device = 0,
                .regions = regions,
                .access_path = AccessPath::automatic,
                .rank = 0,
                .ranks = 3,
                .ends = ends,
                .fetched_bytes = fetched_bytes} {}
  FakePort port;
  FakeNetwork network;
  FakeSink sink;
  PacketPool pool{1};
  detail::Exposures exposures{network, [] {}};
  Regions regions{network, 0, 1, 0, [] {}};
  Counters counters;
  const base::Log log;
  ImmediateCompletions ends{port};
  const Context context;
};

}  // namespace weft::core::test
