// libfabric by itself: reliable datagram endpoints of one provider; tagged messages, messages, puts and gets.
#include "perf/plugins/ofi_port.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <type_traits>

#include "perf/measure/idle_strategy.hpp"
#include "perf/plugins/plugin_entry.hpp"

namespace weft::tools::perf {
namespace {

/// Any thread that reads a shared queue finds completions of other threads, so that counts are atomic then.
template <bool kShared>
class OfiTransport {
  using Count = std::conditional_t<kShared, std::atomic<std::size_t>, std::size_t>;

 public:
  static constexpr bool kHasMatching = true;
  static constexpr bool kHasAccess = true;
  static constexpr bool kHasActiveMessages = !kShared;

  OfiTransport(int rank, Meeting& meeting, std::shared_ptr<OfiPort> port, int thread, const Task& task)
      : rank_(rank),
        meeting_(meeting),
        port_(std::move(port)),
        tag_base_(static_cast<std::uint64_t>(thread) << 32),
        yields_(task.yields),
        am_size_(task.size) {}
  ~OfiTransport() {
    // Some providers need progress to send: it goes on until the peer has received the last word.
    try {
      std::byte word{};
      post_receive(kFarewell, ByteSpan(&word, 1));
      post_operation(fi_tsend, ByteView(&word, 1), nullptr, port_->peer, tag_base_ + kFarewell,
                     static_cast<Operation*>(&sending_));
      wait_receives();
      wait_sends();
    } catch (const Error&) {  // the peer has left
    }
    meeting_.swap({});
  }
  OfiTransport(const OfiTransport&) = delete;
  OfiTransport& operator=(const OfiTransport&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  void progress() {
    fi_cq_entry entries[kEntries];
    const ssize_t count = fi_cq_read(port_->completions, entries, kEntries);
    if (count == -FI_EAGAIN) return;
    if (count < 0) port_->fail(count, "a transfer");
    for (ssize_t i = 0; i < count; ++i) static_cast<Operation*>(entries[i].op_context)->end();
  }

  void post_receive(std::uint64_t tag, ByteSpan buffer) {
    ++receiving_.pending;
    insist("fi_trecv", [&] {
      return fi_trecv(port_->endpoint, buffer.data(), buffer.size(), nullptr, port_->peer, tag_base_ + tag, 0,
                      static_cast<Operation*>(&receiving_));
    });
  }
  void wait_receives() { wait(receiving_); }
  [[nodiscard]] bool receives_pending() const { return receiving_.pending != 0; }

  void post_send(std::uint64_t tag, ByteView bytes) {
    if (bytes.size() <= port_->inject_bytes) {
      insist("fi_tinject", [&] {
        return fi_tinject(port_->endpoint, bytes.data(), bytes.size(), port_->peer, tag_base_ + tag);
      });
    } else {
      post_operation(fi_tsend, bytes, nullptr, port_->peer, tag_base_ + tag,
                     static_cast<Operation*>(&sending_));
    }
  }
  void wait_sends() { wait(sending_); }

  void expect_am(AmSink& sink) {
    // For large messages as many as take 64 MiB.
    const std::size_t count = std::clamp<std::size_t>(
        (std::size_t{64} << 20) / std::max<std::size_t>(am_size_, 1), 4, kMostAmReceives);
    am_buffers_.resize(count * am_size_);
    for (std::size_t i = 0; i < count; ++i) {
      AmReceive& receive = am_receives_.emplace_back();
      receive.transport = this;
      receive.buffer = ByteSpan(am_buffers_).subspan(i * am_size_, am_size_);
      receive.sink = &sink;
    }
    for (AmReceive& receive : am_receives_) receive.post();
  }
  void post_am(ByteView bytes) {
    if (bytes.size() <= port_->inject_bytes) {
      insist("fi_inject",
             [&] { return fi_inject(port_->endpoint, bytes.data(), bytes.size(), port_->peer); });
    } else {
      post_operation(fi_send, bytes, nullptr, port_->peer, static_cast<Operation*>(&sending_));
    }
  }

  void expose(std::size_t bytes) {
    exposed_.resize(bytes);
    region_ = port_->register_memory(exposed_);
    const OfiPort::Remote own = port_->remote_of(region_.get(), exposed_);
    const std::vector<std::byte> theirs = meeting_.swap(std::as_bytes(std::span(&own, 1)));
    std::memcpy(&remote_, theirs.data(), sizeof remote_);
  }
  [[nodiscard]] ByteSpan memory() { return exposed_; }
  /// An access ends when the bytes are at the peer.
  [[nodiscard]] auto& access() { return *this; }
  void post_put(std::size_t offset, ByteView bytes) {
    iovec local{const_cast<std::byte*>(bytes.data()), bytes.size()};
    fi_rma_iov there{remote_.address + offset, bytes.size(), remote_.key};
    fi_msg_rma message{};
    message.msg_iov = &local;
    message.iov_count = 1;
    message.addr = port_->peer;
    message.rma_iov = &there;
    message.rma_iov_count = 1;
    message.context = static_cast<Operation*>(&sending_);
    ++sending_.pending;
    insist("fi_writemsg",
           [&] { return fi_writemsg(port_->endpoint, &message, FI_COMPLETION | FI_DELIVERY_COMPLETE); });
  }
  void post_get(std::size_t offset, ByteSpan buffer) {
    ++sending_.pending;
    insist("fi_read", [&] {
      return fi_read(port_->endpoint, buffer.data(), buffer.size(), nullptr, port_->peer,
                     remote_.address + offset, remote_.key, static_cast<Operation*>(&sending_));
    });
  }
  void flush() { wait_sends(); }

 private:
  static constexpr std::uint64_t kFarewell = 3;  // a tag between those of control and of data
  static constexpr std::size_t kEntries = 16;
  static constexpr std::size_t kMostAmReceives = 256;

  /// The effect of a completion.
  struct Operation {
    virtual void end() = 0;

   protected:
    ~Operation() = default;
  };
  struct Counted final : Operation {
    Count pending{0};
    void end() override { --pending; }
  };
  struct AmReceive final : Operation {
    OfiTransport* transport = nullptr;
    ByteSpan buffer{};
    AmSink* sink = nullptr;
    void end() override {
      sink->take(buffer.data(), buffer.size());
      post();
    }
    void post() {
      OfiPort& port = *transport->port_;
      const ssize_t result = fi_recv(port.endpoint, buffer.data(), buffer.size(), nullptr, port.peer,
                                     static_cast<Operation*>(this));
      if (result != 0) port.fail(result, "fi_recv");
    }
  };

  /// Posts a send that is counted until it has ended.
  template <class Post, class... More>
  void post_operation(const Post& post, ByteView bytes, const More&... more) {
    ++sending_.pending;
    insist("a send", [&] {
      return post(port_->endpoint, const_cast<std::byte*>(bytes.data()), bytes.size(), more...);
    });
  }
  template <class Post>
  void insist(const char* what, const Post& post) {
    for (IdleStrategy idle(yields_);;) {
      const ssize_t result = post();
      if (result == 0) return;
      if (result != -FI_EAGAIN) port_->fail(result, what);
      idle.poll(*this);
    }
  }
  void wait(const Counted& operations) {
    for (IdleStrategy idle(yields_); operations.pending != 0;) idle.poll(*this);
  }

  const int rank_;
  Meeting& meeting_;
  const std::shared_ptr<OfiPort> port_;
  const std::uint64_t tag_base_;
  const bool yields_;
  const std::size_t am_size_;
  Counted receiving_;
  Counted sending_;
  std::vector<std::byte> am_buffers_;
  std::deque<AmReceive> am_receives_;
  std::vector<std::byte> exposed_;
  OfiPort::Region region_;
  OfiPort::Remote remote_{};
};

/// Threads with resources of their own have a domain and an endpoint each.
template <bool kShared>
class OfiLibrary {
 public:
  using Transport = OfiTransport<kShared>;

  explicit OfiLibrary(PluginCall& call)
      : rank_(call.rank), task_(*call.task), meeting_(*call.meeting), provider_(provider_from_environment()) {
    if (kShared) shared_ = make_port();
  }
  [[nodiscard]] std::unique_ptr<Transport> open(int thread) {
    return std::make_unique<Transport>(rank_, meeting_, kShared ? shared_ : make_port(), thread, task_);
  }
  [[nodiscard]] std::string description() const {
    const std::uint32_t version = fi_version();
    return fmt::format("libfabric {}.{}, provider {}", FI_MAJOR(version), FI_MINOR(version), provider_);
  }

 private:
  static std::string provider_from_environment() {
    const char* name = std::getenv("WEFTDEV_PERF_OFI_PROVIDER");
    return name == nullptr ? "shm" : name;
  }
  std::shared_ptr<OfiPort> make_port() {
    return std::make_shared<OfiPort>(provider_, kShared, task_.window, meeting_);
  }

  const int rank_;
  const Task& task_;
  Meeting& meeting_;
  const std::string provider_;
  std::shared_ptr<OfiPort> shared_;
};

}  // namespace
}  // namespace weft::tools::perf

extern "C" [[gnu::visibility("default")]] void weft_perf_plugin_1(weft::tools::perf::PluginCall& call) {
  using namespace weft::tools::perf;
  call.task->shared ? answer<OfiLibrary<true>>(call) : answer<OfiLibrary<false>>(call);
}
