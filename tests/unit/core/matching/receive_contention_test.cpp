// A receive that is posted while another thread is in its bucket, or in its ordered engine, waits for that
// thread.
#include "core/protocol/matched/matched_messages.hpp"
#include "unit/core/protocol/rendezvous_fixture.hpp"

#include <weft/completion/counter.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <latch>
#include <thread>

namespace weft::core {
namespace {

class ReceiveContention : public testing::Test {
 protected:
  test::Device device_{1};
  Rendezvous rendezvous_{device_.context};
  detail::DevicePath path_;
  MatchingEngines engines_{{.buckets = 16, .records = 64, .ranks = 3}};
  CreditLedgers ledgers_{3, 0, 16};
  SendCredits credits_{3, 16};
  MatchedMessages send_receive_{device_.context, path_, engines_, ledgers_, credits_, rendezvous_};

  Counter ended_;
  std::array<std::byte, 8> buffer_{};

  /// Posts a receive while hold(visit) has called visit, which holds what the receive needs.
  template <class Hold>
  Status post_while_held(MatchingEngine& engine, const Hold& hold) {
    const auto post = [&] {
      const ReceiveOptions options{.completion = &ended_, .engine = engine.id()};
      return engine.order() != nullptr ? send_receive_.receiver().attempt_ordered(
                                             engine, 1, 7, buffer_, options, {.exclusive = false})
                                       : send_receive_.receiver().attempt(engine, 1, 7, buffer_, options);
    };
    EXPECT_TRUE(post().is_posted()) << "something to visit";
    std::latch is_held(1);
    std::latch is_coming(1);
    std::thread holder([&] {
      hold([&] {
        is_held.count_down();
        is_coming.wait();
        // Long enough that the post has looked at the lock; a longer way there makes the test weaker, no
        // more.
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      });
    });
    is_held.wait();
    is_coming.count_down();
    const Status status = post();
    holder.join();
    engine.unlink_where([](const MatchRecord&) { return true; },
                        [&](MatchRecord& record) { engine.storage().release(record); });
    return status;
  }
};

TEST_F(ReceiveContention, in_a_bucket_is_waited_for) {
  MatchingEngine& engine = *engines_.find(0);
  EXPECT_TRUE(post_while_held(engine, [&](const auto& visit) {
                engine.table().for_each([&](const MatchRecord&, MatchSide) { visit(); });
              }).is_posted());
}

TEST_F(ReceiveContention, in_an_ordered_engine_is_waited_for) {
  MatchingEngine& engine = *engines_.find(kMatchingEngines);
  EXPECT_TRUE(post_while_held(engine, [&](const auto& visit) {
                engine.order()->for_each([&](const MatchRecord&, MatchSide, bool) { visit(); });
              }).is_posted());
}

}  // namespace
}  // namespace weft::core
