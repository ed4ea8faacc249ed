// post_comm: every row of the table is the operation that it says.
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft {
namespace {

using test::Ranks;
using test::Recorder;

class PostComm : public ::testing::Test {
 protected:
  /// Posts until it is accepted.
  void post(int rank, const Communication& communication) {
    ASSERT_TRUE(
        ranks_.progress_until([&] { return ranks_.endpoint(rank).post_comm(communication).is_accepted(); }));
  }
  Ranks<> ranks_{2};
  Recorder local_;
  Recorder remote_;
  RemoteCompletion handle_ = ranks_.runtime(1).expose(remote_, {.id = 1});
  std::vector<std::byte> bytes_ = test::payload(500, 1);
};

TEST_F(PostComm, out_with_neither_is_a_send_and_in_with_neither_is_its_receive) {
  std::vector<std::byte> buffer(500);
  post(0, {.direction = Communication::Direction::out,
           .peer = 1,
           .source = bytes_,
           .tag = ~std::uint64_t{0},
           .completion = &local_});
  post(1, {.direction = Communication::Direction::in,
           .peer = 0,
           .target = buffer,
           .tag = ~std::uint64_t{0},
           .completion = &remote_});
  ASSERT_TRUE(ranks_.progress_until([&] { return local_.ready() && remote_.ready(); }));
  EXPECT_EQ(local_.messages[0].operation(), Operation::send);
  EXPECT_EQ(remote_.messages[0].operation(), Operation::receive);
  EXPECT_TRUE(test::matches(buffer, 1));
}

TEST_F(PostComm, out_with_a_remote_completion_is_an_active_message) {
  post(0, {.peer = 1, .source = bytes_, .remote_completion = handle_, .tag = 5, .completion = &local_});
  ASSERT_TRUE(ranks_.progress_until([&] { return local_.ready() && remote_.ready(); }));
  EXPECT_EQ(local_.messages[0].operation(), Operation::active_message_sent);
  EXPECT_EQ(remote_.messages[0].operation(), Operation::active_message);
  EXPECT_EQ(remote_.messages[0].tag(), 5U);
  EXPECT_TRUE(test::matches(remote_.messages[0].bytes(), 1));
}

TEST_F(PostComm, with_a_remote_buffer_is_a_put_or_a_get_with_or_without_signal) {
  MemoryRegion region = MemoryRegion::allocate(ranks_.runtime(1), 4096);
  for (const bool with_signal : {false, true}) {
    local_.messages.clear();
    remote_.messages.clear();
    const RemoteCompletion signal = with_signal ? handle_ : RemoteCompletion{};
    std::fill(region.bytes().begin(), region.bytes().end(), std::byte{0});
    post(0, {.peer = 1,
             .source = bytes_,
             .remote_buffer = region.remote().at(100),
             .remote_completion = signal,
             .tag = 6,
             .completion = &local_});
    ASSERT_TRUE(ranks_.progress_until([&] { return local_.ready() && remote_.ready() == with_signal; }));
    EXPECT_EQ(local_.messages[0].operation(), Operation::put);
    EXPECT_TRUE(test::matches(region.bytes().subspan(100, 500), 1));
    if (with_signal) {
      EXPECT_EQ(remote_.messages[0].operation(), Operation::put_arrived);
    }

    local_.messages.clear();
    remote_.messages.clear();
    std::vector<std::byte> buffer(500);
    post(0, {.direction = Communication::Direction::in,
             .peer = 1,
             .target = buffer,
             .remote_buffer = region.remote().at(100),
             .remote_completion = signal,
             .tag = 7,
             .completion = &local_});
    ASSERT_TRUE(ranks_.progress_until([&] { return local_.ready() && remote_.ready() == with_signal; }));
    EXPECT_EQ(local_.messages[0].operation(), Operation::get);
    EXPECT_TRUE(test::matches(buffer, 1));
    if (with_signal) {
      EXPECT_EQ(remote_.messages[0].operation(), Operation::get_arrived);
      EXPECT_EQ(remote_.messages[0].tag(), 7U);
    }
  }
}

TEST_F(PostComm, of_parts_that_make_no_operation_says_why) {
  const auto message_of = [&](const Communication& communication) -> std::string {
    try {
      static_cast<void>(ranks_.endpoint(0).post_comm(communication));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  std::vector<std::byte> buffer(8);
  EXPECT_NE(message_of({.direction = Communication::Direction::in,
                        .peer = 1,
                        .target = buffer,
                        .remote_completion = handle_})
                .find("is no operation"),
            std::string::npos);
  EXPECT_NE(
      message_of(
          {.direction = Communication::Direction::in, .peer = 1, .source = buffer, .completion = &local_})
          .find("takes its buffer as target"),
      std::string::npos);
  EXPECT_NE(message_of({.peer = 1, .target = buffer}).find("takes its buffer as source"), std::string::npos);
  EXPECT_NE(
      message_of({.peer = 1, .source = buffer, .remote_completion = handle_, .tag = std::uint64_t{1} << 32})
          .find("tag 4294967296 has more than 32 bits"),
      std::string::npos);
}

}  // namespace
}  // namespace weft
