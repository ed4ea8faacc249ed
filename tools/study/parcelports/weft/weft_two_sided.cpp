#include "study/parcelports/weft/weft_two_sided.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parcel/devices/port_devices.hpp"
#include "study/parcelports/connections/pending_posts.hpp"

namespace weft::parcel::ports {

namespace {

constexpr std::uint16_t kHeaderEngine = 1;
constexpr std::size_t kStandingReceives = 16;
// Messages taken out of a queue by one poll.
constexpr std::size_t kAtOnce = 16;

struct PostOfWeft final : PostState {
  weft::Packet header;
  std::optional<weft::Synchronizer> synchronizer;
};

/// A receive of headers that is posted again after each.
struct StandingReceive {
  std::vector<std::byte> room;
  weft::Synchronizer synchronizer;
  weft::ReceiveHandle handle;
  std::atomic<bool> is_taken{false};  // while a thread looks at what has come
};

/// What tells that an operation has ended.
enum class CompletionKind : std::uint8_t { queue, synchronizer };

CompletionKind completion_kind(const PortSetup& setup, std::string_view option) {
  return setup.choice(option, {"queue", "synchronizer"}) == 0 ? CompletionKind::queue
                                                              : CompletionKind::synchronizer;
}
std::string text_of(CompletionKind kind) { return kind == CompletionKind::queue ? "queue" : "synchronizer"; }

struct Variant {
  HeaderBy header;
  CompletionKind header_completion;
  CompletionKind followup_completion;
  bool has_followup_devices;  // what follows a header goes over as many devices of its own
};

class WeftTwoSided final : public TwoSided {
 public:
  WeftTwoSided(std::unique_ptr<weft::Runtime> runtime, const RuntimeOptions& options, const Variant& variant)
      : devices_(std::move(runtime), options, variant.has_followup_devices ? options.devices : 0),
        variant_(variant),
        packet_bytes_(devices_.packet_bytes()),
        failures_(*this) {
    if (variant_.header == HeaderBy::send)
      header_engine_.emplace(devices_.runtime(), weft::MatchingEngineOptions{.id = kHeaderEngine});
  }
  ~WeftTwoSided() override = default;

  int rank() const noexcept override { return devices_.runtime().rank(); }
  int size() const noexcept override { return devices_.runtime().size(); }
  int ranks_of_host() const noexcept override { return devices_.ranks_of_host(); }
  void allgather(Bytes mine, std::span<std::byte> all) override { devices_.runtime().allgather(mine, all); }
  bool has_failed(int rank) const noexcept override { return devices_.runtime().has_failed(rank); }
  weft::Runtime* transport() noexcept override { return &devices_.runtime(); }
  std::string description() const override {
    return "header_completion=" + text_of(variant_.header_completion) +
           ",followup_completion=" + text_of(variant_.followup_completion) +
           ",followup_devices=" + (variant_.has_followup_devices ? "own" : "shared");
  }

  TagPolicy tag_policy() const noexcept override { return TagPolicy::endless; }
  std::uint64_t tags() const noexcept override { return 0; }
  std::size_t header_bytes() const noexcept override { return packet_bytes_; }
  std::size_t followup_bytes() const noexcept override { return std::size_t{1} << 60; }

  void start(HeaderReceiver& receiver, unsigned workers) override {
    receiver_ = &receiver;
    if (variant_.header == HeaderBy::active_message) {
      remote_ = devices_.runtime().expose(headers_, {.id = 1, .device = 0});
    } else {
      for (std::size_t number = 0; number < kStandingReceives; ++number) {
        standing_.push_back(std::make_unique<StandingReceive>());
        standing_.back()->room.resize(packet_bytes_);
        post_again(*standing_.back());
      }
    }
    devices_.runtime().on_peer_failure(failures_);
    devices_.start(workers);
  }
  void stop() override {
    devices_.runtime().forget_peer_failures(failures_);
    devices_.stop();
    if (variant_.header == HeaderBy::active_message) headers_.withdraw();
    for (auto& each : standing_) devices_.first().cancel(each->handle);
  }

  MutableBytes header_room(Poster& poster, std::size_t) override {
    PostOfWeft& post = post_of(poster);
    if (!post.header) post.header = devices_.get_packet();
    return post.header ? MutableBytes(post.header.data(), packet_bytes_) : MutableBytes();
  }
  Posted send_header(int peer, Poster& poster, std::size_t size, unsigned worker) override {
    PostOfWeft& post = post_of(poster);
    const auto device = devices_.index_of(worker);
    const Status status =
        variant_.header == HeaderBy::active_message
            ? devices_.of(worker).post_am(peer, remote_.on_device(device), std::move(post.header), size, {})
            : devices_.of(worker).post_send(
                  peer, 0, std::move(post.header), size,
                  {.policy = MatchingPolicy::any, .engine = kHeaderEngine, .device = device});
    return status.is_retry() ? Posted::retry : Posted::done;
  }
  Posted send(int peer, std::uint64_t tag, Bytes bytes, Poster& poster, unsigned worker) override {
    const auto device = devices_.followup_index_of(worker);
    const Status status = devices_.followups_of(worker).post_send(
        peer, tag, bytes, {.completion = &completion_of(poster), .user_data = &poster, .device = device});
    return posted(status, poster);
  }
  Posted receive(int peer, std::uint64_t tag, MutableBytes room, Poster& poster, unsigned worker) override {
    const Status status = devices_.followups_of(worker).post_receive(
        peer, tag, room, {.completion = &completion_of(poster), .user_data = &poster});
    return posted(status, poster);
  }

  bool poll(unsigned worker) override {
    bool has_done = devices_.progress(worker);
    has_done |= poll_headers(worker);
    if (variant_.followup_completion == CompletionKind::synchronizer)
      return poll_synchronizers(worker) || has_done;
    weft::Message message;
    for (std::size_t count = 0; count < kAtOnce && followups_.pop(message); ++count) {
      has_done = true;
      static_cast<Poster*>(message.user_data())->ended(message.outcome() == Outcome::ok, worker);
    }
    return has_done;
  }
  // Neither queues nor synchronizers end a sleep.
  std::uint64_t wakes() const noexcept override { return devices_.wakes(); }
  void park(unsigned worker, Timeout longest, std::uint64_t seen) override {
    devices_.park(worker, longest, seen, true);
  }
  void wake() noexcept override { devices_.end_sleep(); }

 private:
  friend class FailureSignal<WeftTwoSided>;
  void peer_failed(int rank) noexcept { receiver_->on_failure(rank); }

  static PostOfWeft& post_of(Poster& poster) {
    if (!poster.state) poster.state = std::make_unique<PostOfWeft>();
    return static_cast<PostOfWeft&>(*poster.state);
  }
  weft::Completion& completion_of(Poster& poster) {
    if (variant_.followup_completion == CompletionKind::queue) return followups_;
    PostOfWeft& post = post_of(poster);
    if (!post.synchronizer) post.synchronizer.emplace();
    return *post.synchronizer;
  }
  Posted posted(const Status& status, Poster& poster) {
    if (status.is_retry()) return Posted::retry;
    // A queue tells it by itself, perhaps already.
    if (variant_.followup_completion == CompletionKind::synchronizer) pending_.add(poster);
    return Posted::pending;
  }

  bool poll_synchronizers(unsigned worker) {
    bool is_ok = true;
    return pending_.poll(
        [&is_ok](Poster& poster) {
          weft::Synchronizer& synchronizer = *post_of(poster).synchronizer;
          if (!synchronizer.test()) return false;
          is_ok = synchronizer.messages()[0].outcome() == Outcome::ok;
          synchronizer.reset();
          return true;
        },
        [&is_ok, worker](Poster& poster) { poster.ended(is_ok, worker); });
  }

  bool poll_headers(unsigned worker) {
    if (variant_.header_completion == CompletionKind::synchronizer) return poll_standing(worker);
    bool has_done = false;
    weft::Message message;
    for (std::size_t count = 0; count < kAtOnce && headers_.pop(message); ++count) {
      const bool is_receive = message.operation() == Operation::receive;
      has_done |= take_header(message, worker);
      if (is_receive && is_to_resume(message))
        post_again(*static_cast<StandingReceive*>(message.user_data()));
    }
    return has_done;
  }
  /// An empty poll only reads.
  bool poll_standing(unsigned worker) {
    bool has_done = false;
    for (auto& standing : standing_) {
      if (!standing->synchronizer.test()) continue;
      // One thread takes it: who resets.
      if (standing->is_taken.exchange(true, std::memory_order_acquire)) continue;
      if (standing->synchronizer.test()) {
        const weft::Message& message = standing->synchronizer.messages()[0];
        has_done |= take_header(message, worker);
        const bool goes_on = is_to_resume(message);
        standing->synchronizer.reset();
        if (goes_on) post_again(*standing);
      }
      standing->is_taken.store(false, std::memory_order_release);
    }
    return has_done;
  }
  bool take_header(const weft::Message& message, unsigned worker) {
    if (message.outcome() != Outcome::ok && message.outcome() != Outcome::truncated) return false;
    // What was cut, by ranks with larger packets, is refused as a header that is too short.
    receiver_->on_header(message.peer(), message.bytes(), worker);
    return true;
  }
  /// Not when the receive was cancelled, or all other ranks have gone.
  [[nodiscard]] static bool is_to_resume(const weft::Message& message) noexcept {
    return message.outcome() == Outcome::ok || message.outcome() == Outcome::truncated;
  }
  void post_again(StandingReceive& standing) {
    weft::Completion& completion = variant_.header_completion == CompletionKind::queue
                                       ? static_cast<weft::Completion&>(headers_)
                                       : standing.synchronizer;
    // Records suffice for as many as there are, and wait in the backlog otherwise.
    static_cast<void>(devices_.first().post_receive(0, 0, std::span(standing.room),
                                                    {.completion = &completion,
                                                     .user_data = &standing,
                                                     .policy = MatchingPolicy::any,
                                                     .engine = kHeaderEngine,
                                                     .may_retry = false,
                                                     .handle = &standing.handle}));
  }

  PortDevices devices_;
  const Variant variant_;
  const std::size_t packet_bytes_;
  std::optional<weft::MatchingEngine> header_engine_;
  HeaderReceiver* receiver_ = nullptr;
  RemoteCompletion remote_;
  weft::CompletionQueue headers_;
  weft::CompletionQueue followups_;
  FailureSignal<WeftTwoSided> failures_;
  PendingPosts pending_;
  std::vector<std::unique_ptr<StandingReceive>> standing_;
};

}  // namespace

std::unique_ptr<TwoSided> make_weft_two_sided(PortSetup& setup, HeaderBy header) {
  const Variant variant{
      header, header == HeaderBy::send ? completion_kind(setup, "header_completion") : CompletionKind::queue,
      completion_kind(setup, "followup_completion"),
      setup.choice("followup_devices", {"shared", "own"}) == 1};
  return std::make_unique<WeftTwoSided>(setup.open_transport(), setup.options(), variant);
}

}  // namespace weft::parcel::ports
