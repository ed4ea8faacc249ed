#include "job.hpp"

#include "counts_writer.hpp"
#include "plot.hpp"
#include "read_source.hpp"
#include "receiver.hpp"
#include "sender.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <thread>

#include <sys/resource.h>

#include <fmt/format.h>

namespace kmer {

namespace {

// Filter and table of a shard should stay in a core's second-level cache.
constexpr std::uint64_t kBasesPerShard = 80U << 10;
constexpr std::uint64_t kMostShardsPerReceiver = 4096;
constexpr std::uint64_t kFewestShardsPerReceiver = 16;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

ShardMap plan_shards(std::uint64_t bases, int receivers) {
  const auto count = static_cast<std::uint64_t>(receivers);
  const std::uint64_t wanted = bases / kBasesPerShard / count + 1;
  const auto each =
      static_cast<std::uint32_t>(std::clamp(wanted, kFewestShardsPerReceiver, kMostShardsPerReceiver));
  return {each, each * static_cast<std::uint32_t>(receivers)};
}

template <class Value>
std::string bytes_of_value(const Value& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class Value>
Value value_of_bytes(const std::string& bytes) {
  Value value{};
  std::memcpy(&value, bytes.data(), std::min(sizeof value, bytes.size()));
  return value;
}

}  // namespace

Job::Job(weft::Runtime& runtime, const CountOptions& options)
    : options_(options),
      exchange_(runtime, {.threads = options.threads, .progress = options.progress, .buffer = options.buffer},
                failure_),
      bar_(runtime.rank() == 0) {}

template <class Body>
void Job::on_all_threads(int threads, const Body& body) {
  const auto guarded = [&](int thread) {
    try {
      body(thread);
    } catch (const std::bad_alloc&) {
      failure_.report("out of memory: use more ranks on more hosts, or a smaller --memory");
    } catch (const std::exception& error) {
      failure_.report(error.what());
    }
  };
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(guarded, thread);
  guarded(0);
  for (std::thread& other : others) other.join();
}

bool Job::agree() {
  for (const std::string& message : exchange_.allgather(failure_.message())) {
    if (message.empty()) continue;
    error_line_ = message;
    return false;
  }
  return true;
}

bool Job::prepare() {
  try {
    files_ = inspect_inputs(options_.files);
    if (exchange_.rank() == 0) outputs_ = std::make_unique<Outputs>(options_.prefix, files_);
  } catch (const InputError& error) {
    failure_.report(error.what());
  }
  if (!agree()) return false;
  counts_path_ = exchange_.allgather(outputs_ ? outputs_->counts_path() : "")[0];
  return true;
}

template <int Words>
bool Job::count() {
  const int k = options_.k;
  const int workers = exchange_.workers();
  const int per_rank = exchange_.receivers_per_rank();
  const auto started = Clock::now();

  const auto units = plan_units(files_, exchange_.size(), workers)[exchange_.rank()];
  const ShardMap shards = plan_shards(estimate_bases(files_), exchange_.receivers());
  const BloomPlan bloom = plan_bloom(options_.false_positive_rate);
  std::vector<std::unique_ptr<Receiver<Words>>> receivers;
  for (int i = 0; i < per_rank; ++i) {
    receivers.push_back(std::make_unique<Receiver<Words>>(k, shards.per_receiver, bloom,
                                                          options_.memory / per_rank,
                                                          estimate_bases(files_) / shards.total + 1));
    exchange_.receiver_port(i).set_receiver(
        [this, receiver = receivers.back().get()](std::span<const std::uint8_t> records) {
          if (!receiver->accept(records))
            failure_.report("a damaged message arrived: do all ranks run the same program?");
        });
  }
  // No rank sends before all can receive.
  if (!agree()) return false;

  std::vector<bool> wanted(exchange_.receivers(), true);
  int spilled = 0;
  for (int pass = 1; pass <= 2; ++pass) {
    std::unique_ptr<ReadSource> source;
    try {
      source = std::make_unique<ReadSource>(files_, units, k);
    } catch (const InputError& error) {
      failure_.report(error.what());
    }
    std::atomic<std::uint64_t> reads{0}, kmers{0}, runs{0}, longest{0};
    on_all_threads(exchange_.ports(), [&](int thread) {
      Port& port = exchange_.port(thread);
      const int receiver = exchange_.receiver_of(thread);
      if (thread < workers) {
        Sender sender(port, k, options_.skip_ends, shards, wanted);
        try {
          RecordParser parser(k);
          TextBatch batch;
          while (source && !failure_.raised()) {
            const ReadSource::Answer answer = source->next(batch);
            if (answer == ReadSource::Answer::exhausted) break;
            if (answer == ReadSource::Answer::batch) source->parse(batch, parser, sender);
            if (port.serve() == 0 && answer == ReadSource::Answer::busy) std::this_thread::yield();
            if (thread == 0) bar_.show(pass == 1 ? "reading" : "again", source->progress());
          }
        } catch (const std::bad_alloc&) {
          failure_.report("out of memory: use more ranks on more hosts, or a smaller --memory");
        } catch (const std::exception& error) {
          failure_.report(error.what());
        }
        // Whatever has happened, the receivers must learn that this worker is done.
        port.finish_sending(failure_.raised());
        reads += sender.reads();
        kmers += sender.kmers();
        runs += sender.super_kmers();
        std::uint64_t before = longest.load();
        while (before < sender.longest() && !longest.compare_exchange_weak(before, sender.longest())) {
        }
      }
      if (receiver >= 0) {
        port.finish_receiving();
        if (!failure_.raised()) receivers[receiver]->end_pass();
      }
    });
    if (pass == 1) {
      own_.reads = reads;
      own_.kmers = kmers;
      own_.super_kmers = runs;
      own_.longest_read = longest;
    }
    if (!agree()) return false;

    std::string spills;
    for (const auto& receiver : receivers) spills += receiver->has_spilled() ? '1' : '0';
    std::string all;
    for (const std::string& part : exchange_.allgather(spills)) all += part;
    spilled = static_cast<int>(std::count(all.begin(), all.end(), '1'));
    if (spilled == 0) break;
    for (std::size_t i = 0; i < all.size(); ++i) wanted[i] = all[i] == '1';
  }

  // Reads that cannot hold a single k-mer are a mistake worth a word.
  Totals sums;
  for (const std::string& part : exchange_.allgather(bytes_of_value(own_))) {
    const auto other = value_of_bytes<Totals>(part);
    sums.reads += other.reads;
    sums.kmers += other.kmers;
    sums.longest_read = std::max(sums.longest_read, other.longest_read);
  }
  if (sums.reads == 0)
    error_line_ = fmt::format("{}: no reads", fmt::join(options_.files, ", "));
  else if (sums.longest_read < static_cast<std::uint64_t>(k))
    error_line_ =
        fmt::format("-k {}: longer than every read (the longest has {} bases)", k, sums.longest_read);
  if (!error_line_.empty()) return false;
  report_.timings.reading = seconds_since(started);
  tell(fmt::format("read {} reads with {} {}-mers", grouped(sums.reads), grouped(sums.kmers), k),
       report_.timings.reading);

  const auto counting = Clock::now();
  std::vector<Kept<Words>> kept(workers);
  std::atomic<std::size_t> next{0};
  const std::size_t tasks = static_cast<std::size_t>(per_rank) * shards.per_receiver;
  on_all_threads(workers, [&](int thread) {
    ShardCounter<Words> scratch(k, bloom);
    for (std::size_t task;
         (task = next.fetch_add(1, std::memory_order_relaxed)) < tasks && !failure_.raised();) {
      receivers[task / shards.per_receiver]->count(task % shards.per_receiver, scratch, kept[thread]);
      if (thread == 0) bar_.show("counting", static_cast<double>(task) / static_cast<double>(tasks));
    }
  });
  if (!agree()) return false;
  report_.timings.counting = seconds_since(counting);
  tell(fmt::format("counted them in {} shards", grouped(shards.total)), report_.timings.counting);

  const auto writing = Clock::now();
  std::vector<std::uint64_t> sizes(workers);
  Histogram histogram;
  for (int i = 0; i < workers; ++i) {
    sizes[i] = text_size(kept[i], k);
    own_.kept += kept[i].entries.size();
    for (const auto& entry : kept[i].entries) own_.kept_occurrences += entry.count;
    histogram.add(kept[i].histogram);
  }
  std::uint64_t own_size = 0;
  for (const std::uint64_t size : sizes) own_size += size;
  std::uint64_t offset = 0;
  const std::vector<std::string> all_sizes = exchange_.allgather(bytes_of_value(own_size));
  for (int rank = 0; rank < exchange_.rank(); ++rank)
    offset += value_of_bytes<std::uint64_t>(all_sizes[rank]);
  on_all_threads(workers, [&](int thread) {
    std::uint64_t at = offset;
    for (int i = 0; i < thread; ++i) at += sizes[i];
    const File file = File::open_output(counts_path_);
    write_counts(kept[thread], k, file, at);
  });
  report_.timings.writing = seconds_since(writing);
  gather_totals(histogram, spilled);
  return agree();
}

void Job::gather_totals(const Histogram& histogram, int spilled) {
  for (int i = 0; i < exchange_.ports(); ++i) {
    own_.messages += exchange_.port(i).messages_sent();
    own_.message_bytes += exchange_.port(i).bytes_sent();
  }
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  own_.peak_memory = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;

  Totals& totals = report_.totals;
  for (const std::string& part : exchange_.allgather(bytes_of_value(own_))) {
    const auto other = value_of_bytes<Totals>(part);
    totals.reads += other.reads;
    totals.longest_read = std::max(totals.longest_read, other.longest_read);
    totals.kmers += other.kmers;
    totals.super_kmers += other.super_kmers;
    totals.kept += other.kept;
    totals.kept_occurrences += other.kept_occurrences;
    totals.messages += other.messages;
    totals.message_bytes += other.message_bytes;
    totals.peak_memory += other.peak_memory;
  }
  // What was not kept occurred once.
  totals.distinct = totals.kmers - totals.kept_occurrences + totals.kept;
  totals.spilled_receivers = spilled;

  const std::vector<std::byte> bins = histogram.to_bytes();
  const std::vector<std::string> parts =
      exchange_.allgather({reinterpret_cast<const char*>(bins.data()), bins.size()});
  if (exchange_.rank() != 0) return;
  for (const std::string& part : parts)
    report_.histogram.add_bytes(std::as_bytes(std::span(part.data(), part.size())));
}

void Job::tell(const std::string& done, double seconds) {
  if (exchange_.rank() != 0) return;
  bar_.clear();
  fmt::print("{} ({:.3f} s)\n", done, seconds);
  std::fflush(stdout);
}

bool Job::finish() {
  if (exchange_.rank() == 0) {
    try {
      outputs_->write_svg(plot_histogram(report_.histogram, report_.options.k));
      outputs_->write_json(json_report(report_));
      outputs_->commit();
    } catch (const InputError& error) {
      failure_.report(error.what());
    }
  }
  return agree();
}

bool Job::run() {
  const auto started = Clock::now();
  report_.options = options_;
  report_.ranks = exchange_.size();
  const auto counted = [&] {
    switch (words_for(options_.k)) {
      case 1:
        return count<1>();
      case 2:
        return count<2>();
      case 3:
        return count<3>();
      default:
        return count<4>();
    }
  };
  bool good = prepare() && counted();
  bar_.clear();
  if (good) {
    report_.timings.total = seconds_since(started);
    good = finish();
  }
  // Temporary files go now: once a rank has ended with an error, a launcher may kill this one.
  if (!good) outputs_.reset();
  return good;
}

}  // namespace kmer
