// The ordered engine against a plain list: whatever is posted, arrives, is cancelled or probed, the same
// receives meet the same messages. Seeds decide; with one:
//
//     WEFTDEV_TEST_SEED=17 build/release/bin/tests/unit-core --gtest_filter='OrderedMatching.*'
//     WEFTDEV_NIGHTLY=1 build/release/bin/tests/unit-core --gtest_filter='OrderedMatching.*'     10,000 seeds
#include "core/matching/matching_engines.hpp"

#include <weft/completion/completion.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "unit/core/matching/plain_list_algorithm.hpp"

namespace weft::core {
namespace {

constexpr std::uint32_t kEngine = kMatchingEngines + 3;
constexpr int kRanks = 70'000;
constexpr MatchingLimits kLimits{16, 4096, kRanks};
/// Ranks that differ in one bit, beyond those that a byte or two hold as well.
constexpr int kPeers[] = {1, 0, 1 | 1 << 8, 1 | 1 << 16};

/// Never signalled: it marks a record as that of a receive.
class NoCompletion final : public Completion {
 public:
  ~NoCompletion() override { withdraw(); }
  void signal(Message&) noexcept override {}
  [[nodiscard]] bool ready() const noexcept override { return false; }
};

struct Post {
  int id;
  int source;
  std::uint64_t tag;
  std::uint64_t mask = OrderedMatching::kWholeTag;
};
struct Sent {
  int id;
  int peer;
  std::uint8_t device;
  std::uint32_t number;
  std::uint64_t tag;
};
using Match = std::pair<int, int>;  // receive, message; -1: none

/// What MPI says, in the simplest words.
class Model {
 public:
  void arrive(const Sent& message, std::vector<Match>& matches) {
    Stream& stream = streams_[{message.peer, message.device}];
    stream.early.emplace(message.number, message);
    for (auto next = stream.early.find(stream.expected); next != stream.early.end();
         next = stream.early.find(stream.expected)) {
      const Sent due = next->second;
      stream.early.erase(next);
      ++stream.expected;
      const auto receive =
          std::find_if(posted_.begin(), posted_.end(), [&](const Post& post) { return fits(post, due); });
      if (receive == posted_.end()) {
        arrived_.push_back(due);
      } else {
        matches.emplace_back(receive->id, due.id);
        posted_.erase(receive);
      }
    }
  }
  /// The message that it meets, or -1.
  int post(const Post& post) {
    const auto message = find(post);
    if (message == arrived_.end()) {
      posted_.push_back(post);
      return -1;
    }
    const int id = message->id;
    arrived_.erase(message);
    return id;
  }
  int probe(const Post& post) {
    const auto message = find(post);
    return message == arrived_.end() ? -1 : message->id;
  }
  int take(const Post& post) {
    const auto message = find(post);
    if (message == arrived_.end()) return -1;
    const int id = message->id;
    arrived_.erase(message);
    return id;
  }
  bool cancel(int id) {
    return std::erase_if(posted_, [&](const Post& post) { return post.id == id; }) != 0;
  }

 private:
  struct Stream {
    std::uint32_t expected = 0;
    std::map<std::uint32_t, Sent> early;
  };
  static bool fits(const Post& post, const Sent& message) {
    return (post.source == any_source || post.source == message.peer) &&
           (post.tag == any_tag || ((post.tag ^ message.tag) & post.mask) == 0);
  }
  std::list<Sent>::iterator find(const Post& post) {
    return std::find_if(arrived_.begin(), arrived_.end(),
                        [&](const Sent& message) { return fits(post, message); });
  }
  std::list<Post> posted_;
  std::list<Sent> arrived_;
  std::map<std::pair<int, int>, Stream> streams_;
};

/// The same on an engine. Ids travel in user_data and length.
class Engine {
 public:
  /// Kinds: serial, shared, with counters, with an algorithm of the user, with both.
  static constexpr std::uint32_t kKinds = 5;
  explicit Engine(std::uint32_t kind) : kind_(kind) { open(); }

  void arrive(const Sent& message, std::vector<Match>& matches) {
    const auto arrival =
        order().arrive(message.peer, message.device, message.number, message.tag, [&]() -> MatchRecord* {
          MatchRecord* record = engine_->storage().take_unexpected();
          record->unexpected->length = static_cast<std::size_t>(message.id);
          return record;
        });
    EXPECT_NE(arrival.answer, OrderedMatching::Arrival::Answer::later);
    EXPECT_NE(arrival.answer, OrderedMatching::Arrival::Answer::rejected);
    if (arrival.answer == OrderedMatching::Arrival::Answer::matched) {
      matches.emplace_back(receive_of(*arrival.record), message.id);
      engine_->storage().release(*arrival.record);
    }
    for (MatchRecord* due = arrival.due; due != nullptr;) {
      MatchRecord* const next = due->next;
      matches.emplace_back(receive_of(*due), message_of(*due));
      engine_->storage().release(*due);
      due = next;
    }
  }
  int post(const Post& post) {
    const OrderedMatching::Hold hold = order().try_enter();
    EXPECT_NE(hold, nullptr);
    ReceiveHandle handle;
    const auto make = [&] {
      MatchRecord* posted = engine_->storage().records().take();
      posted->completion = &completion_;
      posted->user_data = reinterpret_cast<void*>(static_cast<std::intptr_t>(post.id));
      handle = engine_->handle(*posted);
      return posted;
    };
    const auto [answer, record] = order().post(key(post), make, post.mask);
    order().leave(hold);
    if (answer == OrderedMatching::Answer::matched) return take(*record);
    EXPECT_EQ(answer, OrderedMatching::Answer::kept);
    handles_[post.id] = handle;
    return -1;
  }
  int probe(const Post& post) {
    int id = -1;
    order().visit_message(
        key(post), [&](const MatchRecord& record) { id = message_of(record); }, post.mask);
    return id;
  }
  int take(const Post& post) {
    MatchRecord* record = order().take_message(key(post), post.mask);
    return record == nullptr ? -1 : take(*record);
  }
  bool cancel(int id) {
    MatchRecord* record = engine_->cancel(handles_[id]);
    if (record == nullptr) return false;
    EXPECT_EQ(receive_of(*record), id);
    engine_->storage().release(*record);
    return true;
  }
  /// Everything moves to an engine of the other kind. Handles end.
  void open_anew() {
    engines_.close(kEngine);
    kind_ = (kind_ + 1) % kKinds;
    open();
    handles_.clear();
  }
  /// Receives and messages that wait.
  std::size_t waiting() {
    std::size_t count = 0;
    engine_->unlink_where([](const MatchRecord&) { return true; },
                          [&](MatchRecord& record) {
                            ++count;
                            engine_->storage().release(record);
                          });
    return count;
  }

 private:
  void open() {
    MatchingSetup setup{.serial = kind_ == 0, .counters = kind_ == 2 || kind_ == 4};
    if (kind_ >= 3) setup.algorithm = std::make_shared<test::PlainListAlgorithm>();
    engine_ = &engines_.open(kEngine, MatchOrder::ordered, std::move(setup), nullptr, nullptr);
  }
  OrderedMatching& order() { return *engine_->order(); }
  static MatchKey key(const Post& post) { return OrderedMatching::key_of(post.source, post.tag, post.mask); }
  static int receive_of(const MatchRecord& record) {
    return static_cast<int>(reinterpret_cast<std::intptr_t>(record.user_data));
  }
  static int message_of(const MatchRecord& record) { return static_cast<int>(record.unexpected->length); }
  int take(MatchRecord& record) {
    const int id = message_of(record);
    engine_->storage().release(record);
    return id;
  }

  MatchingEngines engines_{kLimits};
  std::uint32_t kind_;
  MatchingEngine* engine_ = nullptr;
  NoCompletion completion_;
  std::map<int, ReceiveHandle> handles_;
};

/// Tags of 64 bits, of which any two differ in one bit or two; or small numbers.
std::vector<std::uint64_t> tags_of(std::mt19937& random, int count) {
  std::vector<std::uint64_t> tags;
  const std::uint64_t base = random() % 2 == 0 ? std::uint64_t{random()} << 32 | random() : 0;
  for (int tag = 0; tag < count; ++tag)
    tags.push_back(base == 0  ? static_cast<std::uint64_t>(tag)
                   : tag == 0 ? base
                              : base ^ std::uint64_t{1} << random() % 64);
  return tags;
}

struct Sizes {
  int wildcards;  // percent of receives and probes
  int early;      // percent of messages that others overtake
};

/// False: they differ, which has been reported.
bool same_matchings(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t end) { return static_cast<int>(random() % end); };
  const std::vector<std::uint64_t> tags = tags_of(random, 1 + below(6));
  const auto tag = [&] { return tags[random() % tags.size()]; };
  const Sizes sizes{below(4) * 25, below(3) * 40};
  Model model;
  Engine engine(static_cast<std::uint32_t>(random() % Engine::kKinds));
  std::map<std::pair<int, int>, std::uint32_t> numbers;
  std::deque<Sent> under_way;
  std::vector<int> receives;
  int next_id = 0;
  const auto make_post = [&] {
    Post post{next_id++, kPeers[below(std::size(kPeers))], tag()};
    if (below(100) < sizes.wildcards) {
      const int kind = below(5);
      if (kind == 1 || kind == 2) post.source = any_source;
      if (kind == 0 || kind == 2) post.tag = any_tag;
      // All bits but one, or but a few, count; or one only.
      if (kind >= 3) post.mask = ~(std::uint64_t{1} << random() % 64);
      if (kind == 4) post.mask = random() % 2 == 0 ? ~post.mask : post.mask & ~(tags.front() ^ tags.back());
    }
    return post;
  };
  const auto arrive = [&](std::size_t place) {
    const Sent message = under_way[place];
    under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(place));
    std::vector<Match> expected;
    std::vector<Match> found;
    model.arrive(message, expected);
    engine.arrive(message, found);
    EXPECT_EQ(expected, found);
  };
  for (int step = 0; step < 300 && !testing::Test::HasFailure(); ++step) {
    const int kind = below(100);
    if (kind < 40) {
      const int peer = kPeers[below(std::size(kPeers))];
      const int device = below(2);
      under_way.push_back(
          {next_id++, peer, static_cast<std::uint8_t>(device), numbers[{peer, device}]++, tag()});
      if (below(100) >= sizes.early)
        arrive(static_cast<std::size_t>(below(static_cast<std::uint32_t>(under_way.size()))));
    } else if (kind < 80) {
      const Post post = make_post();
      receives.push_back(post.id);
      EXPECT_EQ(model.post(post), engine.post(post));
    } else if (kind < 86) {
      const Post post = make_post();
      EXPECT_EQ(model.probe(post), engine.probe(post));
    } else if (kind < 90) {
      const Post post = make_post();
      EXPECT_EQ(model.take(post), engine.take(post));
    } else if (kind < 99 && !receives.empty()) {
      const int id = receives[static_cast<std::size_t>(below(static_cast<std::uint32_t>(receives.size())))];
      EXPECT_EQ(model.cancel(id), engine.cancel(id));
    } else if (kind == 99 && below(3) == 0) {
      engine.open_anew();
      receives.clear();
    }
  }
  while (!under_way.empty() && !testing::Test::HasFailure())
    arrive(static_cast<std::size_t>(below(static_cast<std::uint32_t>(under_way.size()))));
  // What is left is the same.
  std::size_t left = 0;
  for (int id = 0; id >= 0 && !testing::Test::HasFailure();) {
    const Post rest{next_id++, any_source, any_tag};
    id = model.take(rest);
    EXPECT_EQ(id, engine.take(rest));
  }
  for (int id = 0; id < next_id; ++id) left += model.cancel(id) ? 1 : 0;
  EXPECT_EQ(engine.waiting(), left);
  return !testing::Test::HasFailure();
}

void run_seeds(std::uint32_t first, std::uint32_t count) {
  for (std::uint32_t seed = first; seed < first + count; ++seed) {
    if (same_matchings(seed)) continue;
    FAIL() << "seed " << seed << "\nto see it again: WEFTDEV_TEST_SEED=" << seed
           << " unit-core --gtest_filter='OrderedMatching.*'";
  }
}

TEST(OrderedMatching, matches_as_a_plain_list_does) {
  if (const char* seed = std::getenv("WEFTDEV_TEST_SEED"); seed != nullptr)
    run_seeds(static_cast<std::uint32_t>(std::strtoul(seed, nullptr, 10)), 1);
  else
    run_seeds(1, 500);
}

TEST(OrderedMatching, matches_as_a_plain_list_does_soak) {
  const char* soak = std::getenv("WEFTDEV_NIGHTLY");
  if (soak == nullptr || std::string(soak) != "1") GTEST_SKIP() << "10,000 seeds run with WEFTDEV_NIGHTLY=1";
  run_seeds(1, 10'000);
}

}  // namespace
}  // namespace weft::core
