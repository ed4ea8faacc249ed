#include "parcel/ports/weft/weft_two_sided.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "parcel/connections/pending_posts.hpp"
#include "parcel/ports/weft/progress_threads.hpp"

namespace weft::parcel {

namespace {

constexpr std::uint16_t kHeaderEngine = 1;
constexpr std::size_t kStandingReceives = 16;
// Messages taken out of a queue by one poll.
constexpr std::size_t kAtOnce = 16;
// Queues and synchronizers do not end a sleep.
constexpr std::int64_t kLongestNap = 50'000;

struct PostOfWeft final : PostState {
  weft::Packet header;
  std::optional<weft::Synchronizer> synchronizer;
};

/// A receive of headers that is posted again after each.
struct StandingReceive {
  std::vector<std::byte> room;
  weft::Synchronizer synchronizer;
  weft::ReceiveHandle handle;
};

class WeftTwoSided final : public TwoSided {
 public:
  WeftTwoSided(std::unique_ptr<weft::Runtime> runtime, const RuntimeOptions& options)
      : runtime_(std::move(runtime)), options_(options), failures_(*this) {
    for (unsigned number = 0; number < options.devices; ++number)
      devices_.push_back(std::make_unique<weft::Device>(
          *runtime_, weft::DeviceOptions{.index = static_cast<std::int32_t>(number)}));
    for (auto& device : devices_) endpoints_.push_back(std::make_unique<weft::Endpoint>(*device));
    packet_bytes_ = endpoints_[0]->attributes().packet_bytes;
    if (options_.protocol == Protocol::sendrecv)
      header_engine_.emplace(*runtime_, weft::MatchingEngineOptions{.id = kHeaderEngine});
  }
  ~WeftTwoSided() override = default;

  int rank() const noexcept override { return runtime_->rank(); }
  int size() const noexcept override { return runtime_->size(); }
  int ranks_of_host() const noexcept override { return static_cast<int>(runtime_->local_ranks().size()); }
  void allgather(Bytes mine, std::span<std::byte> all) override { runtime_->allgather(mine, all); }
  bool has_failed(int rank) const noexcept override { return runtime_->has_failed(rank); }
  weft::Runtime* transport() noexcept override { return runtime_.get(); }

  TagPolicy tag_policy() const noexcept override { return TagPolicy::endless; }
  std::uint64_t tags() const noexcept override { return 0; }
  std::size_t header_bytes() const noexcept override { return packet_bytes_; }
  std::size_t followup_bytes() const noexcept override { return std::size_t{1} << 60; }

  void start(HeaderReceiver& receiver) override {
    receiver_ = &receiver;
    if (options_.protocol == Protocol::put_sendrecv) {
      remote_ = runtime_->expose(headers_, {.id = 1, .device = 0});
    } else {
      for (std::size_t number = 0; number < kStandingReceives; ++number) {
        standing_.push_back(std::make_unique<StandingReceive>());
        standing_.back()->room.resize(packet_bytes_);
        post_again(*standing_.back());
      }
    }
    runtime_->on_peer_failure(failures_);
    threads_ = make_progress_threads(devices_, options_.progress);
  }
  void stop() override {
    runtime_->forget_peer_failures(failures_);
    threads_.clear();
    if (options_.protocol == Protocol::put_sendrecv) headers_.withdraw();
    for (auto& each : standing_) endpoints_[0]->cancel(each->handle);
  }

  MutableBytes header_room(Poster& poster, std::size_t) override {
    PostOfWeft& post = post_of(poster);
    if (!post.header) post.header = devices_[0]->get_packet();
    return post.header ? MutableBytes(post.header.data(), packet_bytes_) : MutableBytes();
  }
  Posted send_header(int peer, Poster& poster, std::size_t size, unsigned worker) override {
    PostOfWeft& post = post_of(poster);
    const auto device = static_cast<std::uint8_t>(worker % devices_.size());
    const Status status =
        options_.protocol == Protocol::put_sendrecv
            ? endpoint_of(worker).post_am(peer, remote_.on_device(device), std::move(post.header), size, {})
            : endpoint_of(worker).post_send(
                  peer, 0, std::move(post.header), size,
                  {.policy = MatchingPolicy::any, .engine = kHeaderEngine, .device = device});
    return status.is_retry() ? Posted::retry : Posted::done;
  }
  Posted send(int peer, std::uint64_t tag, Bytes bytes, Poster& poster, unsigned worker) override {
    const auto device = static_cast<std::uint8_t>(worker % devices_.size());
    const Status status = endpoint_of(worker).post_send(
        peer, tag, bytes, {.completion = &completion_of(poster), .user_data = &poster, .device = device});
    return posted(status, poster);
  }
  Posted receive(int peer, std::uint64_t tag, MutableBytes room, Poster& poster, unsigned worker) override {
    const Status status = endpoint_of(worker).post_receive(
        peer, tag, room, {.completion = &completion_of(poster), .user_data = &poster});
    return posted(status, poster);
  }

  bool poll(unsigned worker) override {
    bool has_done = false;
    if (options_.progress == Progress::workers || options_.progress == Progress::both)
      has_done = progress(worker);
    has_done |= poll_headers(worker);
    if (options_.followup_completion == CompletionKind::synchronizer)
      return poll_synchronizers(worker) || has_done;
    weft::Message message;
    for (std::size_t count = 0; count < kAtOnce && followups_.pop(message); ++count) {
      has_done = true;
      static_cast<Poster*>(message.user_data())->ended(message.outcome() == Outcome::ok, worker);
    }
    return has_done;
  }
  void park(unsigned worker, Timeout longest) override {
    waking_.is_set.store(false, std::memory_order_relaxed);
    if (longest.count() <= 0 || longest.count() > kLongestNap) longest = Timeout::of_nanoseconds(kLongestNap);
    endpoint_of(worker).wait_for(waking_, longest);
  }
  void wake() noexcept override {
    waking_.is_set.store(true, std::memory_order_release);
    waking_.notify();
  }

 private:
  struct Waking final : weft::Completion {
    ~Waking() override { retire(); }
    void signal(weft::Message&) noexcept override { is_set.store(true, std::memory_order_release); }
    bool ready() const noexcept override { return is_set.load(std::memory_order_acquire); }
    void notify() noexcept { notify_waiters(); }
    std::atomic<bool> is_set{false};
  };
  struct Failures final : weft::Completion {
    explicit Failures(WeftTwoSided& who) noexcept : transport(who) {}
    ~Failures() override { retire(); }
    void signal(weft::Message& message) noexcept override { transport.receiver_->on_failure(message.peer()); }
    bool ready() const noexcept override { return true; }
    WeftTwoSided& transport;
  };

  [[nodiscard]] weft::Endpoint& endpoint_of(unsigned worker) noexcept {
    return *endpoints_[worker % endpoints_.size()];
  }
  static PostOfWeft& post_of(Poster& poster) {
    if (!poster.state) poster.state = std::make_unique<PostOfWeft>();
    return static_cast<PostOfWeft&>(*poster.state);
  }
  weft::Completion& completion_of(Poster& poster) {
    if (options_.followup_completion == CompletionKind::queue) return followups_;
    PostOfWeft& post = post_of(poster);
    if (!post.synchronizer) post.synchronizer.emplace();
    return *post.synchronizer;
  }
  Posted posted(const Status& status, Poster& poster) {
    if (status.is_retry()) return Posted::retry;
    // A queue tells it by itself, perhaps already.
    if (options_.followup_completion == CompletionKind::synchronizer) pending_.add(poster);
    return Posted::pending;
  }

  bool progress(unsigned worker) {
    bool has_done = endpoint_of(worker).progress() != 0;
    if (worker == 0 && endpoints_.size() > 1)  // devices without a worker of their own
      for (auto& endpoint : endpoints_) has_done |= endpoint->progress() != 0;
    return has_done;
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
    if (options_.header_completion == CompletionKind::synchronizer) return poll_standing(worker);
    bool has_done = false;
    weft::Message message;
    for (std::size_t count = 0; count < kAtOnce && headers_.pop(message); ++count) {
      // Cancelled, or all other ranks have gone.
      if (message.outcome() != Outcome::ok) continue;
      has_done = true;
      receiver_->on_header(message.bytes(), worker);
      if (message.operation() == Operation::receive)
        post_again(*static_cast<StandingReceive*>(message.user_data()));
    }
    return has_done;
  }
  bool poll_standing(unsigned worker) {
    const std::size_t number = next_standing_.fetch_add(1, std::memory_order_relaxed) % standing_.size();
    StandingReceive& standing = *standing_[number];
    if (!standing.synchronizer.test()) return false;
    // One thread takes it: who resets.
    if (standing_taken_[number].exchange(true, std::memory_order_acquire)) return false;
    bool has_done = false;
    if (standing.synchronizer.test()) {
      const weft::Message& message = standing.synchronizer.messages()[0];
      has_done = message.outcome() == Outcome::ok;
      if (has_done) receiver_->on_header(message.bytes(), worker);
      standing.synchronizer.reset();
      if (has_done) post_again(standing);
    }
    standing_taken_[number].store(false, std::memory_order_release);
    return has_done;
  }
  void post_again(StandingReceive& standing) {
    weft::Completion& completion = options_.header_completion == CompletionKind::queue
                                       ? static_cast<weft::Completion&>(headers_)
                                       : standing.synchronizer;
    // Records suffice for as many as there are, and wait in the backlog otherwise.
    static_cast<void>(endpoints_[0]->post_receive(0, 0, std::span(standing.room),
                                                  {.completion = &completion,
                                                   .user_data = &standing,
                                                   .policy = MatchingPolicy::any,
                                                   .engine = kHeaderEngine,
                                                   .may_retry = false,
                                                   .handle = &standing.handle}));
  }

  std::unique_ptr<weft::Runtime> runtime_;
  const RuntimeOptions options_;
  std::vector<std::unique_ptr<weft::Device>> devices_;
  std::vector<std::unique_ptr<weft::Endpoint>> endpoints_;
  std::size_t packet_bytes_ = 0;
  std::optional<weft::MatchingEngine> header_engine_;
  HeaderReceiver* receiver_ = nullptr;
  RemoteCompletion remote_;
  weft::CompletionQueue headers_;
  weft::CompletionQueue followups_;
  Waking waking_;
  Failures failures_;
  PendingPosts pending_;
  std::atomic<std::size_t> next_standing_{0};
  std::vector<std::unique_ptr<StandingReceive>> standing_;
  std::array<std::atomic<bool>, kStandingReceives> standing_taken_{};
  std::vector<std::unique_ptr<weft::ProgressThread>> threads_;
};

}  // namespace

std::unique_ptr<TwoSided> make_weft_two_sided(std::unique_ptr<weft::Runtime> runtime,
                                              const RuntimeOptions& options) {
  return std::make_unique<WeftTwoSided>(std::move(runtime), options);
}

}  // namespace weft::parcel
