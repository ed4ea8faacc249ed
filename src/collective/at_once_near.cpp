// The messages of AtOnce that go through memory which members on this host share.
#include "collective/at_once.hpp"

#include <algorithm>
#include <thread>
#include <vector>

namespace weft::collective {

namespace {

constexpr std::uint32_t kMostPolls = 512;  // before a thread lets others run
constexpr std::uint32_t kLeastPolls = 4;
constexpr std::uint32_t kPollsPerProgress = 8;
constexpr std::uint32_t kYields = 1000;  // before a thread sleeps

}  // namespace

Outcome AtOnce::connect(CollectiveContext& context, const detail::CollectiveCall& call) {
  AtOnce steps(context, call);
  context.roll_call().begin_to_connect(steps.number_);
  HostChannels& channels = *context.near().channels();
  const std::span<const int> members = channels.members();
  const auto exchange = [&](std::uint32_t phase, Bytes mine, std::byte* theirs) {
    for (std::size_t index = 0; index < members.size(); ++index) {
      if (static_cast<int>(index) == channels.own()) continue;
      steps.send_matched(members[index], mine, context.tags().connect(phase));
      steps.receive_matched(members[index], {theirs + index * mine.size(), mine.size()},
                            context.tags().connect(phase));
    }
    if (steps.pending_) steps.join_matched();
  };
  const RemoteRegion key = channels.open();
  std::vector<RemoteRegion> keys(members.size());
  exchange(0, std::as_bytes(std::span(&key, 1)), std::as_writable_bytes(std::span(keys)).data());
  std::byte has_all{1};
  if (!steps.is_spoiled())
    for (int index = 0; index < static_cast<int>(members.size()); ++index)
      if (index != channels.own() && !channels.map(index, keys[static_cast<std::size_t>(index)]))
        has_all = std::byte{0};
  std::vector<std::byte> have_all(members.size(), std::byte{1});
  exchange(1, {&has_all, 1}, have_all.data());
  const Outcome outcome = steps.end();
  context.roll_call().end_to_connect();
  if (outcome != Outcome::ok) return outcome;
  have_all.push_back(has_all);
  if (std::ranges::find(have_all, std::byte{0}) == have_all.end()) channels.connect();
  context.set_next_run(steps.number_);
  return Outcome::ok;
}

bool AtOnce::take_near() noexcept {
  auto& awaited = context_.near().receives();
  for (std::size_t index = 0; index < awaited.size();) {
    const NearReceive& each = awaited[index];
    const auto size = channels_->receive(each.member, each.word, each.buffer);
    if (!size) {
      ++index;
      continue;
    }
    if (*size != each.buffer.size() && mismatch_.peer < 0)
      mismatch_ = {context_.peer_of(each.peer), *size, each.buffer.size()};
    awaited[index] = awaited.back();
    awaited.pop_back();
  }
  return awaited.empty();
}

void AtOnce::join_near() noexcept {
  if (has_failed()) return context_.near().receives().clear();
  // Where the ranks have cores of their own the message comes while this thread polls; where they do not, it
  // comes only when this thread has let its sender run.
  std::uint32_t& budget = context_.near().polls();
  for (std::uint32_t polls = 0; polls < budget; ++polls) {
    if (take_near()) {
      budget = std::min(budget + budget / 4 + 1, kMostPolls);
      return;
    }
    if (polls % kPollsPerProgress == kPollsPerProgress - 1) context_.port().progress();
  }
  budget = std::max(budget / 2, kLeastPolls);
  for (std::uint32_t yields = 0; yields < kYields; ++yields) {
    if (take_near()) return;
    if (context_.port().progress() == 0) std::this_thread::yield();
  }
  wait_long_for_near();
}

void AtOnce::wait_long_for_near() noexcept {
  NearGuards& guards = context_.near().guards();
  auto& awaited = context_.near().receives();
  while (!take_near()) {
    guards.clear();
    for (const NearReceive& each : awaited) {
      // No rank sends a message to this receive, except one of a length that goes another way.
      ReceiveOptions options = context_.receive_options(guards);
      NearGuards::Guard& guard = guards.add(each);
      options.user_data = &guard;
      options.handle = &guard.handle;
      while (context_.port()
                 .post_receive(context_.peer_of(each.peer), tag_ | context_.tags().step_tag(0, each.step), {},
                               options)
                 .is_retry())
        context_.port().progress();
    }
    struct Waiting {
      AtOnce& steps;
      NearGuards& guards;
    } waiting{*this, guards};
    const bool agrees = context_.near().wait(
        number_, guards.peers(),
        [](void* what) noexcept {
          auto& each = *static_cast<Waiting*>(what);
          return each.steps.take_near() || each.guards.has_ended();
        },
        &waiting);
    guards.end(context_.port());
    if (take_near()) return;  // also what a rank has sent that has left since
    if (!agrees) {
      awaited.clear();
      return give_up();
    }
    for (const NearGuards::Guard& guard : guards.all())
      if (guard.outcome != Outcome::cancelled) end_guarded(guard);
    if (outcome_ != Outcome::ok) return awaited.clear();
  }
}

void AtOnce::end_guarded(const NearGuards::Guard& guard) noexcept {
  auto& awaited = context_.near().receives();
  const auto lost = std::ranges::find_if(
      awaited, [&](const NearReceive& each) { return each.peer == guard.peer && each.step == guard.step; });
  if (lost == awaited.end()) return;
  if (guard.outcome == Outcome::ok || guard.outcome == Outcome::truncated) {
    // The collective goes on: others wait for what this rank sends them.
    if (mismatch_.peer < 0) mismatch_ = {context_.peer_of(guard.peer), guard.length, lost->buffer.size()};
  } else {
    outcome_ = guard.outcome;
  }
  awaited.erase(lost);
}

void AtOnce::send_near_later(int member, Bytes bytes, std::uint32_t step) {
  const int peer = channels_->members()[static_cast<std::size_t>(member)];
  struct Waiting {
    HostChannels& channels;
    int member;
    std::uint64_t word;
    Bytes bytes;
    CollectiveContext& context;
    bool is_sent = false;
    [[nodiscard]] bool is_over() noexcept {
      is_sent = channels.is_open(member) && channels.send(member, word, bytes);
      return is_sent || !channels.is_open(member) || context.has_lost_a_rank();
    }
  } waiting{*channels_, member, near_word(step), bytes, context_};
  for (std::uint32_t yields = 0; yields < kYields; ++yields) {
    if (waiting.is_over()) break;
    if (context_.port().progress() == 0) std::this_thread::yield();
  }
  if (!waiting.is_over() &&
      !context_.near().wait(
          number_, {&peer, 1}, [](void* what) noexcept { return static_cast<Waiting*>(what)->is_over(); },
          &waiting))
    return give_up();
  if (waiting.is_sent) return;
  if (context_.has_lost_a_rank())
    outcome_ = Outcome::peer_failed;
  else
    send_matched(peer, bytes, context_.tags().step_tag(0, step));  // to one that has left: it says so
}

}  // namespace weft::collective
