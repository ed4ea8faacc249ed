#include "conformance/protocol/matched_messages.hpp"

#include <algorithm>
#include <cstring>

namespace weft::test {

namespace {

constexpr std::uint16_t kUserEngine = 7;

/// Pairs of neighbouring tags are one key.
std::uint64_t make_key(int rank, std::uint64_t tag, const void*) noexcept {
  return tag / 2 * 2 + (static_cast<std::uint64_t>(rank) << 32);
}

}  // namespace

MatchedMessages::MatchedMessages(Job& job) : job_(job) {
  for (int rank = 0; rank < job.ranks(); ++rank)
    engines_.push_back(std::make_unique<MatchingEngine>(
        job.runtime(rank), MatchingEngineOptions{.id = kUserEngine, .make_key = make_key}));
  const auto sent = [this](Sent& record, Message& message) {
    if (message.operation() != Operation::send || message.peer() != record.key.to ||
        (message.data() != record.bytes.data() && !record.in_packet))
      job_.fail("send " + std::to_string(record.id) + " ended as something else");
    if (message.outcome() != Outcome::ok && job_.is_sound(record.key.to) && job_.is_sound(record.from))
      job_.fail("send " + std::to_string(record.id) + " ended as " + name_of(message.outcome()));
    fill(record.bytes, ~record.id);
  };
  send_endings_ = std::make_unique<Endings<Sent, decltype(sent)>>(job, "send", sent);
  const auto received = [this](Receive& record, Message& message) {
    if (message.user_data() != &record || message.data() != record.buffer.data())
      job_.fail("receive " + std::to_string(record.id) + " ended as something else");
    end(record, message);
  };
  receive_endings_ = std::make_unique<Endings<Receive, decltype(received)>>(job, "receive", received);
}

MatchedMessages::~MatchedMessages() = default;

void MatchedMessages::close() { engines_.clear(); }

std::size_t MatchedMessages::buffer_size(std::size_t length) {
  // A prefix has to tell which message it is from.
  if (length > 64 && job_.dice.chance(15)) return 32 + job_.dice.below(length - 32);
  return length + (job_.dice.chance(50) ? 0 : job_.dice.below(100));
}

void MatchedMessages::begin() {
  const int from = job_.rank_by_chance();
  if (!job_.is_alive(from)) return;
  Key key;
  key.to = job_.rank_by_chance();
  // Where a rank dies, no receive of others may depend on what it has sent.
  key.policy =
      job_.has_death()
          ? job_.dice.one_of({MatchingPolicy::rank_and_tag, MatchingPolicy::rank_only, MatchingPolicy::user})
          : job_.dice.one_of({MatchingPolicy::rank_and_tag, MatchingPolicy::rank_only,
                              MatchingPolicy::tag_only, MatchingPolicy::any, MatchingPolicy::user});
  key.engine = key.policy == MatchingPolicy::user ? kUserEngine : job_.dice.one_of<std::uint16_t>({0, 0, 3});
  const std::uint64_t tag =
      job_.dice.one_of<std::uint64_t>({0, 1, 2, 3, std::uint64_t{1} << 40, ~std::uint64_t{0} - 1});
  const bool by_rank = key.policy == MatchingPolicy::rank_and_tag || key.policy == MatchingPolicy::rank_only;
  const bool by_tag = key.policy == MatchingPolicy::rank_and_tag || key.policy == MatchingPolicy::tag_only;
  key.source = by_rank ? from : -1;
  key.tag = by_tag ? tag : key.policy == MatchingPolicy::user ? make_key(from, tag, nullptr) : 0;

  Sent& sent = sent_.emplace_back();
  sent.id = sent_.size() - 1 + 1'000'000;
  sent.key = key;
  sent.from = from;
  sent.device = job_.device_by_chance();
  sent.tag = tag;
  sent.size = job_.size_by_chance();
  sent.bytes = payload(sent.size, sent.id);
  sent.has_completion = sent.size > job_.packet_size() || job_.dice.chance(60);
  sent.in_packet = sent.size <= job_.packet_size() && job_.dice.chance(20);
  if (sent.has_completion) {
    sent.options.completion = send_endings_.get();
    sent.options.user_data = &sent;
  }
  sent.options.policy = key.policy;
  sent.options.engine = key.engine;
  sent.options.device = static_cast<std::uint8_t>(job_.device_by_chance());
  sent.options.may_retry = job_.dice.chance(60);
  sent.options.message_class = static_cast<MessageClass>(job_.dice.index(3));
  sent.options.may_complete_now = job_.dice.chance(40);
  unsent_.push_back(&sent);

  Receive& receive = receives_.emplace_back();
  receive.id = receives_.size() - 1;
  receive.key = key;
  receive.device = job_.device_by_chance();
  receive.source = by_rank || key.policy == MatchingPolicy::user ? from : job_.rank_by_chance();
  // Equal keys of the user's, other tags.
  receive.tag = key.policy == MatchingPolicy::user ? tag ^ job_.dice.below(2) : tag;
  receive.way = job_.dice.chance(20) ? Way::probed : Way::posted;
  receive.wants_cancel = receive.way == Way::posted && job_.dice.chance(20);
  receive.buffer.resize(buffer_size(sent.size));
  receive.options.completion = receive_endings_.get();
  receive.options.user_data = &receive;
  receive.options.policy = key.policy;
  receive.options.engine = key.engine;
  receive.options.may_complete_now = job_.dice.chance(40);
  receive.options.may_retry =
      receive.wants_cancel || receive.options.may_complete_now || job_.dice.chance(60);
  unposted_.push_back(&receive);
}

void MatchedMessages::post(Sent& sent) {
  const Status status = job_.with(sent.from, sent.device, [&](auto& endpoint) {
    if (sent.in_packet) {
      Packet packet = job_.device(sent.from, sent.device).get_packet();
      if (!packet) return Status::retry(Reason::no_packet);
      if (sent.size != 0) std::memcpy(packet.data(), sent.bytes.data(), sent.size);
      return endpoint.post_send(sent.key.to, sent.tag, std::move(packet), sent.size, sent.options);
    }
    return endpoint.post_send(sent.key.to, sent.tag, sent.bytes, sent.options);
  });
  if (status.is_retry()) return unsent_.push_back(&sent);
  sent.is_accepted = true;
  if (status.is_done()) {
    if (sent.has_completion && (sent.state == Posted::State::ended || !sent.options.may_complete_now))
      job_.fail("send " + std::to_string(sent.id) +
                " is done, and its completion object is signalled or missing");
    sent.state = Posted::State::ended;
    fill(sent.bytes, ~sent.id);
  } else if (sent.state != Posted::State::ended) {
    sent.state = Posted::State::posted;
  }
}

void MatchedMessages::post(Receive& receive) {
  ReceiveOptions options = receive.options;
  if (receive.way == Way::probed) {
    MatchedMessage arrived = job_.with(receive.key.to, receive.device, [&](auto& endpoint) {
      ProbedMessage found;
      static_cast<void>(endpoint.probe(receive.source, receive.tag, found, options));
      return endpoint.matched_probe(receive.source, receive.tag, options);
    });
    if (!arrived) return unposted_.push_back(&receive);
    receive.buffer.resize(buffer_size(arrived.info().length));
    receive.is_accepted = true;
    options.may_complete_now = false;
    const Status status = job_.with(receive.key.to, receive.device, [&](auto& endpoint) {
      return endpoint.post_receive(std::move(arrived), receive.buffer, options);
    });
    if (status.is_retry()) job_.fail("a receive of a probed message answers retry");
    return;
  }
  Message message;
  options.arrived = options.may_complete_now ? &message : nullptr;
  options.handle = options.may_retry ? &receive.handle : nullptr;
  const Status status = job_.with(receive.key.to, receive.device, [&](auto& endpoint) {
    return endpoint.post_receive(receive.source, receive.tag, receive.buffer, options);
  });
  if (status.is_retry()) return unposted_.push_back(&receive);
  receive.is_accepted = true;
  if (status.is_done()) {
    if (receive.state == Posted::State::ended || !options.may_complete_now)
      job_.fail("receive " + std::to_string(receive.id) + " is done and signalled");
    receive.state = Posted::State::ended;
    receive.outcome = message.outcome();
    end(receive, message);
  } else if (receive.wants_cancel) {
    to_cancel_.push_back(&receive);
  }
}

void MatchedMessages::end(Receive& receive, const Message& message) {
  const std::string name = "receive " + std::to_string(receive.id);
  if (message.operation() != Operation::receive) return job_.fail(name + " ended as another operation");
  if (message.outcome() == Outcome::cancelled) return;
  if (message.outcome() == Outcome::peer_failed) {
    if (job_.is_sound(message.peer()) && job_.is_sound(receive.key.to))
      job_.fail(name + " ended as peer_failed");
    return;
  }
  const bool is_short = message.length() > receive.buffer.size();
  if ((message.outcome() == Outcome::truncated) != is_short ||
      message.size() != std::min(message.length(), receive.buffer.size()))
    return job_.fail(name + " of " + std::to_string(receive.buffer.size()) + " bytes ended as " +
                     name_of(message.outcome()) + " with " + std::to_string(message.size()) + " of " +
                     std::to_string(message.length()) + " bytes");
  for (Sent& sent : sent_) {
    const std::uint64_t tag = receive.key.policy == MatchingPolicy::user ? sent.key.tag : sent.tag;
    if (sent.is_received || !(sent.key == receive.key) || sent.from != message.peer() ||
        tag != message.tag() || sent.size != message.length())
      continue;
    const std::vector<std::byte> whole = payload(sent.size, sent.id);
    if (!std::equal(receive.buffer.begin(),
                    receive.buffer.begin() + static_cast<std::ptrdiff_t>(message.size()), whole.begin()))
      continue;
    sent.is_received = true;
    return;
  }
  job_.fail(name + " got " + std::to_string(message.length()) + " bytes with tag " +
            std::to_string(message.tag()) + " from rank " + std::to_string(message.peer()) +
            ", which nobody has sent to it, or which was received already, or which are torn");
}

void MatchedMessages::cancel(Receive& receive) {
  const bool was_ended = receive.state == Posted::State::ended;
  const bool cancelled = job_.with(receive.key.to, receive.device,
                                   [&](auto& endpoint) { return endpoint.cancel(receive.handle); });
  if (!cancelled) return;
  receive.is_cancelled = true;
  if (was_ended || receive.state != Posted::State::ended || receive.outcome != Outcome::cancelled)
    job_.fail("receive " + std::to_string(receive.id) + " was cancelled and did not end as cancelled");
}

void MatchedMessages::post_again(const Receive& receive) {
  Receive& again = receives_.emplace_back(receive);
  again.id = receives_.size() - 1;
  again.state = Posted::State::refused;
  again.is_accepted = again.is_cancelled = again.wants_cancel = false;
  again.options.user_data = &again;
  unposted_.push_back(&again);
}

void MatchedMessages::step() {
  std::vector<Sent*> sends;
  sends.swap(unsent_);
  for (Sent* sent : sends)
    if (job_.is_alive(sent->from)) job_.dice.chance(30) ? post(*sent) : unsent_.push_back(sent);
  std::vector<Receive*> receives;
  receives.swap(unposted_);
  for (Receive* receive : receives)
    if (job_.is_alive(receive->key.to)) job_.dice.chance(30) ? post(*receive) : unposted_.push_back(receive);
  for (std::size_t index = 0; index < to_cancel_.size();) {
    Receive& receive = *to_cancel_[index];
    if (!job_.dice.chance(10)) {
      ++index;
      continue;
    }
    to_cancel_.erase(to_cancel_.begin() + static_cast<std::ptrdiff_t>(index));
    if (!job_.is_alive(receive.key.to)) continue;
    cancel(receive);
    if (receive.is_cancelled) post_again(receive);
  }
}

/// Whether only the dead could match it, and its rank knows.
bool MatchedMessages::is_lost(const Receive& receive) const {
  return receive.key.source >= 0 && !job_.is_sound(receive.key.source) && receive.is_accepted &&
         !receive.is_cancelled && job_.has_noticed(receive.key.to);
}

std::string MatchedMessages::missing() {
  for (const Sent& sent : sent_) {
    if (!job_.is_sound(sent.from)) continue;
    const std::string name = "send " + std::to_string(sent.id) + " of " + std::to_string(sent.size) +
                             " bytes from " + std::to_string(sent.from) + " to " +
                             std::to_string(sent.key.to);
    if (!sent.is_accepted) return name + " was never accepted";
    if (sent.is_accepted && sent.has_completion && sent.state != Posted::State::ended)
      return name + " has not ended";
    if (job_.is_sound(sent.key.to) && !sent.is_received) return name + " was not received";
  }
  for (const Receive& receive : receives_) {
    // What a rank that dies does not send is not received.
    if (!job_.is_sound(receive.key.to)) continue;
    if (job_.has_death() && !job_.is_sound(receive.source)) {
      if (is_lost(receive) && receive.state != Posted::State::ended)
        return "receive " + std::to_string(receive.id) + " by " + std::to_string(receive.key.to) +
               " from the dead has not ended";
      continue;
    }
    if (receive.state != Posted::State::ended)
      return "receive " + std::to_string(receive.id) + " by " + std::to_string(receive.key.to) +
             " has not ended";
  }
  return {};
}

void MatchedMessages::settle() {
  unsent_.clear();
  unposted_.clear();
  for (Receive& receive : receives_)
    if (job_.is_sound(receive.key.to) && receive.is_accepted && receive.state != Posted::State::ended &&
        receive.options.may_retry && (receive.key.source < 0 || job_.is_sound(receive.key.source)))
      cancel(receive);
}

}  // namespace weft::test
