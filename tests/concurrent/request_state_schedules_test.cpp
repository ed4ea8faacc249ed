// Forced schedules of the requests of a rendezvous over a model of weak memory, as in schedules_test.cpp.
#include "core/protocol/rendezvous/request_state.hpp"
#include "support/schedules.hpp"

#include <gtest/gtest.h>

namespace weft::core {
namespace {

namespace model = test::model;
using model::Cell;
using model::expect_sound;
using model::Schedule;

using RequestState = BasicRequestState<model::Atomic>;
using State = RequestState::State;

/// A record that serves one message after the other, each of another size.
struct Request {
  RequestState state;
  Cell<int> size{0};
  Cell<int> wanted{0};
};

/// A CTS, of which the first one of a message starts to stream it.
void grant(Schedule& schedule, Request& request, std::uint32_t generation, int size,
           model::Atomic<int>& streaming) {
  const State before = request.state.hold(generation);
  if (before == State::free) return;
  if (request.size != size) schedule.report("a grant reaches another message than the one it names");
  if (before == State::announced) request.wanted = size;
  request.state.let_go(State::streaming);
  if (before == State::announced) streaming.store(size, std::memory_order_release);
}

TEST(RequestState, a_late_grant_never_reaches_the_next_message_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  expect_sound([](Schedule& schedule) {
    Request request;
    model::Atomic<int> streaming{0};
    const std::uint32_t first = request.state.generation();
    // The sender streams the first message, and announces another one in the same record.
    const auto send = [&](int size) {
      request.size = size;
      request.wanted = 0;
      request.state.announce();
      for (int looks = 0; looks < 4 && streaming.load(std::memory_order_acquire) != size; ++looks) {
      }
      if (streaming.load(std::memory_order_acquire) == size) {
        if (request.wanted != size) schedule.report("what the peer wants is not seen");
        request.state.end_streaming();
      } else if (request.state.leave_announced(State::ended) != State::announced) {
        return false;
      }
      request.state.free();
      return true;
    };
    schedule.run({[&] {
                    if (send(1)) send(2);
                  },
                  [&] { grant(schedule, request, first, 1, streaming); },
                  [&] { grant(schedule, request, first, 1, streaming); }});
  });
}

TEST(RequestState, holds_only_what_is_announced_or_streaming) {
  WEFT_NEEDS_FIBERS();
  Schedule schedule(1, model::Weaken::nothing);
  RequestState state;
  schedule.run({[&] {
    const std::uint32_t generation = state.generation();
    EXPECT_EQ(state.hold(generation), State::free);
    state.announce();
    EXPECT_EQ(state.hold(generation + 1), State::free);
    EXPECT_EQ(state.hold(generation), State::announced);
    state.let_go(State::streaming);
    EXPECT_EQ(state.leave_announced(State::ended), State::streaming);
    EXPECT_EQ(state.hold(generation), State::streaming);
    state.let_go(State::streaming);
    state.end_streaming();
    EXPECT_EQ(state.hold(generation), State::free);
    state.free();
    EXPECT_NE(state.generation(), generation);
  }});
}

}  // namespace
}  // namespace weft::core
