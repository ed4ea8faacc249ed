// Communication of the k-mer counter: aggregated records to receivers, the end of a pass, and agreement
// between ranks.
#pragma once

#include "failure.hpp"

#include <weft/weft.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kmer {

/// The threads that receive.
enum class Progress : std::uint8_t {
  workers,    ///< every worker thread sends and serves
  dedicated,  ///< workers send, one more thread per rank serves
};

struct ExchangeOptions {
  int threads = 1;  ///< workers per rank, the same on all ranks
  Progress progress = Progress::workers;
  std::size_t buffer = 8192;  ///< bytes aggregated per destination; one flush is one active message
};

class Port;

/// One rank's part in the exchange: a port for every thread, and agreement between the ranks' main threads.
class Exchange {
 public:
  /// The ports' devices have the indices 0 to ports() - 1.
  Exchange(weft::Runtime& runtime, const ExchangeOptions& options, Failure& failure);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  [[nodiscard]] int rank() const noexcept { return runtime_.rank(); }
  [[nodiscard]] int size() const noexcept { return runtime_.size(); }
  [[nodiscard]] int workers() const noexcept { return options_.threads; }
  /// The number of threads of this rank that receive: all workers, or the dedicated one.
  [[nodiscard]] int receivers_per_rank() const noexcept {
    return options_.progress == Progress::workers ? options_.threads : 1;
  }
  /// The number of receivers of the job; destination d is receiver d % receivers_per_rank() of rank d /
  /// receivers_per_rank().
  [[nodiscard]] int receivers() const noexcept { return size() * receivers_per_rank(); }
  [[nodiscard]] int ports() const noexcept { return static_cast<int>(ports_.size()); }
  /// Returns a port. Workers have the ports 0 to workers() - 1; a dedicated receiver has the last.
  [[nodiscard]] Port& port(int index) noexcept { return *ports_[index]; }
  /// The port of this rank's receiver 0 to receivers_per_rank() - 1.
  [[nodiscard]] Port& receiver_port(int receiver) noexcept { return port(first_receiver() + receiver); }
  /// The receiver that a port belongs to, or -1.
  [[nodiscard]] int receiver_of(int port) const noexcept {
    return port >= first_receiver() ? port - first_receiver() : -1;
  }

  /// Returns the contributions of all ranks, in rank order; any lengths. Collective. Only the thread that
  /// owns port 0 may call it, between passes; serves port 0 meanwhile, however long the others take.
  std::vector<std::string> allgather(std::string_view mine);
  /// Returns once every rank has called it; see allgather().
  void barrier() { (void)allgather({}); }

 private:
  friend class Port;
  [[nodiscard]] int first_receiver() const noexcept {
    return options_.progress == Progress::workers ? 0 : options_.threads;
  }
  void take_contribution(int rank, weft::Bytes bytes);

  /// Contributions to one allgather, which may arrive before this rank has entered it.
  struct Round {
    std::vector<std::string> parts;
    int arrived = 0;
  };

  weft::Runtime& runtime_;
  ExchangeOptions options_;
  Failure& failure_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::map<std::uint64_t, Round> rounds_;  // touched by the thread of port 0 only
  std::uint64_t round_ = 0;
};

/// One thread's access to the exchange: used by one thread at a time, with a device of its own.
class Port {
 public:
  Port(Exchange& exchange, int index);
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  /// Sets the function that takes arriving records; it is called inside serve(), send and finish. Set it
  /// before the first pass.
  void set_receiver(std::function<void(std::span<const std::uint8_t>)> receiver) {
    receiver_ = std::move(receiver);
  }

  /// Returns room for a record of up to `size` bytes to `destination`; complete it with commit(). A full
  /// buffer is flushed first, which may wait for the destination and serves meanwhile.
  [[nodiscard]] std::uint8_t* room(int destination, std::size_t size) {
    Buffer& buffer = buffers_[destination];
    if (buffer.used + size > capacity_) flush(destination);
    return buffer.bytes.get() + buffer.used;
  }
  /// Completes a record in room() that has `size` bytes.
  void commit(int destination, std::size_t size) noexcept { buffers_[destination].used += size; }

  /// Delivers messages that have arrived. Returns their number.
  std::size_t serve() noexcept { return endpoint_.progress(); }
  /// Serves until `condition()` holds; parks while nothing happens.
  template <class Condition>
  void serve_until(const Condition& condition) {
    endpoint_.wait_until(condition);
  }

  /// Flushes all buffers and tells every receiver that this thread has finished the pass. `failed`: so that
  /// they end early.
  void finish_sending(bool failed);
  /// Serves until every worker of the job has finished the pass and all its messages have arrived here.
  void finish_receiving();

  [[nodiscard]] std::uint64_t messages_sent() const noexcept { return messages_; }
  [[nodiscard]] std::uint64_t bytes_sent() const noexcept { return bytes_; }

 private:
  friend class Exchange;
  static constexpr std::size_t kSlack = 16;  // behind a buffer: copy_bases() writes whole words

  struct Buffer {
    std::unique_ptr<std::uint8_t[]> bytes;
    std::size_t used = 0;
    std::uint64_t sent = 0;  // messages of this pass
  };
  /// The end of a pass, sent by one worker to one receiver.
  struct Marker {
    std::uint64_t messages;  ///< that the worker has sent to the receiver in this pass
    std::uint64_t failed;
  };
  struct Arrival {
    Port* port;
    void operator()(weft::Message& message) const noexcept { port->arrive(message); }
  };

  void flush(int destination);
  void arrive(weft::Message& message) noexcept;
  void take_marker(const Marker& marker, bool is_own_rank);
  [[nodiscard]] bool pass_is_complete() const noexcept {
    return markers_ == senders_ && received_ == expected_;
  }

  Exchange& exchange_;
  std::size_t capacity_;
  std::uint64_t senders_;  // workers of the job
  int own_destination_;    // the destination that is this port, or -1
  weft::Device device_;
  weft::SerialEndpoint endpoint_;
  weft::Handler<Arrival> handler_;
  weft::RemoteCompletion handle_;  // of the same port on every rank
  std::vector<Buffer> buffers_;    // by destination
  std::function<void(std::span<const std::uint8_t>)> receiver_;
  std::uint64_t markers_ = 0;   // of this pass
  std::uint64_t expected_ = 0;  // messages, according to the markers
  std::uint64_t received_ = 0;
  std::uint64_t messages_ = 0;  // sent in all passes, without those to the own thread
  std::uint64_t bytes_ = 0;
};

}  // namespace kmer
