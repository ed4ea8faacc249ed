// weft-kmer: counts k-mers of sequencing reads on any number of ranks and threads.
#include "failure.hpp"
#include "input/synth.hpp"
#include "job.hpp"
#include "options.hpp"
#include "output/report.hpp"

#include <weft/testing/in_process_job.hpp>
#include <weft/weft.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "common/files/standard_output.hpp"

namespace {

/// Prints the text once, and before any rank ends: a launcher may end the others as soon as one has failed.
int end_together(weft::Runtime& runtime, const std::string& text, int exit_code) {
  if (runtime.rank() == 0) {
    fmt::print(exit_code == 0 ? stdout : stderr, "{}", text);
    std::fflush(stdout);
  }
  runtime.barrier();
  return exit_code;
}

int count(weft::Runtime& runtime, kmer::CountOptions options) {
  if (options.threads == 0)
    options.threads =
        std::clamp(static_cast<int>(std::thread::hardware_concurrency()) / runtime.size(), 1, 63);
  kmer::Job job(runtime, options);
  const bool good = job.run();
  if (runtime.rank() == 0) {
    if (good) {
      fmt::print("{}", kmer::table_report(job.report()));
      if (job.why_no_picture().empty())
        fmt::print("wrote {0}.counts, {0}.json and {0}.svg\n", options.prefix);
      else
        fmt::print("wrote {0}.counts and {0}.json; no {0}.svg: {1}\n", options.prefix, job.why_no_picture());
      std::fflush(stdout);
    } else {
      fmt::print(stderr, "weft-kmer: error: {}\n", job.error_line());
    }
  }
  job.barrier();
  return good ? 0 : 1;
}

/// The attributes that the command line sets.
struct NetworkSetting {
  std::array<weft::AttributeSetting, 1> setting;
  std::size_t used;
  [[nodiscard]] std::span<const weft::AttributeSetting> all() const { return std::span(setting).first(used); }
};

NetworkSetting network_setting(const kmer::CountOptions& options) {
  return {{{{"network", options.network.c_str()}}}, options.network.empty() ? std::size_t{0} : 1};
}

/// Runs all ranks in this process: one thread per rank, which starts its own workers.
int count_in_process(const kmer::CountOptions& options) {
  weft::InProcessJob job(options.ranks);
  const NetworkSetting setting = network_setting(options);
  std::vector<int> results(static_cast<std::size_t>(options.ranks), 1);
  std::mutex mutex;
  std::string error;
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < options.ranks; ++rank)
    ranks.emplace_back([&, rank] {
      try {
        weft::Runtime runtime(job, rank, weft::RuntimeOptions{.attributes = setting.all()});
        results[static_cast<std::size_t>(rank)] = count(runtime, options);
      } catch (const std::exception& caught) {
        // The others fail as well, because this one has left; only the first error tells the reason.
        const std::lock_guard lock(mutex);
        if (error.empty()) error = caught.what();
      }
    });
  for (std::thread& rank : ranks) rank.join();
  if (!error.empty()) fmt::print(stderr, "weft-kmer: error: {}\n", error);
  return *std::max_element(results.begin(), results.end());
}

}  // namespace

namespace {

int run_command(int argc, char** argv) {
  try {
    const kmer::Command command = kmer::parse_command(argc, argv);
    if (command.kind == kmer::Command::Kind::synth) {
      kmer::write_synthetic_reads(command.synth);
      return 0;
    }
    if (command.kind == kmer::Command::Kind::description) {
      fmt::print("{}", command.message);
      return 0;
    }
    if (command.kind == kmer::Command::Kind::message) {
      weft::Runtime runtime;
      const bool is_error = command.exit_code != 0;
      return end_together(
          runtime,
          is_error ? fmt::format("weft-kmer: error: {} (see --help)\n", command.message) : command.message,
          command.exit_code);
    }
    if (command.count.ranks > 0) return count_in_process(command.count);
    weft::Runtime runtime(weft::RuntimeOptions{.attributes = network_setting(command.count).all()});
    return count(runtime, command.count);
  } catch (const std::exception& error) {
    fmt::print(stderr, "weft-kmer: error: {}\n", weft::tools::reason_of(error));
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  return weft::tools::end_of_output("weft-kmer: error", run_command(argc, argv));
}
