#include "conformance/protocol/active_messages.hpp"

#include <functional>
#include <utility>

namespace weft::test {

namespace {

constexpr std::uint16_t kHandler = 10;
constexpr std::uint16_t kQueue = 11;

}  // namespace

/// The objects of one rank that messages are sent to.
struct ActiveMessages::Target {
  Target(ActiveMessages& traffic, int rank, std::uint32_t capacity)
      : handler([&traffic, rank](Message& message) { traffic.arrive(rank, message); }),
        queue({.capacity = capacity}) {}
  Handler<std::function<void(Message&)>> handler;
  CompletionQueue queue;
  std::vector<Message> kept;
};

ActiveMessages::ActiveMessages(Job& job) : job_(job) {
  const auto ended = [this](Sent& sent, Message& message) {
    if (message.operation() != Operation::active_message_sent || message.data() != sent.bytes.data() ||
        message.peer() != sent.to)
      if (!sent.in_packet)
        job_.fail("active message " + std::to_string(sent.id) + " ended as something else");
    if (message.outcome() != Outcome::ok && job_.is_sound(sent.to) && job_.is_sound(sent.from))
      job_.fail("active message " + std::to_string(sent.id) + " ended as " + name_of(message.outcome()));
    scramble(sent);
  };
  endings_ = std::make_unique<Endings<Sent, decltype(ended)>>(job, "active message", ended);
  for (int rank = 0; rank < job.ranks(); ++rank) {
    targets_.push_back(std::make_unique<Target>(*this, rank, job.dice.one_of<std::uint32_t>({1, 4, 1000})));
    Target& target = *targets_.back();
    job.runtime(rank).expose(target.handler, {.id = kHandler});
    job.runtime(rank).expose(target.queue, {.id = kQueue});
  }
}

ActiveMessages::~ActiveMessages() = default;

ActiveMessages::Sent& ActiveMessages::create(int from, int to, std::size_t size) {
  Sent& sent = sent_.emplace_back();
  sent.id = sent_.size() - 1;
  sent.from = from;
  sent.device = job_.device_by_chance();
  sent.to = to;
  sent.size = size;
  sent.bytes = payload(size, sent.id);
  const auto home = static_cast<std::uint8_t>(job_.device_by_chance());
  sent.remote = RemoteCompletion(job_.dice.chance(60) ? kHandler : kQueue, 1, home);
  sent.options.tag = static_cast<std::uint32_t>(sent.id);
  return sent;
}

void ActiveMessages::begin() {
  const int from = job_.rank_by_chance();
  if (!job_.is_alive(from)) return;
  Sent& sent = create(from, job_.rank_by_chance(), job_.size_by_chance());
  sent.has_completion = job_.dice.chance(60);
  sent.in_packet = sent.size <= job_.packet_size() && job_.dice.chance(20);
  if (sent.has_completion) {
    sent.options.completion = endings_.get();
    sent.options.user_data = &sent;
  }
  sent.options.may_retry = job_.dice.chance(60);
  sent.options.message_class = static_cast<MessageClass>(job_.dice.index(3));
  sent.options.may_complete_now = job_.dice.chance(40);
  post(sent);
}

void ActiveMessages::post(Sent& sent) {
  const Status status = job_.with(sent.from, sent.device, [&](auto& endpoint) {
    if (sent.in_packet) {
      Packet packet = job_.device(sent.from, sent.device).get_packet();
      if (!packet) return Status::retry(Reason::no_packet);
      if (sent.size != 0) std::memcpy(packet.data(), sent.bytes.data(), sent.size);
      return endpoint.post_am(sent.to, sent.remote, std::move(packet), sent.size, sent.options);
    }
    return endpoint.post_am(sent.to, sent.remote, sent.bytes, sent.options);
  });
  if (status.is_retry()) {
    if (sent.state == Posted::State::ended)
      job_.fail("active message " + std::to_string(sent.id) + " ended, though it was refused");
    refused_.push_back(&sent);
    return;
  }
  sent.is_accepted = true;
  if (status.is_done()) {
    if (sent.has_completion && sent.state == Posted::State::ended)
      job_.fail("active message " + std::to_string(sent.id) + " is done and signalled");
    if (sent.has_completion && !sent.options.may_complete_now)
      job_.fail("active message " + std::to_string(sent.id) + " is done without having been signalled");
    sent.state = Posted::State::ended;
    scramble(sent);
  } else if (sent.state != Posted::State::ended) {
    sent.state = Posted::State::posted;
  }
}

/// The buffer is the poster's again: whoever reads it from now on reads nonsense.
void ActiveMessages::scramble(Sent& sent) { fill(sent.bytes, ~sent.id); }

void ActiveMessages::arrive(int rank, Message& message) {
  const std::uint64_t id = message.tag();
  if (id >= sent_.size())
    return job_.fail("an active message " + std::to_string(id) + " that nobody has sent");
  Sent& sent = sent_[id];
  if (sent.to != rank || message.peer() != sent.from)
    job_.fail("active message " + std::to_string(id) + " arrived at another rank, or from another one");
  if (++sent.arrivals > 1) job_.fail("active message " + std::to_string(id) + " arrived twice");
  if (message.size() != sent.size || !matches(message.bytes(), id))
    job_.fail("active message " + std::to_string(id) + " of " + std::to_string(sent.size) +
              " bytes arrived as " + std::to_string(message.size()) + " bytes, or torn");
  if (reinterpret_cast<std::uintptr_t>(message.data()) % 16 != 0)
    job_.fail("active message " + std::to_string(id) + " is not aligned");
  // Some are answered, within the handler when there is one.
  if (!sent.is_answered && job_.is_alive(rank) && sent_.size() < 400 && job_.dice.chance(30)) {
    sent.is_answered = true;
    Sent& answer =
        create(rank, sent.from, job_.dice.below(job_.dice.chance(80) ? 49 : 2 * job_.packet_size()));
    answer.is_answered = true;
    if (answer.size > job_.packet_size()) {
      answer.has_completion = true;
      answer.options.completion = endings_.get();
      answer.options.user_data = &answer;
    }
    post(answer);
  }
}

void ActiveMessages::step() {
  std::vector<Sent*> again;
  again.swap(refused_);
  for (Sent* sent : again)
    if (!job_.is_alive(sent->from))
      continue;
    else if (job_.dice.chance(50))
      post(*sent);
    else
      refused_.push_back(sent);
  for (int rank = 0; rank < job_.ranks(); ++rank) {
    if (!job_.is_alive(rank)) continue;
    Target& target = *targets_[static_cast<std::size_t>(rank)];
    Message message;
    if (job_.dice.chance(30) && target.queue.pop(message)) {
      arrive(rank, message);
      if (job_.dice.chance(20)) target.kept.push_back(std::move(message));
    }
    if (!target.kept.empty() && job_.dice.chance(5)) target.kept.pop_back();
  }
}

void ActiveMessages::close() {
  Message message;
  for (auto& target : targets_) {
    target->kept.clear();
    while (target->queue.pop(message)) message = Message();
  }
}

std::string ActiveMessages::missing() {
  for (auto& target : targets_) target->kept.clear();
  for (const Sent& sent : sent_) {
    if (!job_.is_sound(sent.from)) continue;
    const std::string name = "active message " + std::to_string(sent.id) + " of " +
                             std::to_string(sent.size) + " bytes from " + std::to_string(sent.from) + " to " +
                             std::to_string(sent.to);
    if (!sent.is_accepted) return name + " was never accepted";
    if (sent.has_completion && sent.state != Posted::State::ended) return name + " has not ended";
    if (job_.is_sound(sent.to) && sent.arrivals == 0) return name + " has not arrived";
  }
  return {};
}

}  // namespace weft::test
