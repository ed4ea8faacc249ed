// The receiver's half of messages with bodies.
#include "core/protocol/large_message_records.hpp"
#include "core/protocol/vectored_message.hpp"

#include <weft/detail/message_access.hpp>

#include <cstring>
#include <new>
#include <string>
#include <thread>

namespace weft::core {

/// The device as its arrivals know it, which may be with their receivers longer than the device is there: the
/// last of them deletes it.
class VectoredMessages::Home {
 public:
  explicit Home(VectoredMessages& owner) noexcept : owner_(&owner) {}

  /// Calls `visit(device)` unless the device is closed, which waits for the visit. Whether it did.
  template <class Visit>
  bool visit(const Visit& visit) noexcept {
    // Either this load sees that the device is closed, or close() sees the visitor.
    visitors_.fetch_add(1, std::memory_order_seq_cst);
    VectoredMessages* const owner = owner_.load(std::memory_order_seq_cst);
    if (owner != nullptr) visit(*owner);
    visitors_.fetch_sub(1, std::memory_order_release);
    return owner != nullptr;
  }
  void close() noexcept {
    owner_.store(nullptr, std::memory_order_seq_cst);
    while (visitors_.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
  }
  void enter() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void leave() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  std::atomic<VectoredMessages*> owner_;
  std::atomic<std::uint32_t> visitors_{0};
  std::atomic<std::uint32_t> references_{1};  // of the device and of all arrivals
};

/// A message of a peer: from its announcement until its receiver has destroyed it. It stands in front of its
/// own arrays, in one piece of memory.
struct VectoredMessages::Arrival final : detail::BodiesOwner {
  enum class State : std::uint8_t {
    fetching,  // its front is under way
    offered,   // the receiver has it
    claimed,   // its bodies are wanted
    dropped,   // they are not
    ended,     // the receiver has it again
  };
  Arrival* next = nullptr;
  Home& home;
  const std::size_t memory;  // bytes of all of it
  const std::span<ScatterPart> parts;
  std::uint64_t* const sizes_begin;
  std::byte* const front;
  const std::size_t front_size;
  State state = State::fetching;
  bool is_short = false;  // a buffer is shorter than its body
  int peer = 0;
  std::uint64_t word = 0;  // handle and tag
  VectoredMessage announcement{};
  std::uint64_t total = 0;
  Completion* completion = nullptr;  // of who receives the bodies
  void* user_data = nullptr;

  /// nullptr: there is no memory now.
  [[nodiscard]] static Arrival* make(Home& home, const VectoredMessage& announcement) noexcept {
    const std::size_t count = announcement.count;
    const std::size_t front_size = count * sizeof(BodyEntry) + announcement.head_size;
    const std::size_t own = (sizeof(Arrival) + 15) / 16 * 16;
    const std::size_t sizes = (count * sizeof(std::uint64_t) + 15) / 16 * 16;
    const std::size_t parts = (count * sizeof(ScatterPart) + 15) / 16 * 16;
    const std::size_t memory = own + sizes + parts + front_size;
    std::byte* const place = detail::heap_payloads().allocate(memory);
    if (place == nullptr) return nullptr;
    auto* const sizes_begin = new (place + own) std::uint64_t[count];
    auto* const parts_begin = new (place + own + sizes) ScatterPart[count];
    return new (place) Arrival(home, announcement, memory, {parts_begin, count}, sizes_begin,
                               place + own + sizes + parts, front_size);
  }
  static void free(Arrival& arrival) noexcept {
    Home& home = arrival.home;
    const std::size_t memory = arrival.memory;
    arrival.~Arrival();
    detail::heap_payloads().release(reinterpret_cast<std::byte*>(&arrival), memory, 0);
    home.leave();
  }

  [[nodiscard]] const std::byte* head() const noexcept { return front + parts.size() * sizeof(BodyEntry); }
  /// Reads what the sender says of the bodies. False: it is impossible.
  [[nodiscard]] bool read_sizes() noexcept {
    for (std::size_t index = 0; index < parts.size(); ++index) {
      BodyEntry entry;
      std::memcpy(&entry, front + index * sizeof entry, sizeof entry);
      if (entry.size > kLargestMessage || entry.size > kLargestMessage - total) return false;
      sizes_begin[index] = entry.size;
      parts[index] = {.address = entry.address, .start = total, .size = entry.size};
      total += entry.size;
    }
    return true;
  }
  /// As large messages know the bodies.
  [[nodiscard]] LargeMessage bodies() const noexcept {
    std::uint64_t address = 0;  // any but 0: they can be read
    for (const ScatterPart& part : parts)
      if (part.size != 0) address = part.address;
    return {address, total, announcement.bodies, announcement.device};
  }

  std::byte* allocate(std::size_t) noexcept override { return nullptr; }
  /// The receiver destroys the message.
  void release(std::byte*, std::size_t, std::uint64_t) noexcept override {
    const bool is_told = state != State::ended && home.visit([this](VectoredMessages& device) {
      state = State::dropped;
      device.add_decided(*this);
    });
    if (!is_told) free(*this);
  }

 private:
  Arrival(Home& of, const VectoredMessage& what, std::size_t bytes, std::span<ScatterPart> all,
          std::uint64_t* sizes, std::byte* begin, std::size_t size) noexcept
      : BodiesOwner({sizes, all.size()}),
        home(of),
        memory(bytes),
        parts(all),
        sizes_begin(sizes),
        front(begin),
        front_size(size),
        announcement(what) {
    home.enter();
  }
  ~Arrival() = default;
};

struct VectoredMessages::Ends {
  using End = void (VectoredMessages::*)(Arrival&, Outcome) noexcept;
  class Ended final : public Completion {
   public:
    Ended(VectoredMessages& owner, End end) noexcept : owner_(owner), end_(end) {}
    ~Ended() override { withdraw(); }
    void signal(Message& message) noexcept override {
      (owner_.*end_)(*static_cast<Arrival*>(message.user_data()), message.outcome());
    }
    [[nodiscard]] bool ready() const noexcept override { return true; }

   private:
    VectoredMessages& owner_;
    const End end_;
  };
  Ended front;
  Ended bodies;
};

VectoredMessages::VectoredMessages(const Context& context, LargeMessages& large_messages)
    : context_(context),
      large_messages_(large_messages),
      home_(new Home(*this)),
      ends_(new Ends{{*this, &VectoredMessages::front_arrived}, {*this, &VectoredMessages::bodies_arrived}}) {
}

VectoredMessages::~VectoredMessages() {
  home_->close();
  decided_.run(large_messages_.working(), [](Arrival& arrival) {
    Arrival::free(arrival);
    return Step::finished;
  });
  const auto free = [](void* arrival) { Arrival::free(*static_cast<Arrival*>(arrival)); };
  large_messages_.visit_fetches(ends_->front, free);
  large_messages_.visit_fetches(ends_->bodies, free);
  home_->leave();
}

bool VectoredMessages::on_announcement(std::uint64_t word, const Message& arrival,
                                       network::Sink& sink) noexcept {
  const int peer = arrival.peer();
  const auto reject = [&](const char* what, std::uint64_t value) {
    sink.reject(peer, what, value);
    return true;
  };
  VectoredMessage announcement{};
  if (arrival.size() < sizeof announcement)
    return reject("announcement of bodies of a wrong length", arrival.size());
  std::memcpy(&announcement, arrival.data(), sizeof announcement);
  if (announcement.count == 0 || announcement.count > kMostBodies)
    return reject("announcement of an impossible number of bodies", announcement.count);
  if (announcement.head_size > kLargestHead)
    return reject("announcement of bodies with too long a head", announcement.head_size);
  if (announcement.device >= detail::DevicePath::kMaxDevices)
    return reject("announcement of bodies from a device out of range", announcement.device);
  const std::size_t front_size = announcement.count * sizeof(BodyEntry) + announcement.head_size;
  if (announcement.has_front > 1 ||
      arrival.size() - sizeof announcement != (announcement.has_front != 0 ? front_size : 0))
    return reject("announcement of bodies of a wrong length", arrival.size());
  Arrival* const made = Arrival::make(*home_, announcement);
  if (made == nullptr) return false;
  made->peer = peer;
  made->word = word;
  if (announcement.has_front == 0) {
    if (large_messages_.fetch(
            {peer,
             {announcement.front_address, front_size, announcement.front, announcement.device},
             0,
             {made->front, front_size},
             &ends_->front,
             made}))
      return true;
    Arrival::free(*made);
    return false;
  }
  std::memcpy(made->front, arrival.data() + sizeof announcement, front_size);
  if (!made->read_sizes()) {
    Arrival::free(*made);
    return reject("announcement of more bytes than a message can have", front_size);
  }
  deliver(*made);
  return true;
}

void VectoredMessages::front_arrived(Arrival& arrival, Outcome outcome) noexcept {
  if (outcome != Outcome::ok) return Arrival::free(arrival);
  if (arrival.read_sizes()) return deliver(arrival);
  const std::uint64_t count = context_.counters.refused_messages.fetch_add(1, std::memory_order_relaxed) + 1;
  if (is_reported(count))
    context_.log.warn("refused what rank " + std::to_string(arrival.peer) +
                      " sent: bodies of more bytes than a message can have, " + std::to_string(count) +
                      " so far");
  arrival.release(nullptr, 0, 0);
}

void VectoredMessages::deliver(Arrival& arrival) noexcept {
  arrival.state = Arrival::State::offered;
  Message message;
  detail::MessageAccess::set_view(message, Operation::vectored_message, arrival.peer,
                                  static_cast<std::uint32_t>(arrival.word), arrival.head(),
                                  arrival.announcement.head_size, nullptr, 0);
  detail::MessageAccess::set_owner(message, &arrival, 0);
  Completion* const completion = context_.exposures.find(arrival.word);
  if (completion != nullptr) return completion->signal(message);
  const std::uint64_t count = context_.counters.refused_handles.fetch_add(1, std::memory_order_relaxed) + 1;
  if (is_reported(count))
    context_.log.warn("refused a message with bodies from rank " + std::to_string(arrival.peer) +
                      ": its handle is stale, withdrawn or forged (" + std::to_string(count) + " so far)");
}

bool VectoredMessages::receive(Message& message, std::span<const std::span<std::byte>> buffers,
                               Completion& completion, void* user_data) noexcept {
  Arrival& arrival = *static_cast<Arrival*>(detail::MessageAccess::owner(message));
  return arrival.home.visit([&](VectoredMessages& device) {
    for (std::size_t index = 0; index < buffers.size(); ++index) {
      ScatterPart& part = arrival.parts[index];
      part.buffer = buffers[index].data();
      part.room = buffers[index].size();
      if (part.room < part.size) arrival.is_short = true;
    }
    arrival.completion = &completion;
    arrival.user_data = user_data;
    arrival.state = Arrival::State::claimed;
    Message taken = std::move(message);
    detail::MessageAccess::disown(taken);
    device.add_decided(arrival);
  });
}

void VectoredMessages::add_decided(Arrival& arrival) noexcept {
  large_messages_.working().fetch_add(1, std::memory_order_relaxed);
  decided_.add(arrival);
  // Whoever decides need not be a thread that progresses.
  if (context_.port->has_parked()) context_.port->wake(~std::uint32_t{0});
}

Step VectoredMessages::begin(Arrival& arrival) noexcept {
  if (arrival.state == Arrival::State::dropped) {
    if (!large_messages_.decline(arrival.peer, arrival.bodies())) return Step::idle;
    Arrival::free(arrival);
    return Step::finished;
  }
  const bool begins = large_messages_.fetch({arrival.peer,
                                             arrival.bodies(),
                                             0,
                                             {static_cast<std::byte*>(nullptr), wanted_of(arrival.parts)},
                                             &ends_->bodies,
                                             &arrival,
                                             arrival.parts});
  return begins ? Step::finished : Step::idle;
}

void VectoredMessages::bodies_arrived(Arrival& arrival, Outcome outcome) noexcept {
  if (outcome == Outcome::ok || outcome == Outcome::truncated)
    outcome = arrival.is_short ? Outcome::truncated : Outcome::ok;
  arrival.state = Arrival::State::ended;
  Message message;
  detail::MessageAccess::set_view(message, Operation::bodies, arrival.peer,
                                  static_cast<std::uint32_t>(arrival.word), arrival.head(),
                                  arrival.announcement.head_size, nullptr, 0);
  detail::MessageAccess::set_owner(message, &arrival, 0);
  detail::MessageAccess::set_outcome(message, outcome);
  detail::MessageAccess::set_user_data(message, arrival.user_data);
  arrival.completion->signal(message);
}

std::size_t VectoredMessages::step() noexcept {
  return decided_.run(large_messages_.working(), [this](Arrival& arrival) { return begin(arrival); });
}

}  // namespace weft::core
