// What ranks tell each other about handles.
#include "network/session/link/handle_board.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace weft::network::session {
namespace {

std::vector<HandleChange> all_news(const HandleBoard& board, HandleCursor& cursor) {
  std::vector<HandleChange> all;
  std::array<HandleChange, 5> some;
  while (board.has_updates(cursor)) {
    const std::size_t count = board.take_updates(cursor, some);
    all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return all;
}

constexpr std::uint64_t word(std::uint16_t id, std::uint16_t generation) {
  return std::uint64_t{id} << 48 | std::uint64_t{generation} << 32;
}

TEST(HandleBoard, tells_a_new_peer_everything_and_then_what_changes) {
  HandleBoard board;
  for (std::uint16_t id = 0; id < 300; id = static_cast<std::uint16_t>(id + 3))
    board.publish(id, 1, HandleState::open);
  HandleCursor cursor;
  const auto table = all_news(board, cursor);
  ASSERT_EQ(table.size(), 100U);
  for (std::size_t next = 0; next < table.size(); ++next) EXPECT_EQ(table[next].id, 3 * next);
  EXPECT_TRUE(all_news(board, cursor).empty());
  board.publish(3, 1, HandleState::stopped);
  board.publish(65535, 7, HandleState::open);
  const auto changes = all_news(board, cursor);
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].state, static_cast<std::uint16_t>(HandleState::stopped));
  EXPECT_EQ(changes[0].version, 2U);
  EXPECT_EQ(changes[1].id, 65535);
  EXPECT_EQ(changes[1].generation, 7);
}

TEST(HandleBoard, tells_what_changes_while_the_table_is_told) {
  HandleBoard board;
  for (std::uint16_t id = 0; id < 10; ++id) board.publish(id, 1, HandleState::open);
  HandleCursor cursor;
  std::array<HandleChange, 5> half;
  ASSERT_EQ(board.take_updates(cursor, half), 5U);
  board.publish(0, 1, HandleState::withdrawn);
  std::uint16_t last_state_of_0 = half[0].state;
  for (const HandleChange& change : all_news(board, cursor))
    if (change.id == 0) last_state_of_0 = change.state;
  EXPECT_EQ(last_state_of_0, static_cast<std::uint16_t>(HandleState::withdrawn));
}

TEST(HandleBoard, tells_everything_again_when_more_changed_than_it_remembers) {
  HandleBoard board;
  board.publish(9, 1, HandleState::open);
  HandleCursor cursor;
  EXPECT_EQ(all_news(board, cursor).size(), 1U);
  for (int change = 0; change < 5000; ++change)
    board.publish(static_cast<std::uint16_t>(change % 7), 1,
                  change % 2 == 0 ? HandleState::stopped : HandleState::open);
  KnownHandles known;
  for (const HandleChange& change : all_news(board, cursor)) EXPECT_TRUE(known.learn(change));
  for (int id = 0; id < 7; ++id) {
    const int last = (4999 - id) / 7 * 7 + id;
    EXPECT_EQ(known.admission(word(static_cast<std::uint16_t>(id), 1)),
              last % 2 == 0 ? SendResult::no_credit : SendResult::sent)
        << id;
  }
  EXPECT_EQ(known.admission(word(9, 1)), SendResult::sent);
}

// Of the last change that it could remember the place may be written at that moment, for the next one.
TEST(HandleBoard, tells_everything_again_when_as_many_changed_as_it_remembers) {
  HandleBoard board;
  board.publish(9, 1, HandleState::open);
  HandleCursor cursor;
  EXPECT_EQ(all_news(board, cursor).size(), 1U);
  for (int change = 0; change < 1023; ++change) board.publish(5, 1, HandleState::open);
  EXPECT_EQ(all_news(board, cursor).size(), 1023U) << "change by change";
  for (int change = 0; change < 1024; ++change) board.publish(5, 1, HandleState::open);
  EXPECT_EQ(all_news(board, cursor).size(), 2U) << "the table";
}

TEST(KnownHandles, answer_by_generation_and_state) {
  KnownHandles known;
  EXPECT_EQ(known.admission(word(4, 1)), SendResult::not_ready);
  ASSERT_TRUE(known.learn({4, 2, static_cast<std::uint16_t>(HandleState::open), 0, 5}));
  EXPECT_EQ(known.admission(word(4, 2)), SendResult::sent);
  EXPECT_EQ(known.admission(word(4, 3)), SendResult::not_ready);
  EXPECT_EQ(known.admission(word(4, 1)), SendResult::sent) << "the receiver refuses and reports it";
  EXPECT_EQ(known.admission(word(5, 1)), SendResult::not_ready);
  ASSERT_TRUE(known.learn({4, 2, static_cast<std::uint16_t>(HandleState::stopped), 0, 6}));
  EXPECT_EQ(known.admission(word(4, 2)), SendResult::no_credit);
  EXPECT_EQ(known.admission(word(4, 1)), SendResult::sent);
  ASSERT_TRUE(known.learn({4, 2, static_cast<std::uint16_t>(HandleState::withdrawn), 0, 7}));
  EXPECT_EQ(known.admission(word(4, 2)), SendResult::sent);
}

TEST(KnownHandles, never_go_back_to_what_is_older) {
  KnownHandles known;
  ASSERT_TRUE(known.learn({1, 1, static_cast<std::uint16_t>(HandleState::stopped), 0, 0xffffffff}));
  ASSERT_TRUE(known.learn({1, 1, static_cast<std::uint16_t>(HandleState::open), 0, 2}));
  EXPECT_EQ(known.admission(word(1, 1)), SendResult::sent) << "versions wrap round";
  ASSERT_TRUE(known.learn({1, 1, static_cast<std::uint16_t>(HandleState::stopped), 0, 0xfffffffe}));
  EXPECT_EQ(known.admission(word(1, 1)), SendResult::sent);
}

}  // namespace
}  // namespace weft::network::session
