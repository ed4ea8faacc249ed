// One rank of the tests of how ranks end: ending_rank MODE WHAT [--milliseconds N].
//
// late:    rank 0 sends WHAT and ends; rank 1 computes for N milliseconds before it looks, and requires it
// whole. stopped: the same, but that rank 1 stops itself first, and says its process so that somebody
// continues it. killed:  the same, but that rank 1 says its process and never looks. gone:    the same, but
// that rank 1 ends its process without leaving the job. untaken: the same, but that rank 1 leaves the job
// after N milliseconds and never looks. left:    rank 0 leaves without a word; the others require that what
// only it could have ended ends. mutual:  all ranks send WHAT to all others, receive nothing, and end.
#include "support/rank_program.hpp"

#include <sys/types.h>
#include <unistd.h>
#include <csignal>
#include <functional>

namespace {

using namespace weft;
using test::matches;
using test::option;
using test::payload;
using test::require;

constexpr std::size_t kLarge = 1'000'000;
constexpr std::uint64_t kTag = 9;

/// The payload of message `number` of a kind: several lie in lanes, packets or announcements.
std::size_t size_of(const std::string& what) {
  return what == "am" || what == "send" || what == "signal" || what == "backlog" || what == "ordered" ? 8
         : what == "packet" || what == "packet-send"                                                  ? 6'000
                                                     : kLarge;
}
constexpr int kMessages = 5;

struct Rank {
  explicit Rank(std::string kind)
      : what(std::move(kind)), size(size_of(what)), messages(size == kLarge ? 2 : kMessages) {
    if (what != "backlog") expose();
    std::vector<RemoteRegion> all(static_cast<std::size_t>(runtime.size()));
    const RemoteRegion own = region.remote();
    runtime.allgather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
    for (const RemoteRegion& key : all) keys.push_back(key);
  }
  void expose() { handle = runtime.expose(inbox, {.id = 1}); }
  [[nodiscard]] std::span<std::byte> memory() const { return region.bytes(); }

  void send(int peer) {
    if (what == "broadcast") {
      std::vector<std::byte> all = payload(size, 0);
      Collective collective(runtime, endpoint);
      require(collective.broadcast(std::span(all), 0) == Outcome::ok, "a broadcast fails at its root");
      return;
    }
    for (int number = 0; number < messages; ++number) {
      const std::vector<std::byte> bytes = payload(size, static_cast<std::uint64_t>(number));
      const auto tag = kTag + static_cast<std::uint64_t>(number);
      Status status = Status::done();
      const std::array parts = {Bytes(bytes).first(size / 2), Bytes(bytes).subspan(size / 2)};
      do {
        if (what == "send" || what == "large-send" || what == "packet-send")
          status = endpoint.post_send(peer, tag, bytes);
        else if (what == "ordered")
          status = endpoint.post_send(peer, tag, bytes, {.engine = 256});
        else if (what == "parts")
          status = endpoint.post_am(peer, remote(), bytes_of(number), parts);
        else if (what == "signal")
          status = endpoint.post_put(
              peer, keys[static_cast<std::size_t>(peer)].at(64 * static_cast<std::size_t>(number)), bytes,
              {.signal = remote()});
        else
          status = endpoint.post_am(peer, remote(), bytes, {.may_retry = what != "backlog"});
        if (status.is_retry()) endpoint.progress();
      } while (status.is_retry());
    }
    // Without a completion object nothing is borrowed of messages, however large; puts have their flush.
    if (what == "signal") endpoint.flush();
  }

  void receive(int peer) {
    if (what == "broadcast") {
      std::vector<std::byte> all(size);
      Collective collective(runtime, endpoint);
      require(collective.broadcast(std::span(all), 0) == Outcome::ok,
              "a broadcast of a rank that has ended fails");
      return require(matches(all, 0), "a broadcast is torn");
    }
    for (int number = 0; number < messages; ++number) {
      const auto seed = static_cast<std::uint64_t>(number);
      const std::string name = "message " + std::to_string(number) + " of kind " + what;
      if (what == "send" || what == "large-send" || what == "packet-send" || what == "ordered") {
        std::vector<std::byte> buffer(size);
        const Message message = endpoint.receive(
            peer, kTag + seed, buffer, {.engine = static_cast<std::uint16_t>(what == "ordered" ? 256 : 0)});
        require(message.outcome() == Outcome::ok, name + " ended as " + name_of(message.outcome()));
        require(matches(buffer, seed), name + " is torn");
        continue;
      }
      Message message = endpoint.wait(inbox);
      require(message.outcome() == Outcome::ok && message.peer() == peer, name + " is another one");
      if (what == "parts") {
        std::vector<std::byte> buffer(size);
        const std::array halves = {MutableBytes(buffer).first(size / 2),
                                   MutableBytes(buffer).subspan(size / 2)};
        const int sent = message.as<int>();
        CompletionQueue ended;
        endpoint.receive_parts(std::move(message), halves, ended);
        require(endpoint.wait(ended).outcome() == Outcome::ok, name + " loses its parts");
        require(matches(buffer, static_cast<std::uint64_t>(sent)), name + " is torn");
      } else if (what != "signal") {
        require(message.size() == size, name + " has another length");
        bool is_one_of_them = false;
        for (int sent = 0; sent < messages; ++sent)
          is_one_of_them |= matches(message.bytes(), static_cast<std::uint64_t>(sent));
        require(is_one_of_them, name + " is torn");
      }
    }
    if (what == "signal")
      for (int number = 0; number < messages; ++number)
        require(matches(Bytes(memory()).subspan(64 * static_cast<std::size_t>(number), size),
                        static_cast<std::uint64_t>(number)),
                "a put is torn");
  }

  [[nodiscard]] RemoteCompletion remote() {
    return handle.generation() != 0 ? handle : RemoteCompletion(1, 1, 0);
  }

  const std::string what;
  const std::size_t size;
  const int messages;
  Runtime runtime;
  MemoryRegion region = MemoryRegion::allocate(runtime, 4096);
  MatchingEngine ordered{runtime, {.id = 256, .order = MatchOrder::ordered}};
  CompletionQueue inbox;
  Endpoint endpoint{runtime};
  RemoteCompletion handle;
  std::vector<RemoteRegion> keys;
};

void say(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

void ends(const std::string& mode, const std::string& what, std::chrono::milliseconds pause) {
  Rank rank(what);
  if (rank.runtime.rank() == 0) {
    rank.send(1);
    return say("rank 0 ends");
  }
  if (rank.runtime.rank() > 1) return;
  if (mode != "late" && mode != "untaken") say("pid " + std::to_string(::getpid()));
  if (mode == "stopped") ::raise(SIGSTOP);
  std::this_thread::sleep_for(mode == "killed" ? std::chrono::hours(1) : pause);
  if (mode == "gone") ::_exit(0);
  if (mode == "untaken") return;
  if (what == "backlog") rank.expose();
  rank.receive(0);
  say("rank 1 has all");
}

/// Rank 0 leaves; what waits for it ends on the others, one after the other.
void left(const std::string& what) {
  auto rank = std::make_unique<Rank>("am");
  Runtime& runtime = rank->runtime;
  Endpoint& endpoint = rank->endpoint;
  const int size = runtime.size();
  runtime.barrier();
  if (runtime.rank() == 0) return;
  if (what == "wildcard" && runtime.rank() != size - 1) return;
  std::vector<std::byte> buffer(64);
  const std::vector<std::byte> large = payload(kLarge, 1);
  const auto ended = [&](Outcome outcome, const char* name) {
    require(outcome == Outcome::peer_failed, std::string(name) + " ends as " + name_of(outcome));
  };
  if (what == "receive") {
    ended(endpoint.receive(0, 1, buffer).outcome(), "a receive by rank and tag");
    ended(endpoint.receive(0, 1, buffer).outcome(), "a later receive");
    ended(endpoint.receive(0, 0, buffer, {.policy = MatchingPolicy::rank_only}).outcome(),
          "a receive by rank");
    ended(endpoint.receive(0, any_tag, buffer, {.engine = 256}).outcome(), "an ordered receive");
    // Others are still there.
    if (size > 2) {
      const int next = runtime.rank() % (size - 1) + 1;
      const int previous = (runtime.rank() + size - 3) % (size - 1) + 1;
      require(endpoint.send(next, 5, bytes_of(next)) == Outcome::ok, "a send among those that remain fails");
      require(endpoint.receive(previous, 5, buffer).outcome() == Outcome::ok, "a receive among them fails");
    }
  } else if (what == "wildcard") {
    ended(endpoint.receive(any_source, 1, buffer, {.engine = 256}).outcome(), "a receive of any source");
    ended(endpoint.receive(any_source, any_tag, buffer, {.engine = 256}).outcome(), "a later one");
    ended(endpoint.receive(0, 1, buffer, {.policy = MatchingPolicy::tag_only}).outcome(), "a receive by tag");
  } else if (what == "send") {
    ended(endpoint.send(0, 1, large), "a large send");
    ended(endpoint.send_am(0, rank->remote(), large), "a large active message");
    for (int count = 0; count < 100'000; ++count) static_cast<void>(endpoint.send(0, 1, bytes_of(count)));
    for (int count = 0; count < 100'000; ++count)
      static_cast<void>(endpoint.send_am(0, rank->remote(), bytes_of(count)));
  } else if (what == "access") {
    const RemoteAddress there = rank->keys[0].at(0);
    // Rank 0 may be a moment late, and withdraws its region before it leaves.
    const auto ends = [&](const auto& access, const char* name) {
      Outcome outcome = Outcome::ok;
      require(test::until([&] { return (outcome = access()) != Outcome::ok && outcome != Outcome::refused; },
                          [&] { endpoint.progress(); }),
              name);
      ended(outcome, name);
    };
    ends([&] { return endpoint.put(0, there, std::span<const std::byte>(buffer)); }, "a put");
    ends([&] { return endpoint.get(0, there, buffer); }, "a get");
    CompletionQueue queue;
    std::uint64_t old = 0;
    ends(
        [&] {
          while (endpoint
                     .post_fetch_atomic<std::uint64_t>(0, there, AtomicOperation::add, 1, old,
                                                       {.completion = &queue})
                     .is_retry())
            endpoint.progress();
          return endpoint.wait(queue).outcome();
        },
        "an atomic operation");
    endpoint.flush(0);
    endpoint.flush();
  } else if (what == "collective") {
    Collective collective(runtime, endpoint);
    ended(collective.barrier(), "a barrier");
    ended(collective.barrier(), "a later barrier");
  } else {
    test::fail("ending_rank left: \"" + what + "\" does not exist");
  }
  require(runtime.failed_peers() == 0, "a rank that has left in order is listed as failed");
  say("rank " + std::to_string(runtime.rank()) + " is through");
}

void mutual(const std::string& what) {
  Rank rank(what);
  rank.runtime.barrier();
  for (int peer = 0; peer < rank.runtime.size(); ++peer)
    if (peer != rank.runtime.rank()) rank.send(peer);
  say("rank " + std::to_string(rank.runtime.rank()) + " ends");
}

/// Closes a device while what it sent is still to be taken, opens it again, and goes on.
void reopened(std::chrono::milliseconds pause) {
  Rank rank("am");
  const Bytes nothing;
  if (rank.runtime.rank() == 0) {
    for (int round = 0; round < 3; ++round) {
      Device device(rank.runtime, {.index = 1});
      Endpoint endpoint(device);
      for (int number = 0; number < 3; ++number)
        require(endpoint.send_am(1, rank.remote(), payload(number == 2 ? kLarge : 100, 1)) == Outcome::ok,
                "a message fails");
    }
    return say("rank 0 ends");
  }
  for (int count = 0; count < 9; ++count) {
    std::this_thread::sleep_for(pause);
    const Message message = rank.endpoint.wait(rank.inbox);
    require(matches(message.bytes(), 1), "a message of a device that was closed is torn");
  }
  say("rank 1 has all");
}

}  // namespace

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "";
  const std::string what = count > 2 ? arguments[2] : "";
  const std::chrono::milliseconds pause(std::stoul(option(count, arguments, "milliseconds", "1500")));
  if (mode == "left")
    left(what);
  else if (mode == "mutual")
    mutual(what);
  else if (mode == "reopened")
    reopened(pause);
  else
    ends(mode, what, pause);
}
