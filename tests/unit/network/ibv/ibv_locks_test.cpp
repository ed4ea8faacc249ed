// Threads that post and poll meet in no lock of a provider: the device's own is tried before.
#include "unit/network/ibv/double_network.hpp"

#include "network/ibv/verbs/rdma_device.hpp"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace weft::network::ibv {
namespace {

using network::test::Stage;
using weft::test::payload;

class IbvLocks : public OverDouble {};

TEST_F(IbvLocks, OfAProviderAreNotContendedByThreadsThatPostAndPoll) {
  constexpr std::uint64_t kMessages = 3000;
  Stage stage(2, settings());
  const std::uint64_t before = Fabric::instance().met();
  std::atomic<std::uint64_t> sent{0};
  const auto post = [&](std::uint64_t first) {
    const auto bytes = payload(400, first);
    for (std::uint64_t word = first; word < first + kMessages;) {
      if (stage.port(0).send(Stage::to(1, word), bytes) == SendResult::sent) {
        ++word;
        ++sent;
      } else {
        std::this_thread::yield();
      }
    }
  };
  std::vector<std::thread> threads;
  for (const std::uint64_t first : {std::uint64_t{0}, kMessages}) threads.emplace_back(post, first);
  threads.emplace_back([&] {
    while (sent != 2 * kMessages) stage[0].poll();
  });
  EXPECT_TRUE(weft::test::until([&] { return stage.notes(1).arrivals.size() == 2 * kMessages; },
                                [&] { stage[1].poll(); }));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Fabric::instance().met(), before);
}

TEST_F(IbvLocks, ThatAreContendedAreCounted) {
  const Device device({"auto", -1});
  const CompletionChannel channel(verbs().create_comp_channel(&device.context()));
  const CompletionQueue queue(verbs().create_cq(&device.context(), 16, nullptr, channel.get(), 0));
  const std::uint64_t before = Fabric::instance().met();
  std::atomic<bool> stop{false};
  const auto poll = [&] {
    ibv_wc entry{};
    static_cast<void>(::ibv_poll_cq(queue.get(), 1, &entry));
  };
  std::thread other([&] {
    while (!stop) poll();
  });
  EXPECT_TRUE(weft::test::until([&] { return Fabric::instance().met() != before; }, poll));
  stop = true;
  other.join();
}

}  // namespace
}  // namespace weft::network::ibv
