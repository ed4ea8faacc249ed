// The receiver's half of multipart messages.
#include "core/completion/object_end.hpp"
#include "core/protocol/multipart/multipart.hpp"
#include "core/protocol/rendezvous/rendezvous.hpp"

#include <weft/detail/message_access.hpp>

#include <cstring>
#include <new>
#include <string>
#include <thread>

namespace weft::core {

/// The device as its arrivals know it. Arrivals may be with their receivers longer than the device exists:
/// the last of them deletes this object.
class MultipartMessages::Home {
 public:
  explicit Home(MultipartMessages& owner) noexcept : owner_(&owner) {}

  /// Calls `visit(device)` unless the device is closed; close() waits for the visit. Returns true when it was
  /// called.
  template <class Visit>
  bool visit(const Visit& visit) noexcept {
    // Either this load sees that the device is closed, or close() sees the visit.
    attached_.fetch_add(1, std::memory_order_seq_cst);
    MultipartMessages* const owner = owner_.load(std::memory_order_seq_cst);
    if (owner != nullptr) visit(*owner);
    attached_.fetch_sub(1, std::memory_order_release);
    return owner != nullptr;
  }
  void close() noexcept {
    owner_.store(nullptr, std::memory_order_seq_cst);
    while (attached_.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
  }
  void enter() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void leave() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  std::atomic<MultipartMessages*> owner_;
  std::atomic<std::uint32_t> attached_{0};    // threads in a visit
  std::atomic<std::uint32_t> references_{1};  // of the device and of all arrivals
};

/// A message of a peer, from its RTS until its receiver has destroyed it. Lies in one piece of memory, in
/// front of its own arrays.
struct MultipartMessages::Arrival final : detail::PartsOwner {
  enum class State : std::uint8_t {
    fetching,  // its front is in progress
    offered,   // the receiver has it
    claimed,   // its receiver wants the parts
    dropped,   // its receiver does not want the parts
    ended,     // the receiver has it again
  };
  Arrival* next = nullptr;
  Home& home;
  const std::size_t memory;  // size of this record and its arrays, in bytes
  const std::span<ScatterPart> parts;
  std::uint64_t* const sizes_begin;
  std::byte* const front;
  const std::size_t front_size;
  State state = State::fetching;
  bool is_short = false;  // a buffer is shorter than its part
  int peer = 0;
  std::uint64_t word = 0;  // handle and tag
  MultipartRts rts{};
  std::uint64_t total = 0;
  Completion* completion = nullptr;  // of the receiver of the parts
  void* user_data = nullptr;

  /// Returns nullptr when there is no memory now.
  [[nodiscard]] static Arrival* make(Home& home, const MultipartRts& rts) noexcept {
    const std::size_t count = rts.count;
    const std::size_t front_size = count * sizeof(PartEntry) + rts.head_size;
    const std::size_t own = (sizeof(Arrival) + 15) / 16 * 16;
    const std::size_t sizes = (count * sizeof(std::uint64_t) + 15) / 16 * 16;
    const std::size_t parts = (count * sizeof(ScatterPart) + 15) / 16 * 16;
    const std::size_t memory = own + sizes + parts + front_size;
    std::byte* const storage = detail::heap_payloads().allocate(memory);
    if (storage == nullptr) return nullptr;
    auto* const sizes_begin = new (storage + own) std::uint64_t[count];
    auto* const parts_begin = new (storage + own + sizes) ScatterPart[count];
    return new (storage) Arrival(home, rts, memory, {parts_begin, count}, sizes_begin,
                                 storage + own + sizes + parts, front_size);
  }
  static void free(Arrival& arrival) noexcept {
    Home& home = arrival.home;
    const std::size_t memory = arrival.memory;
    arrival.~Arrival();
    detail::heap_payloads().release(reinterpret_cast<std::byte*>(&arrival), memory, 0);
    home.leave();
  }

  [[nodiscard]] const std::byte* head() const noexcept { return front + parts.size() * sizeof(PartEntry); }
  /// Reads the sizes of the parts from the front. Returns false when they are invalid.
  [[nodiscard]] bool read_sizes() noexcept {
    for (std::size_t index = 0; index < parts.size(); ++index) {
      PartEntry entry;
      std::memcpy(&entry, front + index * sizeof entry, sizeof entry);
      if (entry.size > kLargestMessage || entry.size > kLargestMessage - total) return false;
      sizes_begin[index] = entry.size;
      parts[index] = {.address = entry.address, .start = total, .size = entry.size};
      total += entry.size;
    }
    return true;
  }
  /// The RTS of the parts as one large message.
  [[nodiscard]] Rts whole() const noexcept {
    std::uint64_t address = 0;  // any but 0: they can be read
    for (const ScatterPart& part : parts)
      if (part.size != 0) address = part.address;
    return {address, total, rts.parts, rts.device};
  }

  std::byte* allocate(std::size_t) noexcept override { return nullptr; }
  /// Called when the receiver destroys the message.
  void release(std::byte*, std::size_t, std::uint64_t) noexcept override {
    const bool is_added = state != State::ended && home.visit([this](MultipartMessages& device) {
      state = State::dropped;
      device.add_decided(*this);
    });
    if (!is_added) free(*this);
  }

 private:
  Arrival(Home& of, const MultipartRts& what, std::size_t bytes, std::span<ScatterPart> all,
          std::uint64_t* sizes, std::byte* begin, std::size_t size) noexcept
      : PartsOwner({sizes, all.size()}),
        home(of),
        memory(bytes),
        parts(all),
        sizes_begin(sizes),
        front(begin),
        front_size(size),
        rts(what) {
    home.enter();
  }
  ~Arrival() = default;
};

struct MultipartMessages::Ends {
  using End = void (MultipartMessages::*)(Arrival&, Outcome) noexcept;
  class Ended final : public Completion {
   public:
    Ended(MultipartMessages& owner, End end) noexcept : owner_(owner), end_(end) {}
    ~Ended() override { withdraw(); }
    void signal(Message& message) noexcept override {
      (owner_.*end_)(*static_cast<Arrival*>(message.user_data()), message.outcome());
    }
    [[nodiscard]] bool ready() const noexcept override { return true; }

   private:
    MultipartMessages& owner_;
    const End end_;
  };
  Ended front;
  Ended parts;
};

MultipartMessages::MultipartMessages(const Context& context, Rendezvous& large_messages)
    : context_(context),
      rendezvous_(large_messages),
      home_(new Home(*this)),
      ends_(
          new Ends{{*this, &MultipartMessages::front_arrived}, {*this, &MultipartMessages::parts_arrived}}) {}

MultipartMessages::~MultipartMessages() {
  home_->close();
  decided_.run(rendezvous_.working(), [](Arrival& arrival) {
    Arrival::free(arrival);
    return Step::finished;
  });
  const auto free = [](void* arrival) { Arrival::free(*static_cast<Arrival*>(arrival)); };
  rendezvous_.receiver().transfers().visit(ends_->front, free);
  rendezvous_.receiver().transfers().visit(ends_->parts, free);
  home_->leave();
}

bool MultipartMessages::on_rts(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept {
  const int peer = arrival.peer();
  const auto reject = [&](const char* what, std::uint64_t value) {
    sink.reject(peer, what, value);
    return true;
  };
  MultipartRts rts{};
  if (arrival.size() < sizeof rts) return reject("RTS of parts of a wrong length", arrival.size());
  std::memcpy(&rts, arrival.data(), sizeof rts);
  if (rts.count == 0 || rts.count > kMostParts)
    return reject("RTS of an impossible number of parts", rts.count);
  if (rts.head_size > kLargestHead) return reject("RTS of parts with too long a head", rts.head_size);
  if (rts.device >= detail::DevicePath::kMaxDevices)
    return reject("RTS of parts from a device out of range", rts.device);
  const std::size_t front_size = rts.count * sizeof(PartEntry) + rts.head_size;
  if (rts.has_front > 1 || arrival.size() - sizeof rts != (rts.has_front != 0 ? front_size : 0))
    return reject("RTS of parts of a wrong length", arrival.size());
  Arrival* const made = Arrival::make(*home_, rts);
  if (made == nullptr) return false;
  made->peer = peer;
  made->word = word;
  if (rts.has_front == 0) {
    if (rendezvous_.receiver().fetch({peer,
                                      {rts.front_address, front_size, rts.front, rts.device},
                                      0,
                                      {made->front, front_size},
                                      &ends_->front,
                                      made}))
      return true;
    Arrival::free(*made);
    return false;
  }
  std::memcpy(made->front, arrival.data() + sizeof rts, front_size);
  if (!made->read_sizes()) {
    Arrival::free(*made);
    return reject("RTS of more bytes than a message can have", front_size);
  }
  deliver(*made);
  return true;
}

void MultipartMessages::front_arrived(Arrival& arrival, Outcome outcome) noexcept {
  if (outcome != Outcome::ok) return Arrival::free(arrival);
  if (arrival.read_sizes()) return deliver(arrival);
  const std::uint64_t count = context_.counters.refused_messages.fetch_add(1, std::memory_order_relaxed) + 1;
  if (is_reported(count))
    context_.log.warn("refused what rank " + std::to_string(arrival.peer) +
                      " sent: parts of more bytes than a message can have, " + std::to_string(count) +
                      " so far");
  arrival.release(nullptr, 0, 0);
}

void MultipartMessages::deliver(Arrival& arrival) noexcept {
  arrival.state = Arrival::State::offered;
  Message message;
  detail::MessageAccess::set_view(message, Operation::multipart_message, arrival.peer,
                                  static_cast<std::uint32_t>(arrival.word), arrival.head(),
                                  arrival.rts.head_size, nullptr, 0);
  detail::MessageAccess::set_owner(message, &arrival, 0);
  detail::MessageAccess::set_came_by(message, arrival.word, context_.device);
  Completion* const completion = context_.exposures.find(arrival.word);
  if (completion != nullptr) return completion->signal(message);
  if (context_.exposures.drops_late(arrival.word)) return;
  const std::uint64_t count = context_.counters.refused_handles.fetch_add(1, std::memory_order_relaxed) + 1;
  if (is_reported(count))
    context_.log.warn("refused a message with parts from rank " + std::to_string(arrival.peer) +
                      ": its handle is stale, withdrawn or forged (" + std::to_string(count) + " so far)");
}

bool MultipartMessages::receive(Message& message, std::span<const std::span<std::byte>> buffers,
                                Completion& completion, void* user_data) noexcept {
  Arrival& arrival = *static_cast<Arrival*>(detail::MessageAccess::owner(message));
  return arrival.home.visit([&](MultipartMessages& device) {
    for (std::size_t index = 0; index < buffers.size(); ++index) {
      ScatterPart& part = arrival.parts[index];
      part.buffer = buffers[index].data();
      part.room = buffers[index].size();
      if (part.room < part.size) arrival.is_short = true;
    }
    arrival.completion = &completion;
    detail::NamedCompletion::note_named_by(&completion, device.context_.device_number);
    arrival.user_data = user_data;
    arrival.state = Arrival::State::claimed;
    device.claimed_.fetch_add(1, std::memory_order_relaxed);
    Message taken = std::move(message);
    detail::MessageAccess::disown(taken);
    device.add_decided(arrival);
  });
}

void MultipartMessages::add_decided(Arrival& arrival) noexcept {
  rendezvous_.working().fetch_add(1, std::memory_order_relaxed);
  decided_.add(arrival);
  // The deciding thread need not be one that progresses the device.
  if (context_.port->has_parked()) context_.port->wake(~std::uint32_t{0});
}

Step MultipartMessages::begin(Arrival& arrival) noexcept {
  if (arrival.state == Arrival::State::dropped) {
    if (!rendezvous_.receiver().decline(arrival.peer, arrival.whole())) return Step::idle;
    Arrival::free(arrival);
    return Step::finished;
  }
  const bool begins =
      rendezvous_.receiver().fetch({arrival.peer,
                                    arrival.whole(),
                                    0,
                                    {static_cast<std::byte*>(nullptr), wanted_of(arrival.parts)},
                                    &ends_->parts,
                                    &arrival,
                                    arrival.parts});
  return begins ? Step::finished : Step::idle;
}

void MultipartMessages::parts_arrived(Arrival& arrival, Outcome outcome) noexcept {
  if (outcome == Outcome::ok || outcome == Outcome::truncated)
    outcome = arrival.is_short ? Outcome::truncated : Outcome::ok;
  arrival.state = Arrival::State::ended;
  Message message;
  detail::MessageAccess::set_view(message, Operation::parts, arrival.peer,
                                  static_cast<std::uint32_t>(arrival.word), arrival.head(),
                                  arrival.rts.head_size, nullptr, 0);
  detail::MessageAccess::set_owner(message, &arrival, 0);
  detail::MessageAccess::set_device(message, context_.device);
  detail::MessageAccess::set_outcome(message, outcome);
  detail::MessageAccess::set_user_data(message, arrival.user_data);
  claimed_.fetch_sub(1, std::memory_order_relaxed);
  arrival.completion->signal(message);
}

void MultipartMessages::forget_object(const Completion& object, DetachedOperations& instead) noexcept {
  if (claimed_.load(std::memory_order_relaxed) == 0) return;
  const auto give = [&](Arrival& arrival) {
    if (arrival.state != Arrival::State::claimed || arrival.completion != &object) return;
    instead.add();
    arrival.completion = &instead;
  };
  decided_.for_each(give);
  rendezvous_.receiver().transfers().visit(ends_->parts,
                                           [&](void* arrival) { give(*static_cast<Arrival*>(arrival)); });
}

std::size_t MultipartMessages::step() noexcept {
  return decided_.run(rendezvous_.working(), [this](Arrival& arrival) { return begin(arrival); });
}

}  // namespace weft::core
