// The overhead of operations on an accelerator's stream: a word to and fro between two ranks of one process,
// each with a stream that a thread of the CPU imitates. Enqueued operations, or the same calls in host
// functions, as programs do by cudaLaunchHostFunc.
#include <weft/stream/stream_queue.hpp>
#include <weft/testing/fake_stream.hpp>
#include <weft/testing/in_process_job.hpp>
#include <weft/weft.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <thread>

#include "common/stopwatch.hpp"
#include "perf/libraries/weft/weft_rounds.hpp"

namespace weft::tools::perf {
namespace {

constexpr std::uint64_t kOperationsOfTrip = 2;  // on each rank: a send and a receive
constexpr int kTripsPerLook = 200;

/// One rank: enqueues round trips and waits for their ends, until the other rank knows which is the last one.
struct EnqueueRank {
  EnqueueRank(Runtime& runtime, bool uses_queue)
      : rank(runtime.rank()),
        stream(runtime),
        group(runtime, stream),
        mine(group.member()),
        has_queue(uses_queue) {
    if (has_queue) queue.emplace(group, 0, accelerator);
  }

  void enqueue_trips(int count) {
    for (int trip = 0; trip < count; ++trip) {
      const StreamAddress peer{1 - rank, 0};
      const auto send = [&] {
        if (has_queue) return queue->post_send(peer, 1, &word, sizeof word);
        accelerator.launch([this, peer] { static_cast<void>(mine.send(peer, 1, bytes_of(word))); });
      };
      const auto receive = [&] {
        if (has_queue) return queue->post_receive(peer, 1, &word, sizeof word);
        accelerator.launch(
            [this, peer] { static_cast<void>(mine.receive(peer, 1, mutable_bytes_of(word))); });
      };
      if (rank == 0) {
        send();
        receive();
      } else {
        receive();
        accelerator.launch([this] { ++word; });
        send();
      }
    }
    accelerator.synchronize();
  }

  const int rank;
  Stream stream;
  StreamGroup group;
  GroupStream mine;
  const bool has_queue;
  FakeStream accelerator;
  std::optional<StreamQueue> queue;
  std::uint64_t word = 0;
};

}  // namespace

int run_enqueue(const Task& task) {
  InProcessJob job(2);
  std::array<std::exception_ptr, 2> failures;
  Outcome outcome;
  outcome.role = "both";
  const auto run_rank = [&](int rank) {
    try {
      Runtime runtime(job, rank);
      EnqueueRank own(runtime, task.transport() == "stream-queue");
      std::uint64_t trips = 0;
      const Stopwatch watch;
      // Both ranks make the same number of looks: rank 0 says after each whether there is another one.
      bool goes_on = true;
      double warm = 0;
      std::uint64_t trips_before = 0;
      while (goes_on) {
        own.enqueue_trips(kTripsPerLook);
        trips += kTripsPerLook;
        if (warm == 0 && watch.seconds() >= task.warm_up) {
          warm = watch.seconds();
          trips_before = trips;
        }
        goes_on = warm == 0 || watch.seconds() - warm < task.seconds;
        std::array<bool, 2> wishes{};
        runtime.allgather(bytes_of(goes_on), mutable_bytes_of(wishes));
        goes_on = wishes[0];
      }
      if (rank == 0) {
        const double seconds = watch.seconds() - warm;
        outcome.messages = 2 * (trips - trips_before);
        outcome.value = seconds * 1e9 / static_cast<double>(2 * kOperationsOfTrip * (trips - trips_before));
        if (own.word != trips) ++outcome.torn;
      }
    } catch (...) {
      failures[static_cast<std::size_t>(rank)] = std::current_exception();
    }
  };
  {
    std::jthread other(run_rank, 1);
    run_rank(0);
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  print(outcome);
  return 0;
}

}  // namespace weft::tools::perf
