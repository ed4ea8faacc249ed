#include "job.hpp"

#include "count/counting.hpp"
#include "count/gather_values.hpp"
#include "count/sender.hpp"
#include "count/worker_threads.hpp"
#include "input/read_source.hpp"
#include "output/counts_writer.hpp"
#include "output/plot.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>

#include <sys/resource.h>

#include <fmt/format.h>

#include "common/chart_picture.hpp"
#include "common/stopwatch.hpp"

namespace kmer {

namespace {

using weft::tools::Stopwatch;

// Filter and table of a shard should stay in a core's second-level cache.
constexpr std::uint64_t kBasesPerShard = 80U << 10;
constexpr std::uint64_t kMostShardsPerReceiver = 4096;
constexpr std::uint64_t kFewestShardsPerReceiver = 16;

ShardMap plan_shards(std::uint64_t bases, int receivers) {
  const auto count = static_cast<std::uint64_t>(receivers);
  const std::uint64_t wanted = bases / kBasesPerShard / count + 1;
  const auto each =
      static_cast<std::uint32_t>(std::clamp(wanted, kFewestShardsPerReceiver, kMostShardsPerReceiver));
  return {each, each * static_cast<std::uint32_t>(receivers)};
}

/// Totals of the reads of a rank's workers in a pass.
class ReadTally {
 public:
  /// Any thread.
  void add(const Sender& sender) {
    reads_ += sender.reads();
    kmers_ += sender.kmers();
    super_kmers_ += sender.super_kmers();
    std::uint64_t before = longest_.load();
    while (before < sender.longest() && !longest_.compare_exchange_weak(before, sender.longest())) {
    }
  }
  void store_in(Totals& totals) const {
    totals.reads = reads_;
    totals.kmers = kmers_;
    totals.super_kmers = super_kmers_;
    totals.longest_read = longest_;
  }

 private:
  std::atomic<std::uint64_t> reads_{0}, kmers_{0}, super_kmers_{0}, longest_{0};
};

}  // namespace

Job::Job(weft::Runtime& runtime, const CountOptions& options)
    : options_(options),
      exchange_(runtime, {.threads = options.threads, .progress = options.progress, .buffer = options.buffer},
                failure_),
      bar_(runtime.rank() == 0, std::chrono::milliseconds(100)) {}

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
  const Stopwatch reading;
  Counting<Words> counting = plan<Words>();
  if (!open_receivers(counting) || !exchange_reads(counting) || !check_reads(reading.seconds())) return false;
  if (!count_shards(counting)) return false;
  const Histogram histogram = write_kept(counting);
  gather_totals(histogram, counting.spilled);
  return agree();
}

template <int Words>
Counting<Words> Job::plan() const {
  return {.units = plan_units(files_, exchange_.size(), exchange_.workers())[exchange_.rank()],
          .shards = plan_shards(estimate_bases(files_), exchange_.receivers()),
          .bloom = plan_bloom(options_.false_positive_rate)};
}

template <int Words>
bool Job::open_receivers(Counting<Words>& counting) {
  const int count = exchange_.receivers_per_rank();
  const std::uint64_t expected_keys = estimate_bases(files_) / counting.shards.total + 1;
  for (int i = 0; i < count; ++i) {
    counting.receivers.push_back(std::make_unique<Receiver<Words>>(
        options_.k, counting.shards.per_receiver, counting.bloom, options_.memory / count, expected_keys));
    exchange_.receiver_port(i).set_receiver(
        [this, receiver = counting.receivers.back().get()](std::span<const std::uint8_t> records) {
          if (!receiver->accept(records))
            failure_.report("a damaged message arrived: do all ranks run the same program?");
        });
  }
  // No rank sends before all ranks can receive.
  return agree();
}

template <int Words>
bool Job::exchange_reads(Counting<Words>& counting) {
  std::vector<bool> wanted(exchange_.receivers(), true);
  for (int pass = 1; pass <= 2; ++pass) {
    make_pass(pass, counting, wanted);
    if (!agree()) return false;
    std::string spills;
    for (const std::string& part : exchange_.allgather(counting.spills())) spills += part;
    counting.spilled = static_cast<int>(std::count(spills.begin(), spills.end(), '1'));
    if (counting.spilled == 0) break;
    for (std::size_t i = 0; i < spills.size(); ++i) wanted[i] = spills[i] == '1';
  }
  return true;
}

template <int Words>
void Job::make_pass(int pass, Counting<Words>& counting, const std::vector<bool>& wanted) {
  std::unique_ptr<ReadSource> source;
  try {
    source = std::make_unique<ReadSource>(files_, counting.units, options_.k);
  } catch (const InputError& error) {
    failure_.report(error.what());
  }
  ReadTally tally;
  on_all_threads(exchange_.ports(), failure_, [&](int thread) {
    Port& port = exchange_.port(thread);
    if (thread < exchange_.workers()) {
      Sender sender(port, options_.k, options_.skip_ends, counting.shards, wanted);
      run_guarded(failure_, [&] { send_reads(pass, port, source.get(), sender); });
      // In any case the receivers must learn that this worker has finished.
      port.finish_sending(failure_.raised());
      tally.add(sender);
    }
    if (const int receiver = exchange_.receiver_of(thread); receiver >= 0) {
      port.finish_receiving();
      if (!failure_.raised()) counting.receivers[receiver]->end_pass();
    }
  });
  if (pass == 1) tally.store_in(own_);
}

void Job::send_reads(int pass, Port& port, ReadSource* source, Sender& sender) {
  RecordParser parser(options_.k);
  TextBatch batch;
  while (source != nullptr && !failure_.raised()) {
    const ReadSource::Answer answer = source->next(batch);
    if (answer == ReadSource::Answer::exhausted) break;
    if (answer == ReadSource::Answer::batch) source->parse(batch, parser, sender);
    if (port.serve() == 0 && answer == ReadSource::Answer::busy) std::this_thread::yield();
    if (&port == &exchange_.port(0)) bar_.show_share(pass == 1 ? "reading" : "again", source->progress());
  }
}

bool Job::check_reads(double seconds) {
  Totals sums;
  for (const Totals& other : gather_values(exchange_, own_)) {
    sums.reads += other.reads;
    sums.kmers += other.kmers;
    sums.longest_read = std::max(sums.longest_read, other.longest_read);
  }
  const int k = options_.k;
  if (sums.reads == 0)
    error_line_ = fmt::format("{}: no reads", fmt::join(options_.files, ", "));
  else if (sums.longest_read < static_cast<std::uint64_t>(k))
    error_line_ =
        fmt::format("-k {}: longer than every read (the longest has {} bases)", k, sums.longest_read);
  if (!error_line_.empty()) return false;
  report_.timings.reading = seconds;
  tell(fmt::format("read {} reads with {} {}-mers", grouped(sums.reads), grouped(sums.kmers), k), seconds);
  return true;
}

template <int Words>
bool Job::count_shards(Counting<Words>& counting) {
  const Stopwatch watch;
  counting.kept.resize(exchange_.workers());
  const std::size_t per_receiver = counting.shards.per_receiver;
  const std::size_t tasks = counting.receivers.size() * per_receiver;
  std::atomic<std::size_t> next{0};
  on_all_threads(exchange_.workers(), failure_, [&](int thread) {
    ShardCounter<Words> scratch(options_.k, counting.bloom);
    for (std::size_t task;
         (task = next.fetch_add(1, std::memory_order_relaxed)) < tasks && !failure_.raised();) {
      counting.receivers[task / per_receiver]->count(task % per_receiver, scratch, counting.kept[thread]);
      if (thread == 0) bar_.show_share("counting", static_cast<double>(task) / static_cast<double>(tasks));
    }
  });
  if (!agree()) return false;
  report_.timings.counting = watch.seconds();
  tell(fmt::format("counted them in {} shards", grouped(counting.shards.total)), report_.timings.counting);
  return true;
}

template <int Words>
Histogram Job::write_kept(const Counting<Words>& counting) {
  const Stopwatch watch;
  Histogram histogram;
  std::vector<std::uint64_t> ends{0};  // ends of the workers' lines within those of the rank
  for (const Kept<Words>& kept : counting.kept) {
    ends.push_back(ends.back() + text_size(kept, options_.k));
    own_.kept += kept.entries.size();
    for (const auto& entry : kept.entries) own_.kept_occurrences += entry.count;
    histogram.add(kept.histogram);
  }
  std::uint64_t offset = 0;
  const std::vector<std::uint64_t> sizes = gather_values(exchange_, ends.back());
  for (int rank = 0; rank < exchange_.rank(); ++rank) offset += sizes[rank];
  on_all_threads(exchange_.workers(), failure_, [&](int thread) {
    const File file = File::open_output(counts_path_);
    write_counts(counting.kept[thread], options_.k, file, offset + ends[thread]);
  });
  report_.timings.writing = watch.seconds();
  return histogram;
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
  for (const Totals& other : gather_values(exchange_, own_)) {
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
  // K-mers that were not kept occurred once.
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
      weft::tools::ChartPicture picture =
          weft::tools::chart_picture(chart_histogram(report_.histogram, report_.options.k));
      if (picture.svg.empty())
        outputs_->leave_out_svg();
      else
        outputs_->write_svg(picture.svg);
      why_no_picture_ = std::move(picture.why_not);
      outputs_->write_json(json_report(report_));
      outputs_->commit();
    } catch (const InputError& error) {
      failure_.report(error.what());
    }
  }
  return agree();
}

bool Job::run() {
  const Stopwatch watch;
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
    report_.timings.total = watch.seconds();
    good = finish();
  }
  // Temporary files are removed now: once a rank has ended with an error, a launcher may kill this one.
  if (!good) outputs_.reset();
  return good;
}

}  // namespace kmer
