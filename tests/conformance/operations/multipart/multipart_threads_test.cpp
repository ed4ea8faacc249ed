// Messages with parts between many threads.
#include "support/parts.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

using test::Parcel;
using test::PartBuffers;
using test::parts_settings;
using test::Ranks;

class VectoredThreads : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] std::vector<AttributeSetting> attributes() const {
    return parts_settings()[GetParam()].attributes;
  }
};

INSTANTIATE_TEST_SUITE_P(over, VectoredThreads, testing::Range<std::size_t>(0, parts_settings().size()),
                         [](const auto& setting) {
                           return std::string(parts_settings()[setting.param].name);
                         });

std::size_t count_of(std::uint64_t number) { return number % 5 == 4 ? 40 : 1 + number % 5; }
std::size_t size_of(std::uint64_t number, std::size_t index) {
  return (number * 977 + index * 331) % 5 == 0 ? 20'000 + number : (number + index * 57) % 800;
}

/// The heads carry a number, from which the parts are known.
void expect_all_arrive(const std::vector<AttributeSetting>& attributes, int threads) {
  const std::uint64_t messages = threads == 1 ? 120 : 40;
  Ranks<> ranks(2, attributes);
  ASSERT_TRUE(ranks.meet());
  CompletionQueue arrived;
  CompletionQueue ended;
  const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 1});
  const std::uint64_t all = messages * static_cast<std::uint64_t>(threads);
  std::atomic<std::uint64_t> received{0};
  std::atomic<std::uint64_t> dropped{0};
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<int> hung{0};
  std::atomic<int> done{0};  // senders
  std::vector<std::thread> group;
  for (int thread = 0; thread < threads; ++thread) {
    group.emplace_back([&, thread] {
      Endpoint& endpoint = ranks.endpoint(0);
      Counter sent;
      std::vector<std::unique_ptr<Parcel>> parcels;
      const auto step = [&] { endpoint.progress(); };
      for (std::uint64_t count = 0; count < messages; ++count) {
        const std::uint64_t number =
            count * static_cast<std::uint64_t>(threads) + static_cast<std::uint64_t>(thread);
        std::vector<std::size_t> sizes;
        for (std::size_t index = 0; index < count_of(number); ++index)
          sizes.push_back(size_of(number, index));
        parcels.push_back(std::make_unique<Parcel>(number, 0, sizes));
        Status status = Status::retry(Reason::none);
        const bool is_accepted = test::until(
            [&] {
              status =
                  endpoint.post_am(1, remote, bytes_of(number), parcels.back()->parts, {.completion = &sent});
              return status.is_accepted();
            },
            step);
        if (!is_accepted) ++hung;
      }
      if (!test::until([&] { return sent.value() == messages; }, step)) ++hung;
      ++done;
    });
    group.emplace_back([&] {
      Endpoint& endpoint = ranks.endpoint(1);
      Message message;
      // Senders are answered by progress.
      const auto is_over = [&] { return received + dropped == all && done == threads; };
      const bool ends = test::until(is_over, [&] {
        endpoint.progress();
        if (arrived.pop(message)) {
          const auto number = message.as<std::uint64_t>();
          if (message.part_sizes().size() != count_of(number)) ++wrong;
          if (number % 10 == 9) {
            message = Message();
            ++dropped;
          } else {
            auto* buffers = new PartBuffers(message.part_sizes());
            endpoint.receive_parts(std::move(message), buffers->list(), ended, buffers);
          }
        }
        if (ended.pop(message)) {
          const std::unique_ptr<PartBuffers> buffers(static_cast<PartBuffers*>(message.user_data()));
          if (message.outcome() != Outcome::ok ||
              !buffers->hold(message.as<std::uint64_t>(), message.part_sizes()))
            ++wrong;
          ++received;
        }
      });
      if (!ends) ++hung;
    });
  }
  for (std::thread& thread : group) thread.join();
  EXPECT_EQ(hung, 0);
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(received + dropped, all);
}

TEST_P(VectoredThreads, one_sends_to_one) { expect_all_arrive(attributes(), 1); }
TEST_P(VectoredThreads, two_send_to_two) { expect_all_arrive(attributes(), 2); }
TEST_P(VectoredThreads, eight_send_to_eight) { expect_all_arrive(attributes(), 8); }

}  // namespace
}  // namespace weft
