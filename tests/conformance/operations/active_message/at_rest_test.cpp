// What completion objects say of messages that nobody has taken.
#include "support/ranks.hpp"

#include <weft/weft.hpp>

#include <gtest/gtest.h>

namespace weft {
namespace {

template <class Queue>
void counts_what_lies_there() {
  Queue queue({.initial = 2});
  Message message;
  std::uint64_t pushed = 0;
  std::uint64_t taken = 0;
  for (int round = 0; round < 20; ++round) {
    for (int count = 0; count < 2 * round; ++count, ++pushed) {
      Message arriving;
      queue.signal(arriving);
    }
    EXPECT_EQ(queue.at_rest().messages, pushed - taken);
    for (int count = 0; count < round && queue.pop(message); ++count) ++taken;
    EXPECT_EQ(queue.at_rest().messages, pushed - taken);
    EXPECT_EQ(queue.at_rest().taken, taken);
  }
  EXPECT_FALSE(queue.empty());
  while (queue.pop(message)) ++taken;
  EXPECT_EQ(taken, pushed);
  EXPECT_EQ(queue.at_rest().messages, 0U);
  EXPECT_EQ(queue.at_rest().taken, taken);
  EXPECT_FALSE(queue.pop(message));
}

TEST(AtRest, queues_count_their_messages_and_those_that_were_taken_also_when_they_grow) {
  counts_what_lies_there<CompletionQueue>();
  counts_what_lies_there<SingleConsumerQueue>();
  counts_what_lies_there<SerialCompletionQueue>();
}

TEST(AtRest, objects_that_keep_nothing_have_nothing) {
  Counter counter;
  Message message;
  counter.signal(message);
  EXPECT_EQ(counter.at_rest().messages, 0U);
}

TEST(AtRest, a_stopped_queue_lets_its_senders_go_on_with_the_pop_that_finds_it_empty) {
  test::Ranks<Endpoint> ranks(2);
  CompletionQueue queue({.capacity = 4});
  const RemoteCompletion remote = ranks.runtime(1).expose(queue, {.id = 1});
  Message message;
  std::uint64_t popped = 0;
  for (std::uint64_t number = 0; number < 1000; ++number) {
    ASSERT_TRUE(
        test::until([&] { return ranks.endpoint(0).post_am(1, remote, bytes_of(number)).is_accepted(); },
                    [&] {
                      ranks.progress();
                      if (queue.pop(message)) ++popped;
                    }));
  }
  ASSERT_TRUE(test::until([&] { return popped == 1000; },
                          [&] {
                            ranks.progress();
                            if (queue.pop(message)) ++popped;
                          }));
}

}  // namespace
}  // namespace weft
