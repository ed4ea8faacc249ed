// Small messages are active messages, copied when they are posted. A message with chunks that fits a packet
// is packed into one; a longer one is a multipart message: its head comes with the sizes of the chunks, the
// receiver decodes it, and the chunks go to where it has put the arrays.
#include "parcel/ports/weft/weft_port.hpp"

#include <weft/weft.hpp>

#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "parcel/devices/port_devices.hpp"
#include "parcel/ports/weft/packed_message.hpp"
#include "parcel/ports/weft/retained_messages.hpp"

namespace weft::parcel {

namespace {

/// What an active message's tag says of it.
enum Form : std::uint32_t {
  kParcels,  ///< parcels without chunks
  kPacked,   ///< head and chunks in one packet, see packed_message.hpp
  kHeadOf,   ///< number(8) of a message whose chunks come in a multipart message, then the head
};
/// The head of a multipart message begins with this: 0, and the head follows, or the number of kHeadOf.
using HeadNumber = std::uint64_t;

struct OwnedMessage final : IncomingMessage {
  weft::Message message;
};

class WeftPort final : public Parcelport {
 public:
  WeftPort(std::unique_ptr<weft::Runtime> runtime, const RuntimeOptions& options)
      : devices_(std::move(runtime), options),
        packet_bytes_(devices_.packet_bytes()),
        arrivals_(*this),
        sorted_(*this),
        sent_(*this),
        parts_(*this),
        failures_(*this) {}
  ~WeftPort() override { stop(); }

  int rank() const noexcept override { return devices_.runtime().rank(); }
  int size() const noexcept override { return devices_.runtime().size(); }
  int ranks_of_host() const noexcept override { return devices_.ranks_of_host(); }
  void allgather(Bytes mine, std::span<std::byte> all) override { devices_.runtime().allgather(mine, all); }
  PortLimits limits() const noexcept override { return {packet_bytes_, packet_bytes_}; }
  bool has_failed(int rank) const noexcept override { return devices_.runtime().has_failed(rank); }
  weft::Runtime* transport() noexcept override { return &devices_.runtime(); }

  void start(Receiver& receiver, unsigned workers) override {
    receiver_ = &receiver;
    remote_ = devices_.runtime().expose(arrivals(), {.id = 1, .device = 0});
    devices_.runtime().on_peer_failure(failures_);
    devices_.start(workers);
  }
  void stop() override {
    if (receiver_ == nullptr) return;
    devices_.runtime().forget_peer_failures(failures_);
    devices_.first().wait_until([this] {
      take_what_threads_have_left();
      send_heads_left(0);
      return messages_under_way_.load(std::memory_order_acquire) == 0;
    });
    devices_.stop();
    arrivals().withdraw();
    retained_->move_out();
    receiver_ = nullptr;
  }

  bool try_send_small(int peer, Bytes parcels, unsigned worker) override {
    return devices_.of(worker).post_am(peer, remote_of(worker), parcels, {.tag = kParcels}).is_accepted();
  }

  bool try_send(std::unique_ptr<OutgoingMessage>& message, unsigned worker) override {
    if (!message->chunks.empty() && packed_size(*message) <= packet_bytes_)
      return try_send_packed(message, worker);
    if (message->chunks.empty()) return try_send_long(message, worker);
    return try_send_multipart(message, worker);
  }

  bool poll(unsigned worker) override {
    const bool has_taken = devices_.have_threads() && take_what_threads_have_left();
    if (heads_waiting_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      send_heads_left(worker);
    return devices_.progress(worker) || has_taken;
  }
  std::uint64_t wakes() const noexcept override { return devices_.wakes(); }
  void park(unsigned worker, Timeout longest, std::uint64_t seen) override {
    devices_.park(worker, longest, seen, false);
  }
  void wake() noexcept override { devices_.end_sleep(); }

 private:
  struct Arrivals final : weft::Completion {
    explicit Arrivals(WeftPort& who) noexcept : port(who) {}
    ~Arrivals() override { retire(); }
    void signal(weft::Message& message) noexcept override { port.arrive(message); }
    void signal_batch(weft::Arrivals& arrivals) noexcept override {
      arrivals.for_each([this](weft::Message& message) { port.arrive(message); });
    }
    bool ready() const noexcept override { return true; }
    WeftPort& port;
  };
  /// For progress threads.
  struct Sorted final : weft::Completion {
    explicit Sorted(WeftPort& who) noexcept : port(who) {}
    ~Sorted() override { retire(); }
    void signal(weft::Message& message) noexcept override { port.sort(message); }
    bool ready() const noexcept override { return true; }
    WeftPort& port;
  };
  struct Sent final : weft::Completion {
    explicit Sent(WeftPort& who) noexcept : port(who) {}
    ~Sent() override { retire(); }
    void signal(weft::Message& message) noexcept override { port.message_sent(message); }
    bool ready() const noexcept override { return true; }
    WeftPort& port;
  };
  struct Parts final : weft::Completion {
    explicit Parts(WeftPort& who) noexcept : port(who) {}
    ~Parts() override { retire(); }
    void signal(weft::Message& message) noexcept override { port.parts_completed(message); }
    bool ready() const noexcept override { return true; }
    WeftPort& port;
  };
  /// A message whose posts, one or two, are under way.
  struct Part {
    std::unique_ptr<OutgoingMessage> message;
    std::atomic<int> posts{1};
    std::atomic<bool> has_failed{false};
    detail::ByteBuffer head;  // with its number before it
  };

  [[nodiscard]] RemoteCompletion remote_of(unsigned worker) const noexcept {
    return remote_.on_device(devices_.index_of(worker));
  }

  bool try_send_packed(std::unique_ptr<OutgoingMessage>& message, unsigned worker) {
    weft::Packet packet = devices_.get_packet();
    if (!packet) return false;
    const std::size_t size = packed_size(*message);
    pack(*message, packet.data());
    if (devices_.of(worker)
            .post_am(message->peer, remote_of(worker), std::move(packet), size, {.tag = kPacked})
            .is_retry())
      return false;
    receiver_->sent(std::move(message), true);
    return true;
  }

  bool try_send_long(std::unique_ptr<OutgoingMessage>& message, unsigned worker) {
    auto part = std::make_unique<Part>();
    const Bytes bytes = message->head.bytes();
    const int peer = message->peer;
    part->message = std::move(message);
    messages_under_way_.fetch_add(1, std::memory_order_relaxed);
    if (devices_.of(worker)
            .post_am(peer, remote_of(worker), bytes,
                     {.completion = &sent_, .user_data = part.get(), .tag = kParcels})
            .is_retry()) {
      messages_under_way_.fetch_sub(1, std::memory_order_relaxed);
      message = std::move(part->message);
      return false;
    }
    static_cast<void>(part.release());
    return true;
  }

  bool try_send_multipart(std::unique_ptr<OutgoingMessage>& message, unsigned worker) {
    auto part = std::make_unique<Part>();
    weft::Endpoint& endpoint = devices_.of(worker);
    const bool is_long = message->head.size() + sizeof(HeadNumber) > packet_bytes_;
    const HeadNumber number = is_long ? last_number_.fetch_add(1, std::memory_order_relaxed) + 1 : 0;
    part->head.append(weft::bytes_of(number));
    part->head.append(message->head.bytes());
    const int peer = message->peer;
    const Bytes head = part->head.bytes();
    const std::vector<Bytes>& chunks = message->chunks;
    part->message = std::move(message);
    part->posts = is_long ? 2 : 1;
    messages_under_way_.fetch_add(1, std::memory_order_relaxed);
    const Status status =
        endpoint.post_am(peer, remote_of(worker), is_long ? head.first(sizeof number) : head, chunks,
                         {.completion = &sent_, .user_data = part.get()});
    if (status.is_retry()) {
      messages_under_way_.fetch_sub(1, std::memory_order_relaxed);
      message = std::move(part->message);
      return false;
    }
    Part* const posted = part.release();
    // The chunks are announced: the head must follow, now or when there is room.
    if (is_long && !try_send_head(peer, *posted, worker)) {
      const std::lock_guard lock(heads_mutex_);
      heads_left_.emplace_back(peer, posted);
      heads_waiting_.store(heads_left_.size(), std::memory_order_relaxed);
    }
    return true;
  }
  bool try_send_head(int peer, Part& part, unsigned worker) {
    return !devices_.of(worker)
                .post_am(peer, remote_of(worker), part.head.bytes(),
                         {.completion = &sent_, .user_data = &part, .tag = kHeadOf})
                .is_retry();
  }
  void send_heads_left(unsigned worker) {
    const std::unique_lock lock(heads_mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return;
    while (!heads_left_.empty() &&
           try_send_head(heads_left_.front().first, *heads_left_.front().second, worker))
      heads_left_.pop_front();
    heads_waiting_.store(heads_left_.size(), std::memory_order_relaxed);
  }

  void message_sent(const weft::Message& message) noexcept {
    auto* const part = static_cast<Part*>(message.user_data());
    if (message.outcome() != Outcome::ok) part->has_failed.store(true, std::memory_order_relaxed);
    if (part->posts.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    receiver_->sent(std::move(part->message), !part->has_failed.load(std::memory_order_relaxed));
    delete part;
    messages_under_way_.fetch_sub(1, std::memory_order_release);
  }

  friend class FailureSignal<WeftPort>;
  void peer_failed(int rank) noexcept {
    {
      const std::lock_guard lock(halves_mutex_);
      std::erase_if(halves_, [rank](const auto& half) { return half.first.first == rank; });
    }
    receiver_->failed(rank);
  }

  void parts_completed(const weft::Message& message) noexcept {
    std::unique_ptr<IncomingMessage> whole(static_cast<IncomingMessage*>(message.user_data()));
    devices_.end_sleep();
    if (message.outcome() == Outcome::ok)
      receiver_->arrived(std::move(whole));
    else
      receiver_->lost(std::move(whole));
  }

  // Workers that progress handle messages where they come. Progress threads do so with what concerns arrays,
  // which thus land and leave while all workers compute; they leave parcels in a queue, whose batches are for
  // the workers.
  [[nodiscard]] weft::Completion& arrivals() noexcept {
    return devices_.have_threads() ? static_cast<weft::Completion&>(sorted_) : arrivals_;
  }
  bool take_what_threads_have_left() noexcept {
    bool has_done = false;
    weft::Message message;
    for (std::size_t count = 0; count < kAtOnce && arrivals_left_.pop(message); ++count, has_done = true)
      arrive(message);
    return has_done;
  }
  void sort(weft::Message& message) noexcept {
    const bool has_arrays = message.operation() == Operation::multipart_message || message.tag() != kParcels;
    if (has_arrays)
      arrive(message);
    else
      arrivals_left_.signal(message);
  }

  void arrive(weft::Message& message) noexcept {
    devices_.end_sleep_once();
    if (message.operation() == Operation::multipart_message) {
      arrive_multipart(message);
    } else if (message.tag() == kPacked) {
      arrive_packed(message);
    } else if (message.tag() == kHeadOf) {
      arrive_head(message);
    } else if (message.size() <= kCopied) {
      receiver_->on_small(message.peer(), message.bytes());
    } else {
      receiver_->arrived(keep(message, 0));
    }
  }

  /// A message whose head begins at `offset`.
  [[nodiscard]] static std::unique_ptr<IncomingMessage> keep(weft::Message& message, std::size_t offset) {
    auto kept = std::make_unique<OwnedMessage>();
    kept->source = message.peer();
    kept->message = message.take();
    kept->head = kept->message.bytes().subspan(offset);
    return kept;
  }

  void arrive_packed(weft::Message& message) noexcept {
    auto whole = std::make_unique<IncomingMessage>();
    whole->source = message.peer();
    if (const char* const wrong = unpack(message.bytes(), *whole)) return drop(message, wrong);
    MessageToRetain keeper(retained_);
    whole->keeper = &keeper;
    if (!receiver_->place(*whole)) return;
    for (std::size_t index = 0; index < whole->landings.size(); ++index)
      if (const MutableBytes landing = whole->landings[index]; !landing.empty())
        std::memcpy(landing.data(), whole->chunk_addresses[index], landing.size());
    keeper.retain_in(message);
    whole->keeper = nullptr;
    receiver_->arrived(std::move(whole));
  }

  void arrive_multipart(weft::Message& message) noexcept {
    HeadNumber number = 0;
    if (message.size() < sizeof number) return drop(message, "its head is shorter than 8 bytes");
    std::memcpy(&number, message.data(), sizeof number);
    if (number == 0) {
      auto head = std::make_unique<IncomingMessage>();
      head->head = message.bytes().subspan(sizeof number);
      fetch(std::move(head), std::move(message));
      return;
    }
    meet({message.peer(), number}, nullptr, &message);
  }
  void arrive_head(weft::Message& message) noexcept {
    HeadNumber number = 0;
    if (message.size() < sizeof number) return drop(message, "its head is shorter than 8 bytes");
    std::memcpy(&number, message.data(), sizeof number);
    meet({message.peer(), number}, keep(message, sizeof number), nullptr);
  }
  /// Head and chunks of a message come separately; whoever comes second goes on.
  void meet(std::pair<int, HeadNumber> name, std::unique_ptr<IncomingMessage> head,
            weft::Message* chunks) noexcept {
    std::unique_lock lock(halves_mutex_);
    Half& half = halves_[name];
    if (head) half.head = std::move(head);
    if (chunks != nullptr) {
      half.chunks = std::move(*chunks);
      half.has_chunks = true;
    }
    if (!half.head || !half.has_chunks) return;
    Half whole = std::move(half);
    halves_.erase(name);
    lock.unlock();
    fetch(std::move(whole.head), std::move(whole.chunks));
  }
  void fetch(std::unique_ptr<IncomingMessage> message, weft::Message&& chunks) noexcept {
    message->source = chunks.peer();
    message->chunk_sizes.assign(chunks.part_sizes().begin(), chunks.part_sizes().end());
    if (!receiver_->place(*message)) return;  // the chunks are refused when `chunks` is destroyed
    IncomingMessage& accepted = *message;
    devices_.first().receive_parts(std::move(chunks), accepted.landings, parts_, message.release());
  }
  void drop(const weft::Message& message, const char* why) noexcept {
    receiver_->dropped(message.peer(), why);
  }

  // Shorter messages are copied out of where they have arrived.
  static constexpr std::size_t kCopied = 2048;
  // Messages of one kind that are taken out of a queue by one poll.
  static constexpr std::size_t kAtOnce = 64;
  struct Half {
    std::unique_ptr<IncomingMessage> head;
    weft::Message chunks;
    bool has_chunks = false;
  };

  PortDevices devices_;
  const std::shared_ptr<RetainedMessages> retained_ = std::make_shared<RetainedMessages>();
  const std::size_t packet_bytes_;
  Receiver* receiver_ = nullptr;
  RemoteCompletion remote_;
  Arrivals arrivals_;
  Sorted sorted_;
  Sent sent_;
  Parts parts_;
  FailureSignal<WeftPort> failures_;
  weft::CompletionQueue arrivals_left_;
  std::atomic<std::uint64_t> messages_under_way_{0};
  std::atomic<std::uint64_t> last_number_{0};
  std::mutex halves_mutex_;
  std::map<std::pair<int, HeadNumber>, Half> halves_;
  std::mutex heads_mutex_;
  std::deque<std::pair<int, Part*>> heads_left_;
  std::atomic<std::size_t> heads_waiting_{0};
};

}  // namespace

std::unique_ptr<Parcelport> make_weft_port(std::unique_ptr<weft::Runtime> runtime,
                                           const RuntimeOptions& options) {
  return std::make_unique<WeftPort>(std::move(runtime), options);
}

}  // namespace weft::parcel
