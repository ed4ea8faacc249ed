// Atomic operations: every operator on every type, on every kind of region, reached in every way.
#include "support/one_sided.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

namespace weft {
namespace {

using test::access_settings;
using test::AccessSetting;
using test::post_until;
using test::Ranks;
using test::Target;

constexpr AtomicOperation kOperations[] = {
    AtomicOperation::add,     AtomicOperation::swap, AtomicOperation::bit_and, AtomicOperation::bit_or,
    AtomicOperation::bit_xor, AtomicOperation::min,  AtomicOperation::max};

/// What the operation makes of two values; integers by way of 64 bits without sign.
template <class T>
T model(AtomicOperation operation, T now, T operand) {
  switch (operation) {
    case AtomicOperation::add:
      if constexpr (std::floating_point<T>)
        return now + operand;
      else
        return static_cast<T>(static_cast<std::uint64_t>(now) + static_cast<std::uint64_t>(operand));
    case AtomicOperation::swap:
      return operand;
    case AtomicOperation::min:
      return std::min(now, operand);
    case AtomicOperation::max:
      return std::max(now, operand);
    default:
      break;
  }
  if constexpr (std::integral<T>) {
    if (operation == AtomicOperation::bit_and) return now & operand;
    if (operation == AtomicOperation::bit_or) return now | operand;
    if (operation == AtomicOperation::bit_xor) return now ^ operand;
  }
  return now;
}

/// Values at whose borders something could go wrong.
template <class T>
std::vector<T> values() {
  if constexpr (std::floating_point<T>)
    return {T{0}, T{1.5}, T{-2.25}, static_cast<T>(1e30)};
  else
    return {T{0},
            T{1},
            T{0x1234567},
            std::numeric_limits<T>::min(),
            std::numeric_limits<T>::max(),
            static_cast<T>(-2)};
}

class Atomics : public testing::TestWithParam<std::size_t> {
 protected:
  static constexpr std::size_t kSize = 4096;
  [[nodiscard]] const AccessSetting& setting() const { return access_settings()[GetParam()]; }

  void SetUp() override {
    auto attributes = setting().attributes;
    attributes.push_back({"log", "error"});
    ranks_ = std::make_unique<Ranks<Endpoint>>(2, attributes);
    for (int rank = 0; rank < 2; ++rank)
      targets_[rank] = std::make_unique<Target>(ranks_->runtime(rank), setting(), kSize);
  }
  void TearDown() override {
    for (auto& target : targets_) target.reset();
    ranks_.reset();
  }
  MappedRegion region(int owner) { return targets_[owner]->seen_by(ranks_->runtime(0), setting()); }
  template <class T>
  T load(int owner, std::size_t offset) {
    T value;
    std::memcpy(&value, targets_[owner]->bytes().data() + offset, sizeof value);
    return value;
  }
  template <class T>
  void store(int owner, std::size_t offset, T value) {
    std::memcpy(targets_[owner]->bytes().data() + offset, &value, sizeof value);
  }
  /// Posts until it is accepted and has ended; checks that it ends once.
  Outcome ended(const std::function<Status(const AccessOptions&)>& post, bool may_complete_now,
                RemoteCompletion signal = {}) {
    test::Recorder recorder;
    int mark = 0;
    const AccessOptions options{
        .completion = &recorder, .user_data = &mark, .signal = signal, .may_complete_now = may_complete_now};
    const Status status = post_until([&] { return post(options); }, [&] { ranks_->progress(); });
    if (status.is_done()) {
      EXPECT_TRUE(may_complete_now);
      EXPECT_TRUE(recorder.messages.empty());
      return Outcome::ok;
    }
    EXPECT_TRUE(status.is_posted());
    EXPECT_TRUE(ranks_->progress_until([&] { return recorder.ready(); }));
    for (int more = 0; more < 20; ++more) ranks_->progress();
    EXPECT_EQ(recorder.messages.size(), 1U);
    if (recorder.messages.empty()) return Outcome::cancelled;
    const Message& message = recorder.messages.front();
    EXPECT_EQ(message.operation(), Operation::atomic);
    EXPECT_EQ(message.user_data(), &mark);
    return message.outcome();
  }

  /// One operation in all its forms on the value at `offset`.
  template <class T>
  void check(int owner, std::size_t offset, AtomicOperation operation, T before, T operand) {
    SCOPED_TRACE(std::string(name_of(operation)) + " on rank " + std::to_string(owner));
    const MappedRegion there = region(owner);
    Endpoint& endpoint = ranks_->endpoint(0);
    const T after = model(operation, before, operand);
    const bool may_complete_now = ++forms_ % 2 == 0;
    store(owner, offset, before);
    EXPECT_EQ(ended(
                  [&](const AccessOptions& options) {
                    return endpoint.post_atomic<T>(owner, there.at(offset), operation, operand, options);
                  },
                  may_complete_now),
              Outcome::ok);
    EXPECT_EQ(load<T>(owner, offset), after);
    store(owner, offset, before);
    T old{};
    EXPECT_EQ(ended(
                  [&](const AccessOptions& options) {
                    return endpoint.post_fetch_atomic(owner, RemoteAddress(there.at(offset)), operation,
                                                      operand, old, options);
                  },
                  may_complete_now),
              Outcome::ok);
    EXPECT_EQ(load<T>(owner, offset), after);
    EXPECT_EQ(old, before);
  }
  template <class T>
  void check_compare_swap(int owner, std::size_t offset, T before, T expected, T desired) {
    const MappedRegion there = region(owner);
    Endpoint& endpoint = ranks_->endpoint(0);
    const T after = before == expected ? desired : before;
    store(owner, offset, before);
    EXPECT_EQ(ended(
                  [&](const AccessOptions& options) {
                    return endpoint.post_compare_swap<T>(owner, there.at(offset), expected, desired, options);
                  },
                  true),
              Outcome::ok);
    EXPECT_EQ(load<T>(owner, offset), after);
    store(owner, offset, before);
    T old{};
    EXPECT_EQ(ended(
                  [&](const AccessOptions& options) {
                    return endpoint.post_fetch_compare_swap(owner, there.at(offset), expected, desired, old,
                                                            options);
                  },
                  false),
              Outcome::ok);
    EXPECT_EQ(load<T>(owner, offset), after);
    EXPECT_EQ(old, before);
  }
  template <class T>
  void check_all() {
    for (const int owner : {1, 0}) {
      const auto all = values<T>();
      for (std::size_t first = 0; first < all.size(); ++first) {
        for (const T operand : all) {
          for (const AtomicOperation operation : kOperations)
            if (std::integral<T> || operation <= AtomicOperation::swap)
              check<T>(owner, kSize - sizeof(T) * (first + 1), operation, all[first], operand);
          if constexpr (AtomicInteger<T>) {
            check_compare_swap<T>(owner, sizeof(T) * first, all[first], operand, T{77});
          }
        }
      }
    }
  }

  std::unique_ptr<Ranks<Endpoint>> ranks_;
  std::unique_ptr<Target> targets_[2];
  int forms_ = 0;
};

INSTANTIATE_TEST_SUITE_P(over, Atomics, testing::Range<std::size_t>(0, access_settings().size()),
                         [](const auto& setting) {
                           return std::string(access_settings()[setting.param].name);
                         });

TEST_P(Atomics, of_32_bits_do_what_their_operators_say) {
  check_all<std::uint32_t>();
  check_all<std::int32_t>();
}

TEST_P(Atomics, of_64_bits_do_what_their_operators_say) {
  check_all<std::uint64_t>();
  check_all<std::int64_t>();
}

TEST_P(Atomics, of_floating_point_numbers_do_what_their_operators_say) {
  check_all<float>();
  check_all<double>();
}

TEST_P(Atomics, leave_the_neighbours_of_their_value_alone) {
  for (const int owner : {0, 1}) {
    test::fill(targets_[owner]->bytes(), 9);
    std::vector<std::byte> expected(targets_[owner]->bytes().begin(), targets_[owner]->bytes().end());
    const MappedRegion there = region(owner);
    const auto post = [&](const AccessOptions& options) {
      return ranks_->endpoint(0).post_atomic<std::uint32_t>(owner, there.at(100), AtomicOperation::swap,
                                                            0xabcdef12, options);
    };
    EXPECT_EQ(ended(post, false), Outcome::ok);
    const std::uint32_t value = 0xabcdef12;
    std::memcpy(expected.data() + 100, &value, sizeof value);
    EXPECT_TRUE(std::ranges::equal(targets_[owner]->bytes(), expected));
  }
}

TEST_P(Atomics, that_nobody_observes_are_over_after_a_flush) {
  const MappedRegion there = region(1);
  const test::Helpers helpers(*ranks_, 1, 1);
  Endpoint& endpoint = ranks_->endpoint(0);
  std::uint64_t old = 0;
  for (std::uint64_t round = 0; round < 100; ++round) {
    EXPECT_TRUE(
        post_until(
            [&] { return endpoint.post_atomic<std::uint64_t>(1, there.at(8), AtomicOperation::add, 3); },
            [&] { endpoint.progress(); })
            .is_accepted());
    endpoint.flush(1);
    EXPECT_TRUE(
        post_until(
            [&] { return endpoint.post_fetch_atomic(1, there.at(8), AtomicOperation::bit_or, 0, old); },
            [&] { endpoint.progress(); })
            .is_accepted());
    endpoint.flush();
    EXPECT_EQ(old, 3 * (round + 1));
  }
}

TEST_P(Atomics, that_block_return_with_the_old_value) {
  const MappedRegion there = region(1);
  const test::Helpers helpers(*ranks_, 1, 1);
  Endpoint& endpoint = ranks_->endpoint(0);
  const auto place = there.at(16);
  const auto fetched = [&](AtomicOperation operation, std::int64_t operand) {
    const Fetched<std::int64_t> answer = endpoint.fetch_atomic<std::int64_t>(1, place, operation, operand);
    EXPECT_EQ(answer.outcome, Outcome::ok);
    EXPECT_TRUE(answer);
    return answer.value;
  };
  EXPECT_EQ(fetched(AtomicOperation::add, -5), 0);
  EXPECT_EQ(fetched(AtomicOperation::min, -9), -5);
  EXPECT_EQ(fetched(AtomicOperation::max, 12), -9);
  EXPECT_EQ(fetched(AtomicOperation::bit_and, 6), 12);
  EXPECT_EQ(fetched(AtomicOperation::bit_or, 3), 4);
  EXPECT_EQ(fetched(AtomicOperation::bit_xor, 2), 7);
  EXPECT_EQ(fetched(AtomicOperation::swap, 100), 5);
  const auto swapped = endpoint.fetch_compare_swap<std::int64_t>(1, place, 100, 200);
  EXPECT_TRUE(swapped);
  EXPECT_EQ(swapped.value, 100);
  EXPECT_EQ(endpoint.compare_swap<std::int64_t>(1, place, 100, 300), Outcome::ok);
  EXPECT_EQ(endpoint.atomic<std::int64_t>(1, place, AtomicOperation::add, 1), Outcome::ok);
  test::Recorder observer;
  const auto observed =
      endpoint.fetch_atomic<std::int64_t>(1, place, AtomicOperation::add, 0, {.completion = &observer});
  EXPECT_TRUE(observed);
  EXPECT_EQ(observed.value, 201);
  EXPECT_EQ(observer.messages.size(), 1U);
}

TEST_P(Atomics, signal_the_owner_when_they_have_been_carried_out) {
  const MappedRegion there = region(1);
  std::uint64_t signals = 0;
  std::uint64_t too_early = 0;
  Handler handler([&](Message& message) {
    ++signals;
    if (message.operation() != Operation::atomic_arrived || message.peer() != 0) ++too_early;
    if (load<std::uint64_t>(1, 24) < message.tag()) ++too_early;
  });
  const RemoteCompletion signal = ranks_->runtime(1).expose(handler, {.id = 5});
  for (std::uint32_t tag = 1; tag <= 200; ++tag) {
    std::uint64_t old = 0;
    test::Recorder recorder;
    AccessOptions options{.signal = signal, .tag = tag};
    if (tag % 2 == 0) options.completion = &recorder;
    const Status status = post_until(
        [&] {
          return tag % 4 < 2 ? ranks_->endpoint(0).post_atomic<std::uint64_t>(
                                   1, there.at(24), AtomicOperation::add, 1, options)
                             : ranks_->endpoint(0).post_fetch_atomic(1, there.at(24), AtomicOperation::add, 1,
                                                                     old, options);
        },
        [&] { ranks_->progress(); });
    ASSERT_TRUE(status.is_accepted());
    ASSERT_TRUE(ranks_->progress_until(
        [&] { return signals == tag && (options.completion == nullptr || recorder.ready()); }));
  }
  EXPECT_EQ(too_early, 0U);
}

TEST_P(Atomics, of_handlers_are_kept_until_there_is_room) {
  const MappedRegion there = targets_[0]->seen_by(ranks_->runtime(1), setting());
  std::uint64_t refused = 0;
  Counter ended;
  Handler handler([&](Message&) {
    const Status status = ranks_->endpoint(1).post_atomic<std::uint64_t>(0, there.at(0), AtomicOperation::add,
                                                                         1, {.completion = &ended});
    if (status.is_retry()) ++refused;
  });
  const RemoteCompletion remote = ranks_->runtime(1).expose(handler, {.id = 6});
  constexpr std::uint64_t kCount = 300;
  for (std::uint64_t next = 0; next < kCount; ++next)
    ASSERT_TRUE(ranks_->post(0, 1, remote, bytes_of(next)).has_value());
  ASSERT_TRUE(ranks_->progress_until([&] { return ended.value() + refused == kCount; }));
  EXPECT_EQ(refused, 0U);
  EXPECT_EQ(load<std::uint64_t>(0, 0), kCount - refused);
}

TEST_P(Atomics, that_may_not_be_are_refused_and_change_nothing) {
  test::fill(targets_[1]->bytes(), 3);
  const MappedRegion there = region(1);
  Endpoint& endpoint = ranks_->endpoint(0);
  const auto refusal = [&](std::uint64_t offset, auto type) {
    using T = decltype(type);
    T old = 42;
    const auto post = [&](const AccessOptions& options) {
      return endpoint.post_fetch_atomic(1, there.at(offset), AtomicOperation::add, 1, old, options);
    };
    const Outcome outcome = ended(post, offset % 3 == 0);
    EXPECT_EQ(old, T{42}) << "the old value of a refused operation";
    return outcome;
  };
  for (const std::uint64_t offset : {kSize - 7, kSize - 4, kSize, kSize + 8, std::size_t{1}, std::size_t{4},
                                     std::size_t{1001}, ~std::size_t{0}, ~std::size_t{7}})
    EXPECT_EQ(refusal(offset, std::uint64_t{}), Outcome::refused) << offset;
  for (const std::uint64_t offset : {kSize - 3, kSize, kSize + 4, std::size_t{2}, ~std::size_t{3}})
    EXPECT_EQ(refusal(offset, float{}), Outcome::refused) << offset;
  EXPECT_TRUE(test::matches(targets_[1]->bytes(), 3));
  targets_[1]->release();
  EXPECT_EQ(refusal(8, std::uint64_t{}), Outcome::refused);
  const std::uint64_t before = ranks_->runtime(0).counters().refused_accesses;
  EXPECT_TRUE(
      post_until([&] { return endpoint.post_atomic<std::uint64_t>(1, there.at(0), AtomicOperation::add, 1); },
                 [&] { ranks_->progress(); })
          .is_accepted());
  EXPECT_TRUE(
      ranks_->progress_until([&] { return ranks_->runtime(0).counters().refused_accesses == before + 1; }));
}

TEST_P(Atomics, that_name_nothing_throw) {
  const MappedRegion there = region(1);
  Endpoint& endpoint = ranks_->endpoint(0);
  double value = 0;
  EXPECT_THROW(
      static_cast<void>(endpoint.post_fetch_atomic(1, there.at(0), AtomicOperation::bit_and, 1.0, value)),
      Error);
  EXPECT_THROW(
      static_cast<void>(endpoint.post_atomic<std::uint64_t>(1, there.at(0), AtomicOperation{7 + 1}, 1)),
      Error);
  EXPECT_THROW(
      static_cast<void>(endpoint.post_atomic<std::uint64_t>(2, there.at(0), AtomicOperation::add, 1)), Error);
  EXPECT_THROW(
      static_cast<void>(endpoint.post_atomic<std::uint64_t>(0, there.at(0), AtomicOperation::add, 1)), Error);
  EXPECT_THROW(static_cast<void>(
                   endpoint.post_atomic<std::uint64_t>(1, RemoteRegion{}.at(0), AtomicOperation::add, 1)),
               Error);
}

}  // namespace
}  // namespace weft
