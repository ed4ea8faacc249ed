// Every rank has a connection to each rank that it sends to, and receives over those that others have to it.
// Workers run the io_context.
#include "study/parcelports/tcp/tcp_port.hpp"
#include "study/parcelports/tcp/asio.hpp"

#include <weft/error.hpp>
#include <weft/parcel/ports/wake_count.hpp>
#include <weft/runtime.hpp>

#include <sodium.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "study/parcelports/tcp/tcp_frame.hpp"
#include "study/parcelports/tcp/tcp_part.hpp"
#include "study/parcelports/tcp/tcp_reader.hpp"
#include "study/parcelports/tcp/tcp_sockets.hpp"
#include "study/parcelports/tcp/tcp_writer.hpp"

namespace weft::parcel::ports {

namespace {

class TcpPort final : public Parcelport, private tcp::PortParts {
 public:
  explicit TcpPort(std::unique_ptr<weft::Runtime> runtime)
      : runtime_(std::move(runtime)),
        contact_(tcp::open_contact(runtime_->hosts() > 1, runtime_->attribute("interface"),
                                   runtime_->attribute("ports"))),
        reader_(*this, contact_),
        writer_(*this, contact_, exchange()),
        failed_(static_cast<std::size_t>(runtime_->size())) {}
  ~TcpPort() override { stop(); }

  int rank() const noexcept override { return runtime_->rank(); }
  int size() const noexcept override { return runtime_->size(); }
  int ranks_of_host() const noexcept override { return static_cast<int>(runtime_->local_ranks().size()); }
  void allgather(Bytes mine, std::span<std::byte> all) override { runtime_->allgather(mine, all); }
  PortLimits limits() const noexcept override { return {0, 1 << 20, kWrites, kWrites}; }
  bool has_failed(int rank) const noexcept override {
    return is_known_failed(rank) || runtime_->has_failed(rank);
  }

  void start(Receiver& taker, unsigned) override {
    receiver = &taker;
    reader_.start();
  }

  bool try_send_small(int peer, Bytes parcels, unsigned) override {
    auto message = std::make_unique<OutgoingMessage>();
    message->peer = -1;  // not reported
    message->head.append(parcels);
    return writer_.enqueue(peer, message);
  }
  bool try_send(std::unique_ptr<OutgoingMessage>& message, unsigned) override {
    return writer_.enqueue(message->peer, message);
  }

  bool poll(unsigned) override {
    const std::unique_lock lock(running_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    look_for_failures();
    context.restart();
    return context.poll() != 0;
  }
  std::uint64_t wakes() const noexcept override { return wakes_.look(); }
  void park(unsigned, Timeout longest, std::uint64_t seen) override {
    const std::unique_lock lock(running_, std::try_to_lock);
    if (!lock.owns_lock()) {
      std::unique_lock sleeping(sleep_mutex_);
      woken_.wait_for(sleeping, std::chrono::nanoseconds(std::min<std::int64_t>(longest.count(), 1'000'000)),
                      [&] { return wakes_.has_come(seen); });
      return;
    }
    // What wake() posts from now on is for this thread: no other one runs the context.
    if (wakes_.has_come(seen)) return;
    context.restart();
    context.run_one_for(std::chrono::nanoseconds(longest.count()));
    polls_ = kBetweenLooks - 1;  // the next poll looks
  }
  void wake() noexcept override {
    wakes_.wake();
    try {
      asio::post(context, [] {});
    } catch (const std::bad_alloc&) {
    }
    // A sleeper either sees the wake-up, or waits already.
    { const std::lock_guard lock(sleep_mutex_); }
    woken_.notify_all();
  }

  void stop() override {
    if (receiver == nullptr) return;
    writer_.leave();  // all ranks are quiet
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    context.restart();
    while (std::chrono::steady_clock::now() < end && writer_.has_queued())
      context.run_one_for(std::chrono::milliseconds(10));
    is_stopping_ = true;
    reader_.close_all();
    writer_.close_all();
    context.restart();
    context.poll();
    receiver = nullptr;
  }

 private:
  /// Where all ranks listen; and the secret of the job.
  std::vector<sockets::Endpoints> exchange() {
    struct Mine {
      tcp::Address address;
      tcp::Secret secret;
    } mine{};
    const std::vector<std::byte> own = sockets::encode(contact_.endpoints());
    mine.address.size = static_cast<std::uint32_t>(std::min(own.size(), mine.address.bytes.size()));
    std::copy_n(own.begin(), mine.address.size, mine.address.bytes.begin());
    // The launcher's channel between hosts is encrypted.
    if (::sodium_init() < 0) throw Error("libsodium cannot be initialized");
    ::randombytes_buf(mine.secret.data(), mine.secret.size());
    std::vector<Mine> all(static_cast<std::size_t>(size()));
    runtime_->allgather(weft::bytes_of(mine), std::as_writable_bytes(std::span(all)));
    secret = all[0].secret;
    std::vector<sockets::Endpoints> endpoints;
    for (const Mine& each : all) {
      const std::size_t size = std::min<std::size_t>(each.address.size, each.address.bytes.size());
      endpoints.push_back(
          sockets::decode(Bytes(each.address.bytes.data(), size)).value_or(sockets::Endpoints{}));
    }
    return endpoints;
  }

  bool is_stopping() const noexcept override { return is_stopping_; }
  bool is_known_failed(int rank) const noexcept override {
    return failed_[static_cast<std::size_t>(rank)].load(std::memory_order_relaxed);
  }
  void fail(int peer) override {
    if (is_stopping_ || failed_[static_cast<std::size_t>(peer)].exchange(true)) return;
    writer_.close(peer);
    reader_.close(peer);
    receiver->failed(peer);
  }
  /// Ranks that have died before they had a connection are known to the launcher.
  void look_for_failures() {
    if (++polls_ % kBetweenLooks != 0) return;
    for (int rank = 0; rank < size(); ++rank)
      if (!is_known_failed(rank) && runtime_->has_failed(rank)) fail(rank);
  }

  static constexpr std::uint64_t kBetweenLooks = 256;
  // One write is under way at a time; the next one is ready when it ends.
  static constexpr std::uint32_t kWrites = 2;

  std::unique_ptr<weft::Runtime> runtime_;
  tcp::Contact contact_;
  tcp::FrameReader reader_;
  tcp::FrameWriter writer_;
  std::vector<std::atomic<bool>> failed_;
  std::mutex running_;  // of the worker that runs the io_context
  WakeCount<> wakes_;
  std::mutex sleep_mutex_;
  std::condition_variable woken_;
  std::uint64_t polls_ = 0;
  bool is_stopping_ = false;
};

}  // namespace

std::string why_no_tcp() { return {}; }

std::unique_ptr<Parcelport> make_tcp_port(PortSetup& setup) {
  return std::make_unique<TcpPort>(setup.open_transport());
}

}  // namespace weft::parcel::ports
