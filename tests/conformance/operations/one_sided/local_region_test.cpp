// Posts that name the region of their own rank that holds the local buffer.
#include "support/errors.hpp"
#include "support/one_sided.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace weft {
namespace {

using test::access_settings;
using test::AccessSetting;
using test::error_of;
using test::expect_names;
using test::matches;
using test::Ranks;
using test::Recorder;
using test::Target;

constexpr std::size_t kBytes = 400'000;

/// Rank 0 posts from and into a region of its own; rank 1 has a region, too.
class LocalRegions : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] const AccessSetting& setting() const { return access_settings()[GetParam()]; }

  LocalRegions() { test::fill(own_.bytes(), 1); }
  template <class Post>
  [[nodiscard]] Status accepted(const Post& post) {
    return test::post_until(post, [&] { ranks_.progress(); });
  }
  void wait(const Recorder& ended, std::size_t count = 1) {
    ASSERT_TRUE(ranks_.progress_until([&] { return ended.messages.size() == count; }));
    for (const Message& message : ended.messages) EXPECT_EQ(message.outcome(), Outcome::ok);
  }
  /// What an active message and a send of the bytes throw.
  [[nodiscard]] std::array<std::string, 2> errors_of_messages(Bytes bytes, LocalRegion region) {
    return {
        error_of(
            [&] { static_cast<void>(ranks_.endpoint(0).post_am(1, remote_, bytes, {.region = region})); }),
        error_of([&] { static_cast<void>(ranks_.endpoint(0).post_send(1, 5, bytes, {.region = region})); })};
  }

  Ranks<Endpoint> ranks_{2, setting().attributes};
  Recorder arrived_;
  RemoteCompletion remote_ = ranks_.runtime(1).expose(arrived_, {.id = 1});
  MemoryRegion own_{MemoryRegion::allocate(ranks_.runtime(0), kBytes)};
  Target target_{ranks_.runtime(1), setting(), kBytes};
  MappedRegion seen_ = target_.seen_by(ranks_.runtime(0), setting());
};

INSTANTIATE_TEST_SUITE_P(over, LocalRegions, testing::Range<std::size_t>(0, access_settings().size()),
                         [](const auto& setting) {
                           return std::string(access_settings()[setting.param].name);
                         });

TEST_P(LocalRegions, hold_what_messages_carry) {
  ASSERT_TRUE(ranks_.meet());
  for (const std::size_t size : {std::size_t{8}, std::size_t{1000}, kBytes}) {
    test::fill(own_.bytes().first(size), size);
    const Bytes bytes = own_.bytes().first(size);
    Recorder ended;
    std::vector<std::byte> room(size);
    Recorder received;
    ASSERT_TRUE(ranks_.endpoint(1)
                    .post_receive(0, 5, room, {.completion = &received, .may_retry = false})
                    .is_posted());
    ASSERT_TRUE(accepted([&] {
                  return ranks_.endpoint(0).post_am(1, remote_, bytes,
                                                    {.completion = &ended, .region = own_});
                }).is_posted());
    ASSERT_TRUE(accepted([&] {
                  return ranks_.endpoint(0).post_send(1, 5, bytes, {.completion = &ended, .region = own_});
                }).is_posted());
    wait(ended, 2);
    wait(received);
    ASSERT_TRUE(ranks_.progress_until([&] { return !arrived_.messages.empty(); }));
    EXPECT_TRUE(matches({arrived_.messages[0].data(), arrived_.messages[0].size()}, size));
    EXPECT_TRUE(matches(room, size));
    arrived_.messages.clear();
  }
}

TEST_P(LocalRegions, hold_what_puts_and_gets_move) {
  ASSERT_TRUE(ranks_.meet());
  for (const std::size_t size : {std::size_t{8}, std::size_t{1000}, kBytes / 2}) {
    const std::span<std::byte> from = own_.bytes().first(size);
    const std::span<std::byte> to = own_.bytes().last(size);
    test::fill(from, size);
    Recorder ended;
    const AccessOptions options{.completion = &ended, .region = own_};
    ASSERT_TRUE(
        accepted([&] { return ranks_.endpoint(0).post_put(1, seen_.at(8), from, options); }).is_posted());
    wait(ended);
    EXPECT_TRUE(matches(target_.bytes().subspan(8, size), size));
    ASSERT_TRUE(
        accepted([&] { return ranks_.endpoint(0).post_get(1, seen_.at(8), to, options); }).is_posted());
    wait(ended, 2);
    EXPECT_TRUE(matches(to, size));
    const std::array<PutPiece, 2> pieces{
        {{seen_.at(0), from.first(size / 2)}, {seen_.at(kBytes / 2), from.subspan(size / 2)}}};
    ASSERT_TRUE(accepted([&] { return ranks_.endpoint(0).post_put(1, pieces, options); }).is_posted());
    wait(ended, 3);
    EXPECT_TRUE(std::ranges::equal(target_.bytes().first(size / 2), from.first(size / 2)));
    EXPECT_TRUE(
        std::ranges::equal(target_.bytes().subspan(kBytes / 2, size - size / 2), from.subspan(size / 2)));
  }
}

TEST_P(LocalRegions, that_do_not_hold_the_buffer_are_named) {
  ASSERT_TRUE(ranks_.meet());
  const std::vector<std::byte> elsewhere(100);
  for (const std::string& error : errors_of_messages(elsewhere, own_))
    expect_names(error, {"region", "does not hold", "100 bytes"});
  const std::span<std::byte> beyond(own_.bytes().data() + 1, kBytes);
  for (const std::string& error : errors_of_messages(beyond, own_))
    expect_names(error, {"does not hold", std::to_string(kBytes).c_str()});
  Endpoint& endpoint = ranks_.endpoint(0);
  const AccessOptions options{.region = own_};
  expect_names(error_of([&] { static_cast<void>(endpoint.post_put(1, seen_.at(0), beyond, options)); }),
               {"post_put", "does not hold"});
  expect_names(error_of([&] { static_cast<void>(endpoint.post_get(1, seen_.at(0), beyond, options)); }),
               {"post_get", "does not hold"});
  const std::array<PutPiece, 2> pieces{{{seen_.at(0), own_.bytes().first(8)}, {seen_.at(8), elsewhere}}};
  expect_names(error_of([&] { static_cast<void>(endpoint.post_put(1, pieces, options)); }),
               {"post_put", "does not hold"});
  expect_names(error_of([&] { static_cast<void>(endpoint.prepare_send(1, 5, elsewhere, {.region = own_})); }),
               {"prepare_send", "does not hold"});
  LocalRegion closed;
  {
    const MemoryRegion short_lived(ranks_.runtime(0), own_.bytes());
    closed = short_lived;
  }
  for (const std::string& error : errors_of_messages(own_.bytes().first(8), closed))
    expect_names(error, {"not open", "released"});
}

/// An error of the program, which the transfer survives.
TEST_P(LocalRegions, that_are_released_during_a_transfer_do_not_stop_it) {
  ASSERT_TRUE(ranks_.meet());
  std::vector<std::byte> memory = test::payload(kBytes, 9);
  MemoryRegion region(ranks_.runtime(0), memory);
  Recorder ended;
  ASSERT_TRUE(accepted([&] {
                return ranks_.endpoint(0).post_send(1, 5, memory, {.completion = &ended, .region = region});
              }).is_posted());
  ASSERT_TRUE(accepted([&] {
                return ranks_.endpoint(0).post_put(1, seen_.at(0), memory,
                                                   {.completion = &ended, .region = region});
              }).is_posted());
  region = MemoryRegion();
  std::vector<std::byte> room(kBytes);
  Recorder received;
  ASSERT_TRUE(
      ranks_.endpoint(1).post_receive(0, 5, room, {.completion = &received, .may_retry = false}).is_posted());
  wait(received);
  wait(ended, 2);
  EXPECT_TRUE(matches(room, 9));
  EXPECT_TRUE(matches(target_.bytes(), 9));
}

}  // namespace
}  // namespace weft
