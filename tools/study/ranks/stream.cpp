// Message rate against injection rate: rank 0 makes tasks, at a rate, each of which sends a batch of parcels
// to rank 1, which says when all have come.
#include <weft/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "study/ranks/workload.hpp"

namespace weft::tools::study {

namespace {

using parcel::action;
using parcel::Runtime;

struct Stream {
  std::uint64_t messages = 0;
  std::uint64_t batch = 0;
  std::size_t bytes = 0;
  bool is_kept = false;  // parcel::Array instead of std::vector
  std::atomic<std::uint64_t> received{0};
  std::atomic<std::uint64_t> sum{0};
  std::atomic<std::uint64_t> batches_sent{0};
  std::atomic<std::int64_t> sent_at{0};
  parcel::Promise<std::uint64_t> all_received;
};
std::unique_ptr<Stream> stream;

void all_have_come(std::uint64_t sum) { stream->all_received.set(sum); }

void count(Runtime& runtime, std::uint64_t number) {
  stream->sum.fetch_add(number, std::memory_order_relaxed);
  if (stream->received.fetch_add(1, std::memory_order_acq_rel) + 1 == stream->messages)
    runtime.apply(0, action<&all_have_come>, stream->sum.load());
}
void take_word(Runtime& runtime, std::uint64_t number) { count(runtime, number); }
void take_array(Runtime& runtime, std::vector<std::uint64_t> words) { count(runtime, words.front()); }

void take_kept(Runtime& runtime, parcel::Array<std::uint64_t> words) { count(runtime, words.front()); }

void send_batch(Runtime& runtime, std::uint64_t first) {
  for (std::uint64_t number = first; number < first + stream->batch; ++number) {
    if (stream->bytes <= sizeof number) {
      runtime.apply(1, action<&take_word>, number);
    } else if (stream->is_kept) {
      parcel::Array<std::uint64_t> words(stream->bytes / sizeof number);
      words.front() = number;
      runtime.apply(1, action<&take_kept>, std::move(words));
    } else {
      std::vector<std::uint64_t> words(stream->bytes / sizeof number);
      words.front() = number;
      runtime.apply(1, action<&take_array>, std::move(words));
    }
  }
  if (stream->batches_sent.fetch_add(1) + 1 == stream->messages / stream->batch) stream->sent_at = now_ns();
}

}  // namespace

Json run_stream(Runtime& runtime, const Json& parameters) {
  if (runtime.size() != 2) throw Error("the study of message rates needs two ranks");
  const double injection = parameters.value("injection", 0.0);  // messages per second; 0: no limit
  Json figures;
  for (const bool is_warm_up : {true, false}) {
    stream = std::make_unique<Stream>();
    stream->batch = parameters.value("batch", 100);
    stream->messages = parameters.value("messages", 100'000);
    if (is_warm_up)
      stream->messages = std::max<std::uint64_t>(1, stream->messages / 20 / stream->batch) * stream->batch;
    stream->bytes = parameters.value("bytes", 8);
    stream->is_kept = parameters.value("array", false);
    auto all_received = stream->all_received.future();
    CountersOf counters(runtime);
    const std::int64_t begin = now_ns();
    if (runtime.rank() == 0) {
      const double pause = injection > 0 ? 1e9 * static_cast<double>(stream->batch) / injection : 0;
      for (std::uint64_t batch = 0; batch < stream->messages / stream->batch; ++batch) {
        const std::int64_t due = begin + static_cast<std::int64_t>(pause * static_cast<double>(batch));
        // Asleep, since this thread and the worker may share a core; what is late is made up for.
        if (const std::int64_t left = due - now_ns(); left > 0)
          std::this_thread::sleep_for(std::chrono::nanoseconds(left));
        runtime.apply(0, action<&send_batch>, batch * stream->batch);
      }
      const std::uint64_t sum = all_received.get();
      const auto elapsed = static_cast<double>(now_ns() - begin) * 1e-9;
      const std::uint64_t messages = stream->messages;
      if (sum != messages * (messages - 1) / 2)
        throw Error("the numbers that have come are not those that were sent");
      figures["messages_per_s"] = static_cast<double>(messages) / elapsed;
      figures["bytes_per_s"] = static_cast<double>(messages * stream->bytes) / elapsed;
    }
    runtime.wait_quiet();
    // The last parcels may be answered before their batch has noted its end.
    if (runtime.rank() == 0)
      figures["injected_per_s"] =
          static_cast<double>(stream->messages) * 1e9 / static_cast<double>(stream->sent_at.load() - begin);
    figures["counters"] = counters.changes();
  }
  return figures;
}

}  // namespace weft::tools::study
