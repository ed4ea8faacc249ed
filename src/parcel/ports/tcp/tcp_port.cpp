// Every rank has a connection to each rank that it sends to, and receives over those that others have to it.
// A message is one gather write: header, sizes of the chunks, head, chunks. Workers run the io_context.
#include "parcel/ports/tcp/tcp_port.hpp"
#include "parcel/ports/tcp/asio.hpp"

#include <weft/error.hpp>
#include <weft/parcel/detail/message_limits.hpp>
#include <weft/runtime.hpp>

#include <sodium.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <utility>

#include "parcel/connections/wake_count.hpp"
#include "parcel/ports/tcp/tcp_acceptor.hpp"
#include "parcel/ports/tcp/tcp_connections.hpp"
#include "parcel/ports/tcp/tcp_connector.hpp"
#include "parcel/ports/tcp/tcp_frame.hpp"
#include "parcel/ports/tcp/tcp_proof.hpp"
#include "parcel/ports/tcp/tcp_sockets.hpp"

namespace weft::parcel {

namespace {

using asio::ip::tcp;
using parcel::tcp::Incoming;
using parcel::tcp::Outgoing;

// Heads that lie in the queue of one connection, beyond which the port pushes back.
constexpr std::size_t kMostQueued = 64;

class TcpPort final : public Parcelport {
 public:
  explicit TcpPort(std::unique_ptr<weft::Runtime> runtime)
      : runtime_(std::move(runtime)),
        place_(parcel::tcp::open_place(runtime_->hosts() > 1, runtime_->attribute("interface"),
                                       runtime_->attribute("ports"))),
        acceptor_(context_, place_.listener,
                  std::max<std::size_t>(64, 2 * static_cast<std::size_t>(runtime_->size()))),
        failed_(static_cast<std::size_t>(runtime_->size())) {
    exchange();
    for (int rank = 0; rank < size(); ++rank) outgoing_.push_back(std::make_shared<Outgoing>(context_, rank));
  }
  ~TcpPort() override { stop(); }

  int rank() const noexcept override { return runtime_->rank(); }
  int size() const noexcept override { return runtime_->size(); }
  int ranks_of_host() const noexcept override { return static_cast<int>(runtime_->local_ranks().size()); }
  void allgather(Bytes mine, std::span<std::byte> all) override { runtime_->allgather(mine, all); }
  PortLimits limits() const noexcept override { return {0, 1 << 20, kWrites, kWrites}; }
  bool has_failed(int rank) const noexcept override {
    return failed_[static_cast<std::size_t>(rank)].load(std::memory_order_relaxed) ||
           runtime_->has_failed(rank);
  }

  void start(Receiver& receiver, unsigned) override {
    receiver_ = &receiver;
    acceptor_.start(
        [this](tcp::socket&& socket) { greet(std::make_shared<Incoming>(std::move(socket))); },
        [this](const std::string& why) {
          std::fprintf(stderr, "weft: rank %d: parcel: connections of peers have to wait: %s (ulimit -n)\n",
                       rank(), why.c_str());
        });
  }

  bool try_send_small(int peer, Bytes parcels, unsigned worker) override {
    auto message = std::make_unique<OutgoingMessage>();
    message->peer = -1;  // not reported
    message->head.append(parcels);
    return enqueue(peer, message, worker);
  }
  bool try_send(std::unique_ptr<OutgoingMessage>& message, unsigned worker) override {
    return enqueue(message->peer, message, worker);
  }

  bool poll(unsigned) override {
    const std::unique_lock lock(running_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    look_for_failures();
    context_.restart();
    return context_.poll() != 0;
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
    context_.restart();
    context_.run_one_for(std::chrono::nanoseconds(longest.count()));
    polls_ = kBetweenLooks - 1;  // the next poll looks
  }
  void wake() noexcept override {
    wakes_.wake();
    try {
      asio::post(context_, [] {});
    } catch (const std::bad_alloc&) {
    }
    // A sleeper either sees the wake-up, or waits already.
    { const std::lock_guard lock(sleep_mutex_); }
    woken_.notify_all();
  }

  void stop() override {
    if (receiver_ == nullptr) return;
    // All ranks are quiet: what is left to be said is that this one leaves.
    for (auto& connection : outgoing_) {
      const std::lock_guard lock(connection->mutex);
      if (connection->is_connected) connection->queue.push_back({});
      if (connection->queue.size() == 1 && connection->is_connected) write(connection);
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    context_.restart();
    while (std::chrono::steady_clock::now() < end && has_queued())
      context_.run_one_for(std::chrono::milliseconds(10));
    is_stopping_ = true;
    acceptor_.stop();
    asio::error_code ignored;
    for (auto& connection : outgoing_) connection->socket.close(ignored);
    for (auto& connection : incoming_) connection->socket.close(ignored);
    context_.restart();
    context_.poll();
    receiver_ = nullptr;
  }

 private:
  void exchange() {
    struct Mine {
      parcel::tcp::Address address;
      parcel::tcp::Secret secret;
    } mine{};
    const std::vector<std::byte> own = sockets::encode(place_.endpoints());
    mine.address.size = static_cast<std::uint32_t>(std::min(own.size(), mine.address.bytes.size()));
    std::copy_n(own.begin(), mine.address.size, mine.address.bytes.begin());
    // The launcher's channel between hosts is encrypted.
    if (::sodium_init() < 0) throw Error("libsodium cannot be initialized");
    ::randombytes_buf(mine.secret.data(), mine.secret.size());
    std::vector<Mine> all(static_cast<std::size_t>(size()));
    runtime_->allgather(weft::bytes_of(mine), std::as_writable_bytes(std::span(all)));
    secret_ = all[0].secret;
    for (const Mine& each : all) {
      const std::size_t size = std::min<std::size_t>(each.address.size, each.address.bytes.size());
      endpoints_.push_back(
          sockets::decode(Bytes(each.address.bytes.data(), size)).value_or(sockets::Endpoints{}));
    }
  }

  bool enqueue(int peer, std::unique_ptr<OutgoingMessage>& message, unsigned) {
    const auto& connection = outgoing_[static_cast<std::size_t>(peer)];
    std::unique_lock lock(connection->mutex);
    if (connection->is_closed) [[unlikely]] {
      lock.unlock();
      report_lost(std::move(message));
      return true;
    }
    if (connection->queue.size() >= kMostQueued) return false;
    Outgoing::Frame frame;
    frame.header.head_size = message->head.size();
    frame.header.chunks = message->chunks.size();
    for (const Bytes chunk : message->chunks) frame.sizes.push_back(chunk.size());
    frame.message = std::move(message);
    connection->queue.push_back(std::move(frame));
    if (connection->is_connected && connection->queue.size() == 1)
      asio::post(context_, [this, connection] {
        const std::lock_guard guard(connection->mutex);
        if (!connection->is_closed) write(connection);
      });
    if (!connection->is_connected && !std::exchange(connection->is_connecting, true))
      asio::post(context_, [this, connection] { connect(connection); });
    return true;
  }

  void connect(const std::shared_ptr<Outgoing>& connection) {
    const sockets::Endpoints& there = endpoints_[static_cast<std::size_t>(connection->peer)];
    std::make_shared<parcel::tcp::Connector>(context_, connection, place_.ways_to(there), there.port, rank(),
                                             secret_,
                                             [this, connection](const std::string& fault) {
                                               if (!fault.empty())
                                                 return cannot_reach(connection->peer, fault);
                                               const std::lock_guard lock(connection->mutex);
                                               if (connection->is_closed) return;
                                               connection->is_connected = true;
                                               if (!connection->queue.empty()) write(connection);
                                             })
        ->start();
  }

  /// Writes the first frame of the queue, and then those behind it. With the connection's mutex.
  void write(const std::shared_ptr<Outgoing>& connection) {
    const Outgoing::Frame& frame = connection->queue.front();
    std::vector<asio::const_buffer> parts{asio::buffer(&frame.header, sizeof frame.header)};
    if (!frame.sizes.empty()) parts.push_back(asio::buffer(frame.sizes));
    if (frame.message) {
      parts.push_back(asio::buffer(frame.message->head.data(), frame.message->head.size()));
      for (const Bytes chunk : frame.message->chunks)
        parts.push_back(asio::buffer(chunk.data(), chunk.size()));
    }
    asio::async_write(connection->socket, parts,
                      [this, connection](const asio::error_code& broken, std::size_t) {
                        if (broken) return fail(connection->peer);
                        std::unique_lock lock(connection->mutex);
                        if (connection->is_closed) return;  // what it was is reported already
                        std::unique_ptr<OutgoingMessage> sent = std::move(connection->queue.front().message);
                        connection->queue.pop_front();
                        if (!connection->queue.empty()) write(connection);
                        lock.unlock();
                        if (sent && sent->peer >= 0) receiver_->sent(std::move(sent), true);
                      });
  }

  void greet(const std::shared_ptr<Incoming>& connection) {
    acceptor_.add(std::shared_ptr<tcp::socket>(connection, &connection->socket));
    ::randombytes_buf(connection->challenge.nonce.data(), connection->challenge.nonce.size());
    asio::async_write(connection->socket, asio::buffer(&connection->challenge, sizeof connection->challenge),
                      [](const asio::error_code&, std::size_t) {});
    asio::async_read(connection->socket, asio::buffer(&connection->greeting, sizeof connection->greeting),
                     [this, connection](const asio::error_code& broken, std::size_t) {
                       const auto& greeting = connection->greeting;
                       const bool is_known =
                           !broken && greeting.magic == parcel::tcp::kMagic && greeting.to == rank() &&
                           greeting.rank >= 0 && greeting.rank < size() &&
                           parcel::tcp::are_equal(
                               greeting.proof,
                               parcel::tcp::proof_of('c', secret_, connection->challenge, greeting));
                       acceptor_.remove(connection->socket, is_known);
                       if (!is_known) return connection->socket.close();
                       connection->source = greeting.rank;
                       if (failed_[static_cast<std::size_t>(greeting.rank)])
                         return connection->socket.close();
                       incoming_.push_back(connection);
                       prove(connection);
                     });
  }

  void prove(const std::shared_ptr<Incoming>& connection) {
    connection->answer = parcel::tcp::proof_of('l', secret_, connection->challenge, connection->greeting);
    asio::async_write(connection->socket, asio::buffer(connection->answer),
                      [this, connection](const asio::error_code& broken, std::size_t) {
                        if (broken) return fail(connection->source);
                        read_header(connection);
                      });
  }

  void read_header(const std::shared_ptr<Incoming>& connection) {
    asio::async_read(connection->socket, asio::buffer(&connection->header, sizeof connection->header),
                     [this, connection](const asio::error_code& broken, std::size_t) {
                       if (broken) {
                         if (!connection->has_left) fail(connection->source);
                         return;
                       }
                       const parcel::tcp::FrameHeader& header = connection->header;
                       if (header.magic != parcel::tcp::kMagic || header.head_size > detail::kMostHead ||
                           header.chunks > detail::kMostChunks)
                         return refuse(connection, "a frame has a header that no rank writes");
                       connection->has_left = header.head_size == 0;
                       if (connection->has_left) return read_header(connection);
                       read_head(connection);
                     });
  }

  void read_head(const std::shared_ptr<Incoming>& connection) {
    connection->message = std::make_unique<Incoming::Whole>();
    Incoming::Whole& message = *connection->message;
    message.source = connection->source;
    connection->sizes.expect(message.chunk_sizes, connection->header.chunks);
    connection->head.expect(message.bytes, connection->header.head_size);
    read_parts(connection);
  }

  /// Sizes and head, mostly by one read; what is long comes in pieces.
  void read_parts(const std::shared_ptr<Incoming>& connection) {
    std::array<asio::mutable_buffer, 2> parts;
    try {
      const MutableBytes sizes = connection->sizes.room();
      connection->sizes.came(sizes.size());
      const MutableBytes head = connection->sizes.is_complete() ? connection->head.room() : MutableBytes{};
      connection->head.came(head.size());
      parts = {asio::buffer(sizes.data(), sizes.size()), asio::buffer(head.data(), head.size())};
    } catch (const std::bad_alloc&) {
      return refuse(connection, "there is no memory for what it announces");
    }
    asio::async_read(connection->socket, parts,
                     [this, connection](const asio::error_code& broken, std::size_t) {
                       if (broken) return fail(connection->source);
                       if (!connection->head.is_complete()) return read_parts(connection);
                       take_head(connection);
                     });
  }

  void take_head(const std::shared_ptr<Incoming>& connection) {
    Incoming::Whole& whole = *connection->message;
    whole.head = whole.bytes;
    if (whole.chunk_sizes.empty()) {
      if (whole.head.size() <= kCopied)
        receiver_->on_small(whole.source, whole.head);
      else
        receiver_->arrived(std::move(connection->message));
      return read_header(connection);
    }
    connection->is_wanted = receiver_->place(whole);
    if (connection->is_wanted)
      read_chunks(connection);
    else
      skip_chunks(connection, 0, whole.chunk_sizes[0]);
  }

  void read_chunks(const std::shared_ptr<Incoming>& connection) {
    std::vector<asio::mutable_buffer> parts;
    for (const MutableBytes landing : connection->message->landings)
      parts.push_back(asio::buffer(landing.data(), landing.size()));
    asio::async_read(connection->socket, parts,
                     [this, connection](const asio::error_code& broken, std::size_t) {
                       if (broken) {
                         // First: whoever waits is told that the rank has failed.
                         fail(connection->source);
                         if (connection->message) receiver_->lost(std::move(connection->message));
                         return;
                       }
                       receiver_->arrived(std::move(connection->message));
                       read_header(connection);
                     });
  }

  /// Reads `left` bytes of a chunk that nobody wants, and then those behind it.
  void skip_chunks(const std::shared_ptr<Incoming>& connection, std::size_t chunk, std::uint64_t left) {
    const std::vector<std::uint64_t>& sizes = connection->message->chunk_sizes;
    while (left == 0 && ++chunk < sizes.size()) left = sizes[chunk];
    if (left == 0) return read_header(connection);
    connection->unwanted.resize(kSkipped);
    const std::size_t now = std::min<std::uint64_t>(left, kSkipped);
    asio::async_read(connection->socket, asio::buffer(connection->unwanted, now),
                     [this, connection, chunk, left, now](const asio::error_code& broken, std::size_t) {
                       if (broken) return fail(connection->source);
                       skip_chunks(connection, chunk, left - now);
                     });
  }

  void refuse(const std::shared_ptr<Incoming>& connection, const char* why) {
    std::fprintf(stderr, "weft: rank %d: parcel: the connection from rank %d is closed: %s\n", rank(),
                 connection->source, why);
    connection->socket.close();
    fail(connection->source);
  }

  void cannot_reach(int peer, const std::string& fault) {
    if (!is_stopping_ && !has_failed(peer))
      std::fprintf(stderr, "weft: rank %d: parcel: rank %d cannot be reached: %s\n", rank(), peer,
                   fault.c_str());
    fail(peer);
  }

  /// Both directions end, with all that is under way in them.
  void fail(int peer) {
    if (is_stopping_ || failed_[static_cast<std::size_t>(peer)].exchange(true)) return;
    const auto& connection = outgoing_[static_cast<std::size_t>(peer)];
    std::deque<Outgoing::Frame> unsent;
    asio::error_code ignored;
    {
      const std::lock_guard lock(connection->mutex);
      connection->is_closed = true;
      connection->is_connected = false;
      unsent.swap(connection->queue);
      connection->socket.close(ignored);
    }
    for (Outgoing::Frame& frame : unsent) report_lost(std::move(frame.message));
    // Their readers are told, and report what they have begun.
    for (const auto& each : incoming_)
      if (each->source == peer) each->socket.close(ignored);
    receiver_->failed(peer);
  }
  void report_lost(std::unique_ptr<OutgoingMessage> message) {
    if (message && message->peer >= 0) receiver_->sent(std::move(message), false);
  }
  /// Ranks that have died before they had a connection are known to the launcher.
  void look_for_failures() {
    if (++polls_ % kBetweenLooks != 0) return;
    for (int rank = 0; rank < size(); ++rank)
      if (!failed_[static_cast<std::size_t>(rank)].load(std::memory_order_relaxed) &&
          runtime_->has_failed(rank))
        fail(rank);
  }
  bool has_queued() {
    return std::any_of(outgoing_.begin(), outgoing_.end(), [](const auto& connection) {
      const std::lock_guard lock(connection->mutex);
      return !connection->queue.empty();
    });
  }

  static constexpr std::size_t kCopied = 2048;
  static constexpr std::size_t kSkipped = 65536;
  static constexpr std::uint64_t kBetweenLooks = 256;
  // One write is under way at a time; the next one is ready when it ends.
  static constexpr std::uint32_t kWrites = 2;

  std::unique_ptr<weft::Runtime> runtime_;
  Receiver* receiver_ = nullptr;
  parcel::tcp::Place place_;
  asio::io_context context_;
  parcel::tcp::Acceptor acceptor_;
  parcel::tcp::Secret secret_{};
  std::vector<sockets::Endpoints> endpoints_;  // by rank
  std::vector<std::shared_ptr<Outgoing>> outgoing_;
  std::vector<std::shared_ptr<Incoming>> incoming_;
  std::vector<std::atomic<bool>> failed_;
  std::mutex running_;  // of the worker that runs the io_context
  WakeCount<> wakes_;
  std::mutex sleep_mutex_;
  std::condition_variable woken_;
  std::uint64_t polls_ = 0;
  bool is_stopping_ = false;
};

}  // namespace

std::unique_ptr<Parcelport> make_tcp_port(std::unique_ptr<weft::Runtime> runtime, const RuntimeOptions&) {
  return std::make_unique<TcpPort>(std::move(runtime));
}

}  // namespace weft::parcel
