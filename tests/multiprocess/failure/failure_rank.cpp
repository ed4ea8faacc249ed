// One rank of the tests of peer failure: failure_rank MODE [--messages N].
//
// traffic: every rank keeps operations of all kinds under way to every other one, from two threads with a
// device each, until somebody has failed. Then those that remain require that each operation towards the dead
// ends, that new ones end as peer_failed, and exchange N more messages of every size with each other. Content
// is checked always.
#include "failure_job.hpp"

#include <unistd.h>
#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <iterator>
#include <set>

namespace {

using namespace weft;
using namespace weft::failure_test;
using test::fill;
using test::matches;
using test::require;

template <class EndpointType>
class Worker {
 public:
  Worker(Job& job, std::uint32_t device, std::vector<RemoteRegion> keys, bool is_mapped,
         std::uint64_t messages)
      : job_(job),
        device_index_(device),
        device_(job.runtime, {.index = static_cast<std::int32_t>(device)}),
        endpoint_(device_),
        engine_(job.runtime, {.id = static_cast<std::uint16_t>(device + 1),
                              .order = MatchOrder::unordered,
                              .serial = device == 1}),
        rank_(static_cast<std::size_t>(job.runtime.rank())),
        messages_(messages),
        peers_(job.ranks) {
    for (const RemoteRegion& key : keys)
      regions_.push_back(is_mapped ? map(job.runtime, key) : MappedRegion(key, nullptr));
    inbox_ = job.runtime.expose(arrivals_, {.id = device + 1, .device = static_cast<std::uint32_t>(device)});
    for (std::size_t peer = 0; peer < job.ranks; ++peer)
      for (const Kind kind : kKinds) {
        if (peer == rank_) continue;
        Slot& slot = slots_.emplace_back();
        slot.kind = kind;
        slot.peer = peer;
      }
  }

  void run() {
    exchange([&] { return job_.victim.load() >= 0; });
    victim_ = static_cast<std::size_t>(job_.victim.load());
    require(job_.runtime.has_failed(static_cast<int>(victim_)), "the failed rank is not listed");
    settle();
    // Every survivor sends as many more messages, the last of which says so.
    for (std::size_t peer = 0; peer < job_.ranks; ++peer) {
      if (peer == rank_ || peer == victim_) continue;
      for (std::uint64_t count = 0; count <= messages_; ++count) send_and_wait(peer, count == messages_);
    }
    wait_for("the last messages of the others", [&] {
      for (std::size_t peer = 0; peer < job_.ranks; ++peer)
        if (peer != rank_ && peer != victim_ && !peers_[peer].is_complete()) return false;
      return true;
    });
    post_to_the_dead();
  }

 private:
  struct Peer {
    std::uint64_t active = 0;    // messages sent
    std::uint64_t sends = 0;     // likewise
    std::uint64_t receives = 0;  // posted
    std::uint64_t accesses = 0;
    std::set<std::uint32_t> early;  // arrived, beyond the first that is missing
    std::uint32_t complete = 0;
    std::uint32_t last = ~0U;
    [[nodiscard]] bool is_complete() const { return last != ~0U && complete == last + 1; }
  };

  /// A message with parts that is being received: head and parts, one behind the other.
  struct Parcel final : Completion {
    explicit Parcel(Worker& receiver) noexcept : worker(receiver) {}
    ~Parcel() override { withdraw(); }
    void signal(Message& message) noexcept override {
      if (message.outcome() == Outcome::ok)
        worker.arrive(message.peer(), bytes);
      else
        require(message.outcome() == Outcome::peer_failed, "parts end in another way");
      is_idle = true;
    }
    [[nodiscard]] bool ready() const noexcept override { return is_idle; }
    Worker& worker;
    bool is_idle = true;
    std::vector<std::byte> bytes;
  };

  void arrive(Message& message) {
    if (message.operation() != Operation::multipart_message) return arrive(message.peer(), message.bytes());
    const auto sizes = message.part_sizes();
    require(sizes.size() == 2 && message.size() == kHead, "a head comes with other parts");
    auto parcel =
        std::find_if(parcels_.begin(), parcels_.end(), [](const Parcel& each) { return each.is_idle; });
    if (parcel == parcels_.end()) {
      parcels_.emplace_back(*this);
      parcel = std::prev(parcels_.end());
    }
    parcel->is_idle = false;
    parcel->bytes.assign(kHead + sizes[0] + sizes[1], std::byte{});
    std::memcpy(parcel->bytes.data(), message.data(), kHead);
    const std::span<std::byte> rest = std::span(parcel->bytes).subspan(kHead);
    const std::array<MutableBytes, 2> buffers = {rest.first(sizes[0]), rest.subspan(sizes[0])};
    endpoint_.receive_parts(std::move(message), buffers, *parcel);
  }

  void arrive(int sender, Bytes message) {
    Header header{};
    require(message.size() >= sizeof header, "an active message is too short");
    std::memcpy(&header, message.data(), sizeof header);
    const auto peer = static_cast<std::size_t>(sender);
    require(header.sender == peer, "an active message of another sender");
    const std::uint32_t number = header.number & (kLast - 1);
    require(message.size() == size_of(number) &&
                matches(message.subspan(sizeof header), seed_of(peer, device_index_, number)),
            "an active message of " + std::to_string(message.size()) + " bytes is torn");
    Peer& from = peers_[peer];
    require(number >= from.complete && from.early.insert(number).second, "an active message came twice");
    while (from.early.erase(from.complete) != 0) ++from.complete;
    if ((header.number & kLast) != 0) from.last = number;
  }

  Status post_active_message(Slot& slot, bool is_last) {
    Peer& peer = peers_[slot.peer];
    slot.number = peer.active;
    const Header header{static_cast<std::uint32_t>(rank_),
                        static_cast<std::uint32_t>(slot.number | (is_last ? kLast : 0))};
    slot.bytes.resize(size_of(slot.number));
    std::memcpy(slot.bytes.data(), &header, sizeof header);
    fill(std::span(slot.bytes).subspan(sizeof header), seed_of(rank_, device_index_, slot.number));
    const ActiveMessageOptions options{
        .completion = &slot, .may_retry = slot.number % 2 == 0, .message_class = class_of(slot.number)};
    const Bytes bytes = slot.bytes;
    const std::size_t half = (bytes.size() - kHead) / 2;
    const std::array parts = {bytes.subspan(kHead, half), bytes.subspan(kHead + half)};
    const Status status = slot.number % kWithParts == kWithParts - 1
                              ? endpoint_.post_am(to(slot), inbox_, bytes.first(kHead), parts, options)
                              : endpoint_.post_am(to(slot), inbox_, bytes, options);
    if (status.is_accepted()) ++peer.active;
    return status;
  }

  Status post(Slot& slot) {
    Peer& peer = peers_[slot.peer];
    const bool may_retry = slot.number % 2 == 0;
    const auto device = static_cast<std::uint8_t>(device_index_);
    slot.outcome.store(-1);
    switch (slot.kind) {
      case Kind::active_message:
        return post_active_message(slot, false);
      case Kind::send: {
        slot.number = peer.sends;
        slot.bytes = test::payload(size_of(slot.number), seed_of(rank_, device_index_, slot.number));
        const Status status = endpoint_.post_send(to(slot), slot.number, slot.bytes,
                                                  {.completion = &slot,
                                                   .engine = engine_.id(),
                                                   .device = device,
                                                   .may_retry = may_retry,
                                                   .message_class = class_of(slot.number)});
        if (status.is_accepted()) ++peer.sends;
        return status;
      }
      case Kind::receive: {
        slot.number = peer.receives;
        slot.bytes.resize(size_of(slot.number));
        const Status status =
            endpoint_.post_receive(to(slot), slot.number, slot.bytes,
                                   {.completion = &slot, .engine = engine_.id(), .handle = &slot.handle});
        if (status.is_accepted()) ++peer.receives;
        return status;
      }
      case Kind::put:
        slot.number = ++peer.accesses;
        slot.bytes = test::payload(kSizes[slot.number % 7], seed_of(rank_, device_index_, slot.number));
        if (slot.number % 2 != 0)
          return endpoint_.post_put(to(slot), pieces<PutPiece, Bytes>(slot),
                                    {.completion = &slot, .device = device, .may_retry = may_retry});
        return endpoint_.post_put(to(slot), place(slot), slot.bytes,
                                  {.completion = &slot, .device = device, .may_retry = may_retry});
      case Kind::get:
        std::fill(slot.bytes.begin(), slot.bytes.end(), std::byte{});
        if (slot.number % 2 != 0)
          return endpoint_.post_get(to(slot), pieces<GetPiece, std::span<std::byte>>(slot),
                                    {.completion = &slot, .device = device});
        return endpoint_.post_get(to(slot), place(slot), slot.bytes, {.completion = &slot, .device = device});
      case Kind::atomic:
        slot.bytes.resize(sizeof(std::uint64_t));
        return endpoint_.template post_fetch_atomic<std::uint64_t>(
            to(slot), regions_[slot.peer].at(2 * job_.ranks * kBlock + (2 * rank_ + device_index_) * 64),
            AtomicOperation::add, 1, *reinterpret_cast<std::uint64_t*>(slot.bytes.data()),
            {.completion = &slot, .device = device});
    }
    return Status::done();
  }

  [[nodiscard]] int to(const Slot& slot) const { return static_cast<int>(slot.peer); }
  [[nodiscard]] RemoteAddress place(const Slot& slot) const {
    return regions_[slot.peer].at((2 * rank_ + device_index_) * kBlock);
  }

  /// The halves of a slot's bytes.
  template <class Piece, class Buffer>
  [[nodiscard]] std::array<Piece, 2> pieces(Slot& slot) const {
    const Buffer bytes = slot.bytes;
    const std::size_t half = bytes.size() / 2;
    const std::size_t offset = (2 * rank_ + device_index_) * kBlock;
    return {Piece{regions_[slot.peer].at(offset), bytes.first(half)},
            Piece{regions_[slot.peer].at(offset + half), bytes.subspan(half)}};
  }

  /// What has ended is checked, and is idle again.
  void look(Slot& slot) {
    if (!slot.is_under_way || !slot.ready()) return;
    slot.is_under_way = false;
    const auto outcome = static_cast<Outcome>(slot.outcome.load());
    const std::string name = std::string(kNames[static_cast<std::size_t>(slot.kind)]) + " of rank " +
                             std::to_string(rank_) + " with rank " + std::to_string(slot.peer) +
                             " ended as " + name_of(outcome);
    if (outcome == Outcome::peer_failed) {
      // Those that are through leave, and end receives that nobody else will match.
      if (slot.kind == Kind::receive && victim_ < job_.ranks && slot.peer != victim_) return;
      // libfabric may lose a peer a moment before the launcher sees its end.
      require(test::until([&] { return job_.runtime.has_failed(to(slot)); }, [] {}), name);
      if (slot.kind == Kind::get) slot.kind = Kind::put;
      return;
    }
    require(outcome == Outcome::ok || (outcome == Outcome::cancelled && slot.kind == Kind::receive), name);
    if (outcome == Outcome::cancelled) return;
    if (slot.kind == Kind::receive)
      require(slot.length == slot.bytes.size() &&
                  matches(slot.bytes, seed_of(slot.peer, device_index_, slot.number)),
              "a receive of " + std::to_string(slot.length) + " bytes is torn");
    if (slot.kind == Kind::get)
      require(matches(slot.bytes, seed_of(rank_, device_index_, slot.number)), "a get does not see its put");
    if (slot.kind == Kind::put)
      slot.kind = Kind::get;
    else if (slot.kind == Kind::get)
      slot.kind = Kind::put;
  }

  /// Receives are posted in any case: the others may still send what they began before they noticed.
  void step(bool posts) {
    for (Slot& slot : slots_) {
      look(slot);
      if (!slot.is_under_way && (posts || (slot.kind == Kind::receive && slot.peer != victim_)))
        slot.is_under_way = post(slot).is_accepted();
    }
    endpoint_.progress();
  }
  template <class Condition>
  void exchange(const Condition& over) {
    require(test::until(over, [&] { step(true); }), "rank " + std::to_string(rank_) + " waits for a failure");
  }
  template <class Condition>
  void wait_for(const std::string& what, const Condition& condition) {
    require(test::until(condition, [&] { step(false); }),
            "rank " + std::to_string(rank_) + " waits for " + what);
  }

  /// Everything ends, but receives from the living.
  void settle() {
    std::string left;
    const bool has_ended = test::until(
        [&] {
          left.clear();
          for (const Slot& slot : slots_)
            if (slot.is_under_way && (slot.kind != Kind::receive || slot.peer == victim_))
              left += std::string(" ") + kNames[static_cast<std::size_t>(slot.kind)] + " " +
                      std::to_string(slot.number) + " with " + std::to_string(slot.peer);
          return left.empty();
        },
        [&] { step(false); });
    require(has_ended, "rank " + std::to_string(rank_) + " has operations that do not end:" + left);
    endpoint_.flush();
  }

  void send_and_wait(std::size_t peer, bool is_last) {
    for (Slot& slot : slots_) {
      if (slot.peer != peer || slot.kind != Kind::active_message) continue;
      wait_for("an active message", [&] { return !slot.is_under_way; });
      slot.outcome.store(-1);
      wait_for("room for an active message", [&] {
        slot.is_under_way = post_active_message(slot, is_last).is_accepted();
        return slot.is_under_way;
      });
      wait_for("an active message to rank " + std::to_string(peer), [&] { return !slot.is_under_way; });
      return;
    }
  }

  /// Each kind ends at once.
  void post_to_the_dead() {
    for (Slot& slot : slots_) {
      if (slot.peer != victim_) continue;
      int ended = 0;
      for (int round = 0; round < 100 && ended < kEnds; ++round) {
        wait_for("room for an operation towards the dead", [&] {
          slot.is_under_way = post(slot).is_accepted();
          return slot.is_under_way;
        });
        wait_for(
            std::string("the end of a ") + kNames[static_cast<std::size_t>(slot.kind)] + " with the dead",
            [&] { return !slot.is_under_way; });
        // Receives may still find what it has sent.
        if (static_cast<Outcome>(slot.outcome.load()) == Outcome::peer_failed)
          ++ended;
        else
          require(slot.kind == Kind::receive, std::string(kNames[static_cast<std::size_t>(slot.kind)]) +
                                                  " towards the dead ends as another outcome");
      }
      require(ended == kEnds, "operations towards the dead do not end as peer_failed");
    }
    endpoint_.flush();
    for (Slot& slot : slots_)
      if (slot.is_under_way) {
        endpoint_.cancel(slot.handle);
        look(slot);
        require(!slot.is_under_way, "a receive that was cancelled has not ended");
      }
  }

  Job& job_;
  const std::size_t device_index_;
  Device device_;
  EndpointType endpoint_;
  MatchingEngine engine_;
  const std::size_t rank_;
  const std::uint64_t messages_;
  std::size_t victim_ = ~std::size_t{0};
  std::vector<Peer> peers_;
  std::vector<MappedRegion> regions_;
  std::deque<Slot> slots_;
  std::deque<Parcel> parcels_;
  RemoteCompletion inbox_;
  Handler<std::function<void(Message&)>> arrivals_{[this](Message& message) { arrive(message); }};
};

void traffic(bool is_mapped, std::uint64_t messages) {
  Runtime runtime;
  const std::size_t bytes = static_cast<std::size_t>(runtime.size()) * (2 * kBlock + 128);
  const MemoryRegion region = MemoryRegion::allocate(runtime, bytes);
  std::vector<RemoteRegion> keys(static_cast<std::size_t>(runtime.size()));
  runtime.allgather(bytes_of(region.remote()), std::as_writable_bytes(std::span(keys)));
  Job job(runtime);
  {
    Worker<Endpoint> shared(job, 0, keys, is_mapped, messages);
    Worker<SerialEndpoint> serial(job, 1, keys, is_mapped, messages);
    std::printf("pid %d rank %d\n", static_cast<int>(::getpid()), runtime.rank());
    std::fflush(stdout);
    std::thread other([&] { serial.run(); });
    shared.run();
    other.join();
  }
  require(job.told.load() == 1, "a failure is told more than once");
  int listed = -1;
  require(runtime.failed_peers(std::span(&listed, 1)) == 1 && listed == job.victim.load(),
          "another rank is listed");
  std::printf("survived rank %d\n", listed);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "";
  const std::uint64_t messages = std::stoull(test::option(count, arguments, "messages", "64"));
  if (mode == "traffic") {
    traffic(test::option(count, arguments, "mapped", "no") == "yes", messages);
    return 0;
  }
  test::fail("failure_rank: the mode \"" + mode + "\" does not exist: traffic");
}
