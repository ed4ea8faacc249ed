// What threads have used and given back is there for others, also while they idle, and after they have ended.
#include <weft/testing/in_process_job.hpp>

#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <functional>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

namespace weft {
namespace {

using test::Ranks;

constexpr int kThreads = 12;

/// Threads that have called use(), all of them before the constructor returns, and then end, or idle until
/// the destructor does.
class Users {
 public:
  Users(bool end, const std::function<void(std::barrier<>& all)>& use) {
    for (int count = 0; count < kThreads; ++count)
      threads_.emplace_back([this, end, &use] {
        use(all_);
        used_.count_down();
        if (!end) end_.wait();
      });
    used_.wait();
    if (end)
      for (std::thread& thread : threads_) thread.join();
    if (end) threads_.clear();
  }
  ~Users() {
    end_.count_down();
    for (std::thread& thread : threads_) thread.join();
  }
  Users(const Users&) = delete;
  Users& operator=(const Users&) = delete;

 private:
  std::barrier<> all_{kThreads};
  std::latch used_{kThreads};
  std::latch end_{1};
  std::vector<std::thread> threads_;
};

class IdleThreads : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(threads, IdleThreads, testing::Bool(),
                         [](const auto& end) { return end.param ? "ended" : "idle"; });

TEST_P(IdleThreads, keep_no_packet_from_others) {
  InProcessJob job(1);
  for (const char* magazine : {"2", "32", "64"}) {
    const AttributeSetting attributes[] = {
        {"packets", "256"}, {"packet_magazine", magazine}, {"packet_size", "2K"}};
    Runtime runtime(job, 0, {.attributes = attributes});
    Device device(runtime);
    const Users users(GetParam(), [&](std::barrier<>& all) {
      std::vector<Packet> packets;
      for (int count = 0; count < 256 / kThreads; ++count) packets.push_back(device.get_packet());
      all.arrive_and_wait();
    });
    std::size_t found = 0;
    std::thread([&] {
      std::vector<Packet> packets;
      while (Packet packet = device.get_packet()) packets.push_back(std::move(packet));
      found = packets.size();
    }).join();
    EXPECT_EQ(found, 256U) << "with magazines of " << magazine;
  }
}

TEST_P(IdleThreads, keep_no_receive_from_being_posted) {
  constexpr int kRecords = 96;
  for (const std::uint16_t engine : {std::uint16_t{0}, std::uint16_t{kMatchingEngines}}) {
    Ranks<Endpoint> ranks(2, {{"matching_records", "96"}});
    MatchingEngine opened(ranks.runtime(0),
                          {.id = engine, .order = engine == 0 ? MatchOrder::unordered : MatchOrder::ordered});
    Endpoint& endpoint = ranks.endpoint(0);
    Counter ended;
    std::vector<std::byte> buffer(8);
    const auto post = [&](std::uint64_t tag, ReceiveHandle& handle) {
      return endpoint.post_receive(1, tag, buffer,
                                   {.completion = &ended, .engine = engine, .handle = &handle});
    };
    const Users users(GetParam(), [&](std::barrier<>& all) {
      std::vector<ReceiveHandle> handles(kRecords / kThreads);
      for (ReceiveHandle& handle : handles) EXPECT_TRUE(post(1, handle).is_posted());
      all.arrive_and_wait();
      for (const ReceiveHandle& handle : handles) EXPECT_TRUE(endpoint.cancel(handle));
      all.arrive_and_wait();
    });
    std::thread([&] {
      std::vector<ReceiveHandle> handles(kRecords);
      for (std::size_t count = 0; count < handles.size(); ++count)
        ASSERT_TRUE(post(2, handles[count]).is_posted()) << "engine " << engine << ", receive " << count;
      for (const ReceiveHandle& handle : handles) EXPECT_TRUE(endpoint.cancel(handle));
    }).join();
  }
}

TEST_P(IdleThreads, keep_no_credit_from_others) {
  constexpr int kCredits = 256;
  Ranks<Endpoint> ranks(2, test::with_no_surprises({{"unexpected_credits", "256"}}));
  Endpoint& endpoint = ranks.endpoint(0);
  std::vector<std::byte> content(8);
  std::mutex progress;
  const auto send = [&] {
    const Status status = endpoint.post_send(1, 1, content);
    if (status.is_accepted()) return true;
    const std::lock_guard lock(progress);
    ranks.progress();
    return false;
  };
  // The first send of a thread makes its lane, the next one takes credits for it in advance.
  constexpr int kSends = 3;
  const Users users(GetParam(), [&](std::barrier<>& all) {
    for (int count = 0; count < kSends; ++count) EXPECT_TRUE(test::until([&] { return send(); }, [] {}));
    all.arrive_and_wait();
  });
  int sent = kSends * kThreads;
  std::thread([&] {
    for (int refused = 0; refused < 10'000; ++refused)
      if (send()) {
        ++sent;
        refused = 0;
      }
  }).join();
  EXPECT_EQ(sent, kCredits) << "sends that wait for their receives";
}

}  // namespace
}  // namespace weft
