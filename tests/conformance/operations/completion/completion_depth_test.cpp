// A handler posts the next operation of a chain, which ends at once, and so on: the stack stays bounded
// whatever the operation is and however long the chain, and no end is lost.
#include "support/matched.hpp"
#include "support/one_sided.hpp"
#include "support/small_stack.hpp"

#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace weft {
namespace {

using test::payload;
using test::Ranks;
using test::until;

constexpr long kLength = 2000;
constexpr int kMostDepth = 6;  // kDepth of core/completion/immediate_completions.hpp, and progress below it

/// A completion object that posts the next operation each time it is signalled. One thread at a time is
/// inside.
class Chain final : public Completion {
 public:
  explicit Chain(long length) : length_(length) {}
  ~Chain() override { withdraw(); }
  void signal(Message& message) noexcept override {
    deepest = std::max(deepest, ++depth_);
    if (message.outcome() != outcome) ++wrong;
    if (++count < length_ && next().is_retry()) ++refused;
    --depth_;
  }
  [[nodiscard]] bool ready() const noexcept override { return count >= length_; }

  std::function<Status()> next;
  Outcome outcome = Outcome::ok;
  long count = 0;
  long wrong = 0;
  long refused = 0;
  int deepest = 0;

 private:
  const long length_;
  int depth_ = 0;
};

template <class EndpointType>
class ChainsThatEndAtOnce : public testing::Test {
 protected:
  /// Runs the chain on a thread with a small stack, `others` between its progress calls.
  void run(
      Chain& chain, const std::function<void()>& others = [] {}) {
    bool is_over = false;
    auto whole = [&] {
      ASSERT_TRUE(ranks_.progress_until([&] { return chain.next().is_accepted(); }));
      is_over = until([&] { return chain.ready(); },
                      [&] {
                        ranks_.progress();
                        others();
                      });
    };
    ASSERT_TRUE(test::on_small_stack(whole));
    EXPECT_TRUE(is_over) << chain.count << " of " << kLength << " ends have come";
    EXPECT_EQ(chain.wrong, 0);
    EXPECT_EQ(chain.refused, 0);
    EXPECT_LE(chain.deepest, kMostDepth);
    const long count = chain.count;
    ranks_.progress();
    EXPECT_EQ(chain.count, count);
  }

  Ranks<EndpointType> ranks_{2};
  EndpointType& endpoint_ = ranks_.endpoint(0);
  std::uint64_t word_ = 7;
};
using Endpoints = testing::Types<Endpoint, SerialEndpoint>;
TYPED_TEST_SUITE(ChainsThatEndAtOnce, Endpoints);

TYPED_TEST(ChainsThatEndAtOnce, of_active_messages_to_a_peer_and_to_oneself) {
  for (const int peer : {1, 0})
    for (const std::size_t size : {std::size_t{8}, std::size_t{500}, std::size_t{8000}}) {
      SCOPED_TRACE("peer " + std::to_string(peer) + ", size " + std::to_string(size));
      Counter arrived;
      const RemoteCompletion remote = this->ranks_.runtime(peer).expose(arrived, {.id = 1});
      const auto bytes = payload(size, 1);
      Chain chain(kLength / 4);
      chain.next = [&] { return this->endpoint_.post_am(peer, remote, bytes, {.completion = &chain}); };
      ASSERT_NO_FATAL_FAILURE(this->run(chain));
      EXPECT_TRUE(this->ranks_.progress_until([&] { return arrived.value() == kLength / 4; }));
      Chain prepared(kLength / 4);
      auto start = this->endpoint_.prepare_am(peer, remote, bytes, {.completion = &prepared});
      prepared.next = [&] { return start.start(); };
      ASSERT_NO_FATAL_FAILURE(this->run(prepared));
      EXPECT_TRUE(this->ranks_.progress_until([&] { return arrived.value() == kLength / 2; }));
    }
}

TYPED_TEST(ChainsThatEndAtOnce, of_sends) {
  for (const std::uint16_t engine : {std::uint16_t{0}, static_cast<std::uint16_t>(kMatchingEngines)})
    for (const std::size_t size : {std::size_t{8}, std::size_t{500}}) {
      SCOPED_TRACE("engine " + std::to_string(engine) + ", size " + std::to_string(size));
      const auto bytes = payload(size, 1);
      std::vector<std::byte> buffer(size);
      Chain chain(kLength / 4);
      chain.next = [&] {
        return this->endpoint_.post_send(1, 7, bytes, {.completion = &chain, .engine = engine});
      };
      Counter received;
      long posted = 0;
      const auto receive = [&] {
        const ReceiveOptions options{.completion = &received, .engine = engine};
        while (posted < std::min(kLength / 4, static_cast<long>(received.value()) + 500) &&
               this->ranks_.endpoint(1).post_receive(0, 7, buffer, options).is_posted())
          ++posted;
      };
      receive();
      ASSERT_NO_FATAL_FAILURE(this->run(chain, receive));
      EXPECT_TRUE(this->ranks_.progress_until([&] {
        receive();
        return received.value() == kLength / 4;
      }));
    }
}

TYPED_TEST(ChainsThatEndAtOnce, of_receives_whose_messages_have_come_before) {
  constexpr long kMessages = 200;  // fewer than a peer has credits
  for (const std::uint16_t engine : {std::uint16_t{0}, static_cast<std::uint16_t>(kMatchingEngines)})
    for (const std::size_t size : {std::size_t{8}, std::size_t{500}, std::size_t{100'000}}) {
      SCOPED_TRACE("engine " + std::to_string(engine) + ", size " + std::to_string(size));
      const auto bytes = payload(size, 1);
      std::vector<std::byte> buffer(size);
      Counter sent;
      for (long each = 0; each < kMessages; ++each)
        ASSERT_TRUE(this->ranks_.progress_until([&] {
          return this->ranks_.endpoint(1)
              .post_send(0, 7, bytes, {.completion = &sent, .engine = engine})
              .is_accepted();
        }));
      for (int round = 0; round < 100; ++round) this->ranks_.progress();
      Chain chain(kMessages);
      // Of the large ones nothing is wanted: such a receive ends as soon as it is posted.
      const std::span<std::byte> room = size > 8000 ? std::span<std::byte>() : std::span(buffer);
      chain.outcome = size > 8000 ? Outcome::truncated : Outcome::ok;
      chain.next = [&] {
        return this->endpoint_.post_receive(1, 7, room, {.completion = &chain, .engine = engine});
      };
      ASSERT_NO_FATAL_FAILURE(this->run(chain));
      EXPECT_TRUE(this->ranks_.progress_until([&] { return sent.value() == kMessages; }));
    }
}

TYPED_TEST(ChainsThatEndAtOnce, of_accesses) {
  for (const test::AccessSetting& setting : test::access_settings()) {
    if (!setting.attributes.empty()) continue;
    SCOPED_TRACE(setting.name);
    const test::Target target(this->ranks_.runtime(1), setting, 64);
    const MappedRegion there = target.seen_by(this->ranks_.runtime(0), setting);
    auto& endpoint = this->endpoint_;
    std::uint64_t& word = this->word_;
    std::uint64_t old = 0;
    const auto in = std::as_writable_bytes(std::span(&word, 1));
    const PutPiece pieces[] = {{there.at(0), in}, {there.at(8), in}};
    Counter signalled;
    const RemoteCompletion signal = this->ranks_.runtime(1).expose(signalled, {.id = 1});
    const auto run = [&](const char* what, const auto& post) {
      SCOPED_TRACE(what);
      Chain chain(kLength / 4);
      chain.next = [&] { return post(AccessOptions{.completion = &chain}); };
      this->run(chain);
    };
    run("put", [&](const AccessOptions& with) { return endpoint.post_put(1, there.at(0), in, with); });
    run("get", [&](const AccessOptions& with) { return endpoint.post_get(1, there.at(0), in, with); });
    run("put with signal", [&](AccessOptions with) {
      with.signal = signal;
      return endpoint.post_put(1, there.at(0), in, with);
    });
    run("put of pieces", [&](const AccessOptions& with) { return endpoint.post_put(1, pieces, with); });
    run("atomic", [&](const AccessOptions& with) {
      return endpoint.template post_fetch_atomic<std::uint64_t>(1, there.at(0), AtomicOperation::add, 1, old,
                                                                with);
    });
    run("put in time", [&](AccessOptions with) {
      with.timeout = std::chrono::hours(1);
      return endpoint.post_put(1, there.at(0), in, with);
    });
    Chain chain(kLength / 4);
    auto put = endpoint.prepare_put(1, there.at(0), in, {.completion = &chain});
    chain.next = [&] { return put.start(); };
    ASSERT_NO_FATAL_FAILURE(this->run(chain));
    EXPECT_TRUE(this->ranks_.progress_until([&] { return signalled.value() == kLength / 4; }));
  }
}

TYPED_TEST(ChainsThatEndAtOnce, of_receives_that_are_cancelled) {
  constexpr long kReceives = 2000;
  std::vector<ReceiveHandle> handles(kReceives);
  Chain chain(kReceives);
  chain.outcome = Outcome::cancelled;
  for (ReceiveHandle& handle : handles)
    ASSERT_TRUE(
        this->endpoint_.post_receive(1, 9, {}, {.completion = &chain, .handle = &handle}).is_posted());
  std::size_t next = 0;
  chain.next = [&] {
    return this->endpoint_.cancel(handles[next++]) ? Status::posted() : Status::retry(Reason::none);
  };
  ASSERT_NO_FATAL_FAILURE(this->run(chain));
}

TYPED_TEST(ChainsThatEndAtOnce, of_operations_that_are_tried_once) {
  Chain chain(kLength);
  chain.outcome = Outcome::timed_out;
  chain.next = [&] {
    return this->endpoint_.post_receive(1, 9, {},
                                        {.completion = &chain, .timeout = std::chrono::nanoseconds(-1)});
  };
  ASSERT_NO_FATAL_FAILURE(this->run(chain));
}

/// Several at a time from each handler: more than are kept without allocation.
TYPED_TEST(ChainsThatEndAtOnce, come_all_when_they_branch) {
  const test::AccessSetting& setting = test::access_settings().front();
  const test::Target target(this->ranks_.runtime(1), setting, 64);
  const MappedRegion there = target.seen_by(this->ranks_.runtime(0), setting);
  long left = kLength;
  long count = 0;
  int depth = 0;
  int deepest = 0;
  std::function<void()> post;
  Handler ended{[&](Message&) {
    deepest = std::max(deepest, ++depth);
    ++count;
    for (int each = 0; each < 3; ++each) post();
    --depth;
  }};
  post = [&] {
    if (left == 0) return;
    --left;
    const auto bytes = std::as_bytes(std::span(&this->word_, 1));
    if (this->endpoint_.post_put(1, there.at(0), bytes, {.completion = &ended}).is_retry()) ++left;
  };
  bool is_over = false;
  auto whole = [&] {
    post();
    is_over = this->ranks_.progress_until([&] {
      // Where posts end later all may have been refused, and then nobody posts what is left.
      if (left != 0 && count + left == kLength) post();
      return count == kLength;
    });
  };
  ASSERT_TRUE(test::on_small_stack(whole));
  EXPECT_TRUE(is_over) << count << " ends have come, " << left << " posts are left";
  EXPECT_LE(deepest, kMostDepth);
}

class QueuedEnds : public testing::Test {
 protected:
  /// Into a word of its own, where threads do so at a time.
  [[nodiscard]] Status put(Endpoint& endpoint, Completion& completion, std::size_t word = 0) {
    return endpoint.post_put(0, region_.remote().at(8 * word), std::as_bytes(std::span(&word_, 1)),
                             {.completion = &completion});
  }
  // Where every put ends while it is posted.
  const AttributeSetting network_[1] = {{"network", "shm"}};
  Runtime runtime_{RuntimeOptions{.attributes = network_}};
  MemoryRegion region_ = MemoryRegion::allocate(runtime_, 64);
  std::uint64_t word_ = 7;
};

TEST_F(QueuedEnds, are_delivered_by_progress_and_by_waits_although_nobody_posts) {
  Endpoint endpoint{runtime_};
  Chain chain(100);
  chain.next = [&] { return put(endpoint, chain); };
  ASSERT_TRUE(chain.next().is_posted());
  EXPECT_LT(chain.count, 10);
  const long before = chain.count;
  EXPECT_GT(endpoint.progress(), 0U);
  EXPECT_GT(chain.count, before);
  EXPECT_LT(chain.count, 20) << "a progress call delivers what had been kept before it, and nests no deeper";
  endpoint.wait_ready(chain);
  EXPECT_EQ(chain.count, 100);
  EXPECT_EQ(endpoint.progress(), 0U);
}

TEST_F(QueuedEnds, wake_a_thread_that_is_parked_in_a_wait) {
  Endpoint endpoint{runtime_};
  std::atomic<long> seen{0};
  std::function<void()> post;
  Handler ended{[&](Message&) {
    if (++seen < 1000) post();
  }};
  post = [&] { EXPECT_TRUE(put(endpoint, ended).is_posted()); };
  std::thread waits([&] { endpoint.wait_until([&] { return seen == 1000; }); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  post();
  waits.join();
  EXPECT_EQ(seen, 1000);
}

TEST_F(QueuedEnds, come_before_their_device_closes) {
  long count = 0;
  std::unique_ptr<Endpoint> endpoint;
  std::function<void()> post;
  constexpr long kPosts = 8;
  Handler ended{[&](Message&) {
    // The last ones are kept when the endpoint ends.
    if (++count < kPosts && endpoint != nullptr) post();
  }};
  post = [&] { EXPECT_TRUE(put(*endpoint, ended).is_posted()); };
  {
    Device device{runtime_, {.index = 1}};
    endpoint = std::make_unique<Endpoint>(device);
    post();
    EXPECT_LT(count, kPosts);
    EXPECT_GT(count, 0);
    auto gone = std::move(endpoint);
  }
  EXPECT_GT(count, 4);
}

TEST_F(QueuedEnds, of_many_threads_come_once_each) {
  constexpr int kThreads = 4;
  constexpr long kEach = 5000;
  Endpoint endpoint{runtime_};
  std::vector<std::unique_ptr<std::atomic<long>>> counts;
  std::vector<std::thread> threads;
  for (int each = 0; each < kThreads; ++each) counts.push_back(std::make_unique<std::atomic<long>>(0));
  for (int each = 0; each < kThreads; ++each)
    threads.emplace_back([&, each] {
      std::atomic<long>& count = *counts[static_cast<std::size_t>(each)];
      std::function<void()> post;
      Handler ended{[&](Message&) {
        if (count.load() + 1 < kEach) {
          ++count;
          post();
        } else {
          ++count;
        }
      }};
      const auto word = static_cast<std::size_t>(each);
      post = [&] { EXPECT_TRUE(put(endpoint, ended, word).is_posted()); };
      // Only the first one is posted outside of a handler, where a region that another thread maps is a
      // retry.
      while (put(endpoint, ended, word).is_retry()) endpoint.progress();
      EXPECT_TRUE(endpoint.wait_for([&] { return count == kEach; }, test::kHangGuard));
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& count : counts) EXPECT_EQ(*count, kEach);
}

}  // namespace
}  // namespace weft
