// Mixed sizes, threads, devices, endpoints and completion objects for a given time; every message is checked
// for its content and counted by its sender and number: 0 lost, duplicated or torn.
//
// soak --seconds S --threads T --seed N [--in-process RANKS]: each rank has one device for each thread with a
// SerialEndpoint or, for odd threads, an Endpoint that the next odd thread helps with; and sends to all
// devices of all ranks.
#include <weft/testing/in_process_job.hpp>

#include "received.hpp"
#include "support/rank_program.hpp"

#include <atomic>
#include <random>

namespace {

using namespace weft;
using test::fill;
using test::matches;
using test::Received;
using test::require;

constexpr std::uint32_t kTargets = 5;  // kinds of completion objects on each device

struct Header {
  std::uint32_t sender;  // of the whole job
  std::uint32_t target;
  std::uint64_t number;  // from this sender to this target
};

/// What arrives at one target, by sender; any thread.
class Ledger {
 public:
  explicit Ledger(std::size_t senders) : locks_(senders), received_(senders) {}
  void note(const Message& message, std::uint32_t target) {
    require(message.size() >= sizeof(Header), "a message is shorter than any that was sent");
    require(reinterpret_cast<std::uintptr_t>(message.data()) % 16 == 0, "a payload is not aligned");
    Header header{};
    std::memcpy(&header, message.data(), sizeof header);
    require(header.target == target, "a message went to the wrong object");
    require(header.sender < received_.size(), "a message from nobody");
    require(message.tag() == static_cast<std::uint32_t>(header.number), "tag and content differ");
    require(matches(message.bytes().subspan(sizeof header), header.number * 31 + header.sender),
            "a torn message");
    while (locks_[header.sender].exchange(1, std::memory_order_acquire) != 0) std::this_thread::yield();
    received_[header.sender].note(header.number);
    locks_[header.sender].store(0, std::memory_order_release);
    total_.fetch_add(1);
  }
  [[nodiscard]] std::uint64_t total() const { return total_; }
  [[nodiscard]] std::uint64_t from(std::size_t sender) const { return received_[sender].count(); }

 private:
  std::vector<std::atomic<int>> locks_;
  std::vector<Received> received_;
  std::atomic<std::uint64_t> total_{0};
};

/// A completion object of a user that notes what arrives.
class Noting final : public Completion {
 public:
  Noting(Ledger& ledger, std::uint32_t target) : ledger_(ledger), target_(target) {}
  ~Noting() override { withdraw(); }
  void signal(Message& message) noexcept override {
    ledger_.note(message.take(), target_);
    notify_waiters();
  }
  [[nodiscard]] bool ready() const noexcept override { return true; }

 private:
  Ledger& ledger_;
  const std::uint32_t target_;
};

/// How far the threads of one rank are at the end.
struct Ending {
  std::atomic<int> threads_done{0};
  std::atomic<bool> all_over{false};
};

struct Buffer {
  std::vector<std::byte> bytes;
  std::atomic<bool> free{true};
};

/// Tells a buffer that it may be used again.
class Release final : public Completion {
 public:
  void signal(Message& message) noexcept override {
    require(message.outcome() == Outcome::ok, std::string("a send ended as ") + name_of(message.outcome()));
    auto& buffer = *static_cast<Buffer*>(message.user_data());
    require(!buffer.free.exchange(true, std::memory_order_release), "a send was completed twice");
    notify_waiters();
  }
  [[nodiscard]] bool ready() const noexcept override { return true; }
};

template <class EndpointType>
void work(Runtime& runtime, int thread, int threads, double seconds, std::uint64_t seed, Ending& ending) {
  const auto devices = static_cast<std::uint32_t>(threads);
  const auto ranks = static_cast<std::uint32_t>(runtime.size());
  const std::uint32_t senders = ranks * devices;
  const auto device_index = static_cast<std::uint32_t>(thread);
  const std::uint32_t self = static_cast<std::uint32_t>(runtime.rank()) * devices + device_index;
  Device device(runtime, {.index = thread});
  EndpointType endpoint(device);
  Ledger ledgers[kTargets] = {Ledger(senders), Ledger(senders), Ledger(senders), Ledger(senders),
                              Ledger(senders)};
  Handler handler([&](Message& message) { ledgers[0].note(message, 0); });
  Noting noting(ledgers[1], 1);
  CompletionQueue shared_queue({.capacity = 2000, .initial = 16});
  SingleConsumerQueue single_queue({.capacity = 300});
  SerialCompletionQueue serial_queue({.capacity = 64, .initial = 2});
  Completion* const targets[kTargets] = {&handler, &noting, &shared_queue, &single_queue, &serial_queue};
  const auto id = [&](std::uint32_t of_device, std::uint32_t target) {
    return of_device * kTargets + target;
  };
  for (std::uint32_t target = 0; target < kTargets; ++target)
    static_cast<void>(
        runtime.expose(*targets[target], {.id = id(device_index, target), .device = device_index}));
  std::vector<Message> kept;  // messages at rest hold packets for a while
  const auto pop = [&] {
    Message message;
    for (int count = 0; count < 50 && shared_queue.pop(message); ++count) {
      ledgers[2].note(message, 2);
      kept.push_back(std::move(message));
      if (kept.size() > 40) kept.clear();
    }
    for (int count = 0; count < 50 && single_queue.pop(message); ++count) ledgers[3].note(message, 3);
    for (int count = 0; count < 50 && serial_queue.pop(message); ++count) ledgers[4].note(message, 4);
  };
  Release release;
  std::vector<Buffer> buffers(16);
  std::mt19937_64 random(seed * 1000 + self);
  std::vector<std::uint64_t> numbers(std::size_t{senders} * kTargets);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::uint64_t posts = 0;
  while (std::chrono::steady_clock::now() < end) {
    for (Buffer& buffer : buffers) {
      if (!buffer.free.load(std::memory_order_acquire)) continue;
      const std::uint64_t choice = random();
      const std::uint32_t peer = static_cast<std::uint32_t>(choice % ranks);
      const std::uint32_t to_device = static_cast<std::uint32_t>(choice >> 8) % devices;
      const std::uint32_t target = static_cast<std::uint32_t>(choice >> 16) % kTargets;
      const std::uint32_t kind = static_cast<std::uint32_t>(choice >> 24) % 1000;
      const std::size_t most = kind < 500 ? 48 : kind < 750 ? 432 : kind < 990 ? 8192 : 200'000;
      const std::size_t size =
          sizeof(Header) + static_cast<std::size_t>(choice >> 34) % (most - sizeof(Header) + 1);
      std::uint64_t& number = numbers[std::size_t{peer * devices + to_device} * kTargets + target];
      const RemoteCompletion remote(static_cast<std::uint16_t>(id(to_device, target)), 1,
                                    static_cast<std::uint8_t>(to_device));
      const Header header{self, target, number};
      ActiveMessageOptions options{
          .completion = &release, .user_data = &buffer, .tag = static_cast<std::uint32_t>(number)};
      options.may_retry = (choice & 64) != 0;
      options.may_complete_now = (choice & 128) != 0;
      Status status = Status::done();
      Packet packet = size <= 8192 && kind % 7 == 0 ? device.get_packet() : Packet();
      buffer.free.store(false, std::memory_order_relaxed);
      if (packet) {
        std::memcpy(packet.data(), &header, sizeof header);
        fill(packet.bytes().subspan(sizeof header, size - sizeof header), number * 31 + self);
        status = endpoint.post_am(static_cast<int>(peer), remote, std::move(packet), size, options);
      } else {
        buffer.bytes.resize(size);
        std::memcpy(buffer.bytes.data(), &header, sizeof header);
        fill(std::span(buffer.bytes).subspan(sizeof header), number * 31 + self);
        status = endpoint.post_am(static_cast<int>(peer), remote, buffer.bytes, options);
      }
      if (status.is_accepted()) ++number, ++posts;
      if (!status.is_posted()) buffer.free.store(true, std::memory_order_relaxed);
    }
    if (endpoint.progress() == 0) std::this_thread::yield();
    pop();
  }
  // Everybody tells everybody how much to expect, and goes on until that has come.
  Ledger* const all = ledgers;
  std::vector<std::uint64_t> expected(std::size_t{senders} * kTargets);
  std::uint32_t announcements = 0;
  const std::uint32_t control = 60'000 + device_index;
  Handler announced([&](Message& message) {
    const auto sender = static_cast<std::uint32_t>(message.tag());
    require(message.size() == kTargets * sizeof(std::uint64_t) && sender < senders, "a wrong announcement");
    std::memcpy(&expected[std::size_t{sender} * kTargets], message.data(), message.size());
    ++announcements;
  });
  static_cast<void>(runtime.expose(announced, {.id = control, .device = device_index}));
  const auto step = [&] {
    if (endpoint.progress() == 0) std::this_thread::yield();
    pop();
  };
  for (std::uint32_t to = 0; to < senders; ++to) {
    const std::uint32_t to_device = to % devices;
    const RemoteCompletion remote(static_cast<std::uint16_t>(60'000 + to_device), 1,
                                  static_cast<std::uint8_t>(to_device));
    const Bytes counts = std::as_bytes(std::span(&numbers[std::size_t{to} * kTargets], kTargets));
    while (endpoint.post_am(static_cast<int>(to / devices), remote, counts, {.tag = self}).is_retry()) step();
  }
  const auto complete = [&] {
    if (announcements < senders) return false;
    for (std::uint32_t target = 0; target < kTargets; ++target) {
      std::uint64_t sum = 0;
      for (std::uint32_t sender = 0; sender < senders; ++sender)
        sum += expected[std::size_t{sender} * kTargets + target];
      if (all[target].total() < sum) return false;
    }
    for (const Buffer& buffer : buffers)
      if (!buffer.free.load(std::memory_order_acquire)) return false;
    return true;
  };
  const auto guard = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!complete()) {
    step();
    require(std::chrono::steady_clock::now() < guard, "messages are lost: not all came within a minute");
  }
  kept.clear();
  std::uint64_t arrived = 0;
  for (std::uint32_t target = 0; target < kTargets; ++target)
    for (std::uint32_t sender = 0; sender < senders; ++sender) {
      require(all[target].from(sender) == expected[std::size_t{sender} * kTargets + target],
              "more messages than were sent");
      arrived += all[target].from(sender);
    }
  std::printf("rank %d thread %d: %llu posted, %llu arrived\n", runtime.rank(), thread,
              static_cast<unsigned long long>(posts), static_cast<unsigned long long>(arrived));
  // Others may still need this device's progress.
  ending.threads_done.fetch_add(1);
  while (ending.threads_done.load() < threads) step();
  if (thread == 0) {
    std::atomic<bool> passed{false};
    std::thread barrier([&] {
      runtime.barrier();
      passed = true;
    });
    while (!passed) step();
    barrier.join();
    ending.all_over = true;
  }
  while (!ending.all_over) step();
}

}  // namespace

int main(int count, char** arguments) {
  const double seconds = std::stod(weft::test::option(count, arguments, "seconds", "5"));
  const int threads = std::stoi(weft::test::option(count, arguments, "threads", "2"));
  const int in_process = std::stoi(weft::test::option(count, arguments, "in-process", "0"));
  const std::uint64_t seed = std::stoull(weft::test::option(count, arguments, "seed", "1"));
  std::unique_ptr<weft::InProcessJob> job;
  std::vector<std::unique_ptr<weft::Runtime>> runtimes;
  if (in_process > 0) {
    job = std::make_unique<weft::InProcessJob>(in_process);
    for (int rank = 0; rank < in_process; ++rank)
      runtimes.push_back(std::make_unique<weft::Runtime>(*job, rank));
  } else {
    runtimes.push_back(std::make_unique<weft::Runtime>());
  }
  std::vector<Ending> endings(runtimes.size());
  std::vector<std::thread> workers;
  for (std::size_t rank = 0; rank < runtimes.size(); ++rank)
    for (int thread = 0; thread < threads; ++thread)
      workers.emplace_back([&, rank, thread] {
        if (thread % 2 == 0)
          work<weft::SerialEndpoint>(*runtimes[rank], thread, threads, seconds, seed, endings[rank]);
        else
          work<weft::Endpoint>(*runtimes[rank], thread, threads, seconds, seed, endings[rank]);
      });
  for (std::thread& worker : workers) worker.join();
  for (const auto& runtime : runtimes) {
    const weft::RuntimeCounters counters = runtime->counters();
    weft::test::require(
        counters.refused_messages == 0 && counters.refused_handles == 0 && counters.dropped_sends == 0,
        "messages were refused or dropped");
  }
}
