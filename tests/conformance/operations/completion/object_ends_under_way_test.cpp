// Completion objects that die while operations name them: receives are cancelled without a signal, what peers
// may have a part in is waited for, and nothing reaches the dead object.
#include "support/matched.hpp"
#include "support/one_sided.hpp"

#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <vector>

namespace weft {
namespace {

using test::Helpers;
using test::payload;
using test::Ranks;

/// An object whose memory is overwritten when it dies: whoever signals it afterwards crashes.
template <class Object>
class Mortal {
 public:
  template <class... Arguments>
  explicit Mortal(Arguments&&... arguments) {
    object_ = new (memory_) Object(std::forward<Arguments>(arguments)...);
  }
  ~Mortal() { die(); }
  Mortal(const Mortal&) = delete;
  Mortal& operator=(const Mortal&) = delete;
  void die() {
    if (object_ == nullptr) return;
    object_->~Object();
    object_ = nullptr;
    std::memset(memory_, 0xdd, sizeof memory_);
  }
  Object& operator*() { return *object_; }
  Object* operator->() { return object_; }

 private:
  alignas(Object) std::byte memory_[sizeof(Object)];
  Object* object_ = nullptr;
};

/// One of a program, whose destructor does nothing of its own.
class Plain : public Completion {
 public:
  void signal(Message&) noexcept override { ++count; }
  [[nodiscard]] bool ready() const noexcept override { return count != 0; }
  int count = 0;
};
struct Nothing {
  void operator()(Message&) const noexcept {}
};

template <class Object>
class ObjectThatDies : public testing::Test {
 protected:
  /// Posts receives of every kind with the object.
  void post_receives(Completion& object) {
    auto& endpoint = ranks_.endpoint(0);
    const auto post = [&](const ReceiveOptions& options) {
      ASSERT_TRUE(
          ranks_.progress_until([&] { return endpoint.post_receive(1, 7, buffer_, options).is_posted(); }));
    };
    for (const std::uint16_t engine : {std::uint16_t{0}, static_cast<std::uint16_t>(kMatchingEngines)}) {
      post({.completion = &object, .engine = engine});
      post({.completion = &object, .engine = engine, .timeout = std::chrono::hours(1)});
      const MutableBytes parts[] = {std::span(buffer_).first(8), std::span(buffer_).subspan(8)};
      ASSERT_TRUE(ranks_.progress_until([&] {
        return endpoint.post_receive(1, 7, parts, {.completion = &object, .engine = engine}).is_posted();
      }));
      ASSERT_TRUE(ranks_.progress_until([&] {
        return endpoint
            .post_receive(1, 7, parts,
                          {.completion = &object, .engine = engine, .timeout = std::chrono::hours(1)})
            .is_posted();
      }));
    }
    post({.completion = &object, .policy = MatchingPolicy::tag_only});
    ASSERT_TRUE(ranks_.progress_until([&] {
      return ranks_.endpoint(0)
          .post_receive(any_source, 7, buffer_, {.completion = &object, .engine = kMatchingEngines})
          .is_posted();
    }));
  }
  /// Sends what those would have met: it waits for receives that are posted now.
  void expect_no_receives() {
    for (const std::uint16_t engine : {std::uint16_t{0}, static_cast<std::uint16_t>(kMatchingEngines)}) {
      const auto bytes = payload(16, engine);
      Counter sent;
      const SendOptions options{.completion = &sent, .engine = engine};
      ASSERT_TRUE(ranks_.progress_until(
          [&] { return ranks_.endpoint(1).post_send(0, 7, bytes, options).is_accepted(); }));
      ProbedMessage found;
      ASSERT_TRUE(
          ranks_.progress_until([&] { return ranks_.endpoint(0).probe(1, 7, found, {.engine = engine}); }));
      Counter received;
      ASSERT_TRUE(ranks_.progress_until([&] {
        return ranks_.endpoint(0)
            .post_receive(1, 7, buffer_, {.completion = &received, .engine = engine})
            .is_posted();
      }));
      ASSERT_TRUE(ranks_.progress_until([&] { return received.value() == 1 && sent.value() == 1; }));
      EXPECT_TRUE(test::matches(buffer_, engine));
    }
  }

  Ranks<Endpoint> ranks_{2};
  std::array<std::byte, 16> buffer_{};
};
using Objects =
    testing::Types<CompletionQueue, SingleConsumerQueue, Counter, Synchronizer, Handler<Nothing>, Plain>;
TYPED_TEST_SUITE(ObjectThatDies, Objects);

template <class Object>
auto make() {
  if constexpr (std::is_same_v<Object, Handler<Nothing>>)
    return std::make_unique<Mortal<Object>>(Nothing{});
  else
    return std::make_unique<Mortal<Object>>();
}

TYPED_TEST(ObjectThatDies, cancels_its_receives) {
  const auto object = make<TypeParam>();
  ASSERT_NO_FATAL_FAILURE(this->post_receives(**object));
  object->die();
  this->expect_no_receives();
}

TYPED_TEST(ObjectThatDies, leaves_the_receives_of_others) {
  const auto object = make<TypeParam>();
  Synchronizer other{10};
  ASSERT_NO_FATAL_FAILURE(this->post_receives(other));
  ASSERT_NO_FATAL_FAILURE(this->post_receives(**object));
  object->die();
  for (int each = 0; each < 10; ++each) {
    SendOptions options{.engine = static_cast<std::uint16_t>(each % 2 == 0 ? 0 : kMatchingEngines)};
    if (each == 8) options.policy = MatchingPolicy::tag_only;
    ASSERT_TRUE(this->ranks_.progress_until(
        [&] { return this->ranks_.endpoint(1).post_send(0, 7, {}, options).is_accepted(); }));
  }
  EXPECT_TRUE(this->ranks_.progress_until([&] { return other.ready(); }));
}

TYPED_TEST(ObjectThatDies, in_the_natural_order_of_declaration_ends_quietly) {
  std::optional<Runtime> runtime(std::in_place);
  std::optional<Endpoint> endpoint(std::in_place, *runtime);
  std::byte buffer[8];
  {
    const auto object = make<TypeParam>();
    ASSERT_TRUE(endpoint->post_receive(0, 7, buffer, {.completion = &**object}).is_posted());
    ASSERT_TRUE(endpoint->post_receive(0, 7, buffer, {.completion = &**object}).is_posted());
    static_cast<void>(runtime->expose(**object, {.id = 1}));
  }
  EXPECT_EQ(endpoint->send(0, 7, {}), Outcome::ok);
  EXPECT_EQ(endpoint->receive(0, 7, {}).outcome(), Outcome::ok);
}

TYPED_TEST(ObjectThatDies, does_not_hear_of_receives_that_are_prepared) {
  const auto object = make<TypeParam>();
  auto& endpoint = this->ranks_.endpoint(0);
  auto in_flight = endpoint.prepare_receive(1, 7, this->buffer_, {.completion = &**object});
  ASSERT_TRUE(in_flight.start().is_posted());
  {
    // In flight, and not there any more.
    auto left = endpoint.prepare_receive(1, 7, this->buffer_, {.completion = &**object});
    ASSERT_TRUE(left.start().is_posted());
  }
  object->die();
  for (int each = 0; each < 2; ++each)
    ASSERT_TRUE(this->ranks_.progress_until(
        [&] { return this->ranks_.endpoint(1).post_send(0, 7, {}).is_accepted(); }));
  EXPECT_TRUE(this->ranks_.progress_until([&] { return !in_flight.is_in_flight(); }));
}

TYPED_TEST(ObjectThatDies, is_not_signalled_by_what_waits_in_the_backlog) {
  // There are records for some of the receives; the others wait.
  const AttributeSetting few[] = {{"network", "shm"}, {"matching_records", "64"}};
  Runtime runtime{RuntimeOptions{.attributes = few}};
  Endpoint endpoint{runtime};
  const auto object = make<TypeParam>();
  for (int each = 0; each < 100; ++each)
    ASSERT_TRUE(endpoint.post_receive(0, 7, {}, {.completion = &**object, .may_retry = false}).is_posted());
  object->die();
  for (int each = 0; each < 3; ++each) endpoint.progress();
  EXPECT_EQ(endpoint.send(0, 7, {}), Outcome::ok);
  ProbedMessage found;
  EXPECT_TRUE(test::until([&] { return endpoint.probe(0, 7, found); }, [&] { endpoint.progress(); }));
  EXPECT_EQ(endpoint.receive(0, 7, {}).outcome(), Outcome::ok);
}

TYPED_TEST(ObjectThatDies, waits_for_what_peers_have_a_part_in) {
  constexpr std::size_t kSize = 300'000;
  const auto object = make<TypeParam>();
  auto in = std::make_unique<std::vector<std::byte>>(kSize);
  std::vector<std::byte> in_there(kSize);
  auto source = std::make_unique<std::vector<std::byte>>(payload(kSize, 3));
  const auto there = payload(kSize, 4);
  Counter ended;
  auto& endpoint = this->ranks_.endpoint(0);
  const auto post = [&](const auto& call) {
    ASSERT_TRUE(this->ranks_.progress_until([&] { return call().is_accepted(); }));
  };
  post([&] { return this->ranks_.endpoint(1).post_send(0, 5, there, {.completion = &ended}); });
  post([&] { return this->ranks_.endpoint(1).post_receive(0, 6, in_there, {.completion = &ended}); });
  ProbedMessage found;
  ASSERT_TRUE(this->ranks_.progress_until([&] { return endpoint.probe(1, 5, found); }));
  post([&] { return endpoint.post_receive(1, 5, *in, {.completion = &**object}); });
  post([&] { return endpoint.post_send(1, 6, *source, {.completion = &**object}); });
  {
    const Helpers helper(this->ranks_, 1, 1);
    object->die();
  }
  // Nobody uses the buffers any more.
  EXPECT_TRUE(test::matches(*in, 4));
  in.reset();
  source.reset();
  ASSERT_TRUE(this->ranks_.progress_until([&] { return ended.value() == 2; }));
  EXPECT_TRUE(test::matches(in_there, 3));
}

TYPED_TEST(ObjectThatDies, waits_for_accesses_by_messages) {
  constexpr std::size_t kSize = 100'000;
  const AttributeSetting messages[] = {{"one_sided", "message"}};
  Ranks<Endpoint> ranks(2, {messages[0]});
  std::vector<std::byte> memory(kSize);
  const MemoryRegion region(ranks.runtime(1), memory);
  const auto object = make<TypeParam>();
  const auto source = payload(kSize, 5);
  const PutPiece pieces[] = {{region.remote().at(0), Bytes(source).first(kSize / 2)},
                             {region.remote().at(kSize / 2), Bytes(source).subspan(kSize / 2)}};
  for (int each = 0; each < 4; ++each) {
    ASSERT_TRUE(ranks.progress_until([&] {
      return ranks.endpoint(0)
          .post_put(1, region.remote().at(0), source, {.completion = &**object})
          .is_accepted();
    }));
    ASSERT_TRUE(ranks.progress_until(
        [&] { return ranks.endpoint(0).post_put(1, pieces, {.completion = &**object}).is_accepted(); }));
  }
  {
    const Helpers helper(ranks, 1, 1);
    object->die();
  }
  EXPECT_TRUE(test::matches(memory, 5));
}

class EndsOfObjects : public testing::Test {
 protected:
  Ranks<Endpoint> ranks_{2};
  std::array<std::byte, 16> buffer_{};
};

/// It may be the object that is being signalled, too.
TEST_F(EndsOfObjects, may_come_inside_a_signal) {
  struct Once final : Completion {
    explicit Once(int& counted) noexcept : ended(counted) {}
    ~Once() override {
      retire();
      ++ended;
    }
    void signal(Message&) noexcept override { delete this; }
    [[nodiscard]] bool ready() const noexcept override { return false; }
    int& ended;
  };
  int dead = 0;
  auto& endpoint = ranks_.endpoint(0);
  for (int each = 0; each < 100; ++each) {
    auto* object = new Once(dead);
    ASSERT_TRUE(ranks_.progress_until(
        [&] { return endpoint.post_receive(1, 7, buffer_, {.completion = object}).is_posted(); }));
    // A second one names it as well, and is cancelled by the end of the first.
    ASSERT_TRUE(ranks_.progress_until(
        [&] { return endpoint.post_receive(1, 8, buffer_, {.completion = object}).is_posted(); }));
    ASSERT_TRUE(ranks_.progress_until([&] { return ranks_.endpoint(1).post_send(0, 7, {}).is_accepted(); }));
    ASSERT_TRUE(ranks_.progress_until([&] { return dead == each + 1; }));
  }
  EXPECT_EQ(dead, 100);
}

TEST_F(EndsOfObjects, inside_a_handler_names_what_goes_on_without_it) {
  constexpr std::size_t kSize = 300'000;
  auto object = std::make_unique<Mortal<Counter>>();
  const auto source = payload(kSize, 3);
  auto& endpoint = ranks_.endpoint(0);
  ASSERT_TRUE(ranks_.progress_until(
      [&] { return endpoint.post_send(1, 6, source, {.completion = &**object}).is_accepted(); }));
  bool is_over = false;
  Handler ends{[&](Message&) {
    object.reset();
    is_over = true;
  }};
  ASSERT_TRUE(ranks_.progress_until(
      [&] { return endpoint.post_receive(0, 9, {}, {.completion = &ends}).is_posted(); }));
  testing::internal::CaptureStderr();
  ASSERT_TRUE(ranks_.progress_until([&] { return endpoint.post_send(0, 9, {}).is_accepted(); }));
  ASSERT_TRUE(ranks_.progress_until([&] { return is_over; }));
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("completion object"), std::string::npos) << told;
  EXPECT_NE(told.find("1 send"), std::string::npos) << told;
  std::vector<std::byte> in(kSize);
  Counter received;
  ASSERT_TRUE(ranks_.progress_until(
      [&] { return ranks_.endpoint(1).post_receive(0, 6, in, {.completion = &received}).is_posted(); }));
  EXPECT_TRUE(ranks_.progress_until([&] { return received.value() == 1; }));
  EXPECT_TRUE(test::matches(in, 3));
}

TEST_F(EndsOfObjects, of_a_running_graph_cancels_its_nodes) {
  auto& endpoint = ranks_.endpoint(0);
  int told = 0;
  Handler end{[&](Message&) { ++told; }};
  {
    Graph inner;
    inner.add_receive(endpoint, 1, 8, buffer_);
    Graph outer;
    const auto first = outer.add_receive(endpoint, 1, 7, buffer_);
    const auto second = outer.add_function([&] { ADD_FAILURE() << "began after the end"; });
    outer.order(first, second);
    outer.add_graph(inner);
    outer.set_completion(&end);
    outer.start();
  }
  for (const std::uint64_t tag : {7, 8})
    ASSERT_TRUE(
        ranks_.progress_until([&] { return ranks_.endpoint(1).post_send(0, tag, {}).is_accepted(); }));
  ProbedMessage found;
  ASSERT_TRUE(
      ranks_.progress_until([&] { return endpoint.probe(1, 7, found) && endpoint.probe(1, 8, found); }));
  EXPECT_EQ(told, 0);
  for (const std::uint64_t tag : {7, 8}) EXPECT_EQ(endpoint.receive(1, tag, buffer_).outcome(), Outcome::ok);
}

TEST_F(EndsOfObjects, before_the_graph_that_would_tell_it) {
  auto& endpoint = ranks_.endpoint(0);
  Graph graph;
  graph.add_receive(endpoint, 1, 7, buffer_);
  {
    Mortal<CompletionQueue> queue;
    graph.set_completion(&*queue);
    graph.start();
  }
  ASSERT_TRUE(ranks_.progress_until([&] { return ranks_.endpoint(1).post_send(0, 7, {}).is_accepted(); }));
  EXPECT_TRUE(ranks_.progress_until([&] { return graph.test(); }));
}

TEST_F(EndsOfObjects, of_one_that_watches_for_failures) {
  Mortal<CompletionQueue> queue;
  ranks_.runtime(0).on_peer_failure(*queue);
  queue.die();
  Mortal<Counter> again;
  ranks_.runtime(0).on_peer_failure(*again);
  ranks_.runtime(0).forget_peer_failures(*again);
}

}  // namespace
}  // namespace weft
