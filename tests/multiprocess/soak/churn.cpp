// Everything that a program may make and destroy is made and destroyed at the same time, with traffic:
// threads, devices, regions, queues and runtimes. No message is lost or doubled, and what the process holds
// levels off.
//
// churn --seconds S [--levels yes]: any number of ranks, each of which churns against the next one. With
// --levels the process must hold no more in the second half of the time than it did in the first.
#include "process_size.hpp"
#include "received.hpp"
#include "support/rank_program.hpp"

#include <atomic>
#include <functional>
#include <mutex>

namespace {

using namespace weft;
using test::require;

// Symmetric names of completion objects; queues that come and go take those from kFirstQueue on.
enum Id : std::uint32_t { kSink = 1, kRequests = 2, kFirstQueue = 100 };
constexpr std::uint32_t kQueues = 50;

/// What the sink counts, one for each kind of sender.
enum Stream : std::uint32_t { kThreads, kDevices, kStreams };

struct Item {
  std::uint32_t rank;
  std::uint32_t stream;
  std::uint64_t number;
};

/// What the next rank is asked to do.
struct Request {
  enum class Kind : std::uint32_t { put, answer } kind = Kind::put;
  std::int32_t from = 0;
  RemoteRegion region{};      // put: gets `value` at 8
  RemoteCompletion answer{};  // told `value`, `times` times
  std::uint64_t value = 0;
  std::uint64_t times = 1;
};

class Rank {
 public:
  explicit Rank(Runtime& runtime)
      : runtime_(runtime),
        endpoint_(runtime),
        me_(runtime.rank()),
        next_((runtime.rank() + 1) % runtime.size()),
        received_(static_cast<std::size_t>(runtime.size()) * kStreams) {
    sink_ = runtime.expose(sink_object_, {.id = kSink});
    requests_ = runtime.expose(request_queue_, {.id = kRequests});
  }

  void churn(double seconds, bool levels) {
    std::thread service([this] { serve(); });
    std::vector<std::thread> churners;
    for (void (Rank::*of)() : {&Rank::churn_threads, &Rank::churn_devices, &Rank::churn_regions,
                               &Rank::churn_queues, &Rank::churn_runtimes})
      churners.emplace_back(of, this);
    watch(seconds, levels);
    stop_ = true;
    for (std::thread& churner : churners) churner.join();
    settle();
    is_over_ = true;
    service.join();
    std::printf("rank %d: %llu threads, %llu devices, %llu regions, %llu queues, %llu runtimes\n", me_,
                count(threads_), count(devices_), count(regions_), count(queues_), count(runtimes_));
  }

 private:
  static unsigned long long count(const std::atomic<std::uint64_t>& of) { return of.load(); }

  void note(const Message& message) {
    require(message.size() == sizeof(Item), "a message of the wrong length");
    const Item item = message.as<Item>();
    require(item.rank < static_cast<std::uint32_t>(runtime_.size()) && item.stream < kStreams,
            "a torn message");
    const std::lock_guard lock(mutex_);
    received_[item.rank * kStreams + item.stream].note(item.number);
  }

  /// Does what peers ask for, and progresses the default device, until the end.
  void serve() {
    Message message;
    while (!is_over_) {
      if (!request_queue_.pop(message)) {
        if (endpoint_.progress() == 0) std::this_thread::yield();
        continue;
      }
      const Request request = message.as<Request>();
      if (request.kind == Request::Kind::put)
        require(endpoint_.put(request.from, request.region.at(8), bytes_of(request.value)) == Outcome::ok,
                "a put into a region that is open was refused");
      for (std::uint64_t time = 0; time < request.times; ++time)
        require(endpoint_.send_am(request.from, request.answer, bytes_of(request.value)) == Outcome::ok,
                "an answer could not be sent");
    }
  }

  template <class AnyEndpoint>
  void send_items(AnyEndpoint& endpoint, Stream stream, std::atomic<std::uint64_t>& numbers, int items) {
    for (int sent = 0; sent < items; ++sent) {
      const Item item{static_cast<std::uint32_t>(me_), stream, numbers.fetch_add(1)};
      require(endpoint.send_am(next_, sink_, bytes_of(item)) == Outcome::ok, "a message could not be sent");
    }
  }

  /// Threads that use the default device, and packets of the pool, and end.
  void churn_threads() {
    while (!stop_) {
      std::vector<std::thread> threads;
      for (int thread = 0; thread < 3; ++thread)
        threads.emplace_back([this] {
          send_items(endpoint_, kThreads, sent_[kThreads], 20);
          std::vector<Packet> packets;
          for (int packet = 0; packet < 8; ++packet) packets.push_back(default_packet());
        });
      for (std::thread& thread : threads) thread.join();
      threads_ += 3;
    }
  }

  void churn_devices() {
    while (!stop_) {
      Device device{runtime_};
      if (devices_ % 2 == 0) {
        Endpoint endpoint{device};
        send_items(endpoint, kDevices, sent_[kDevices], 20);
      } else {
        SerialEndpoint endpoint{device};
        send_items(endpoint, kDevices, sent_[kDevices], 20);
      }
      const std::lock_guard lock(packets_mutex_);
      spare_ = device.get_packet();
      ++devices_;
    }
    const std::lock_guard lock(packets_mutex_);
    spare_.reset();
  }

  /// A packet that the device churner has left, if any: packets belong to the runtime, whichever device they
  /// are of.
  Packet default_packet() {
    const std::lock_guard lock(packets_mutex_);
    return std::move(spare_);
  }

  /// Regions that a peer puts into before they go.
  void churn_regions() {
    SingleConsumerQueue answers;
    const RemoteCompletion answer = runtime_.expose(answers, {.id = 10});
    std::vector<std::byte> own(4096);
    while (!stop_) {
      const bool allocates = regions_ % 2 == 0;
      MemoryRegion region = allocates ? MemoryRegion::allocate(runtime_, 8192) : MemoryRegion(runtime_, own);
      Request request{.kind = Request::Kind::put,
                      .from = me_,
                      .region = region.remote(),
                      .answer = answer,
                      .value = regions_ + 1};
      require(endpoint_.send_am(next_, requests_, bytes_of(request)) == Outcome::ok, "a request was refused");
      require(endpoint_.wait(answers).as<std::uint64_t>() == request.value, "a wrong answer");
      std::uint64_t found = 0;
      std::memcpy(&found, region.bytes().data() + 8, sizeof found);
      require(found == request.value, "whoever sees the answer does not see the put before it");
      ++regions_;
    }
  }

  /// Queues that are exposed, filled by a peer, and gone.
  void churn_queues() {
    while (!stop_) {
      CompletionQueue queue({.capacity = 64, .initial = 2});
      const auto id = static_cast<std::uint32_t>(kFirstQueue + queues_ % kQueues);
      const Request request{.kind = Request::Kind::answer,
                            .from = me_,
                            .answer = runtime_.expose(queue, {.id = id}),
                            .value = queues_,
                            .times = 5};
      require(endpoint_.send_am(next_, requests_, bytes_of(request)) == Outcome::ok, "a request was refused");
      for (std::uint64_t time = 0; time < request.times; ++time)
        require(endpoint_.wait(queue).as<std::uint64_t>() == request.value, "a message of another queue");
      Message none;
      require(!queue.pop(none), "a message came twice");
      ++queues_;
    }
  }

  /// A runtime beside the other one, which all ranks make and destroy together: they agree on whether to go
  /// on.
  void churn_runtimes() {
    for (bool goes_on = true; goes_on;) {
      Runtime runtime{{.name = "churn"}};
      Endpoint endpoint{runtime};
      CompletionQueue inbox;
      const RemoteCompletion remote = runtime.expose(inbox, {.id = kSink});
      const std::uint64_t mine = runtimes_ << 8 | static_cast<std::uint64_t>(me_);
      require(endpoint.send_am(next_, remote, bytes_of(mine)) == Outcome::ok, "a message could not be sent");
      const int before = (me_ + runtime.size() - 1) % runtime.size();
      const auto came = endpoint.wait(inbox).as<std::uint64_t>();
      require(came == (runtimes_ << 8 | static_cast<std::uint64_t>(before)), "a message of another runtime");
      const std::uint8_t wants = stop_ ? 0 : 1;
      std::vector<std::uint8_t> all(static_cast<std::size_t>(runtime.size()));
      runtime.allgather(bytes_of(wants), std::as_writable_bytes(std::span(all)));
      for (const std::uint8_t each : all) goes_on = goes_on && each != 0;
      ++runtimes_;
    }
  }

  void watch(double seconds, bool levels) {
    const auto begin = std::chrono::steady_clock::now();
    const auto passed = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    test::ProcessSize first;
    test::ProcessSize second;
    for (double now = 0; now < seconds; now = passed()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      (now < seconds / 2 ? first : second).raise_to(test::process_size());
    }
    std::printf(
        "rank %d: at most %zu KiB, %zu mappings, %zu descriptors in the first half, %zu, %zu, %zu in the "
        "second\n",
        me_, first.resident_kib, first.mappings, first.descriptors, second.resident_kib, second.mappings,
        second.descriptors);
    if (!levels) return;
    require(second.resident_kib <= first.resident_kib + first.resident_kib / 10 + 8192,
            "memory does not level off");
    require(second.mappings <= first.mappings + first.mappings / 10 + 32, "mappings do not level off");
    require(second.descriptors <= first.descriptors + first.descriptors / 10 + 16,
            "descriptors do not level off");
  }

  /// Everybody tells how much was sent, and waits until that has come.
  void settle() {
    const std::uint64_t mine[kStreams] = {sent_[kThreads], sent_[kDevices]};
    std::vector<std::uint64_t> all(static_cast<std::size_t>(runtime_.size()) * kStreams);
    runtime_.allgather(bytes_of(mine), std::as_writable_bytes(std::span(all)));
    const auto before = static_cast<std::size_t>((me_ + runtime_.size() - 1) % runtime_.size());
    const auto has_all = [&] {
      const std::lock_guard lock(mutex_);
      for (std::size_t stream = 0; stream < kStreams; ++stream)
        if (received_[before * kStreams + stream].count() < all[before * kStreams + stream]) return false;
      return true;
    };
    const auto guard = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!has_all()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      require(std::chrono::steady_clock::now() < guard, "messages are lost: not all came within a minute");
    }
    for (std::size_t stream = 0; stream < kStreams; ++stream)
      require(received_[before * kStreams + stream].count() == all[before * kStreams + stream],
              "more messages than were sent");
    runtime_.barrier();
  }

  Runtime& runtime_;
  Endpoint endpoint_;
  const int me_;
  const int next_;
  std::mutex mutex_;
  std::vector<test::Received> received_;  // by rank and stream
  Handler<std::function<void(Message&)>> sink_object_{[this](Message& message) { note(message); }};
  CompletionQueue request_queue_;
  RemoteCompletion sink_;
  RemoteCompletion requests_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> is_over_{false};
  std::atomic<std::uint64_t> sent_[kStreams]{};
  std::atomic<std::uint64_t> threads_{0};
  std::atomic<std::uint64_t> devices_{0};
  std::atomic<std::uint64_t> regions_{0};
  std::atomic<std::uint64_t> queues_{0};
  std::atomic<std::uint64_t> runtimes_{0};
  std::mutex packets_mutex_;
  Packet spare_;
};

}  // namespace

int main(int count, char** arguments) {
  const double seconds = std::stod(weft::test::option(count, arguments, "seconds", "5"));
  const bool levels = weft::test::option(count, arguments, "levels", "no") == "yes";
  weft::Runtime runtime;
  Rank(runtime).churn(seconds, levels);
}
