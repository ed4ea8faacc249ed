// weft-kmer: counts k-mers of sequencing reads on any number of ranks and threads.
#include "failure.hpp"
#include "job.hpp"
#include "options.hpp"
#include "report.hpp"
#include "synth.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <exception>
#include <thread>

#include <fmt/format.h>

namespace {

/// Says it once, and before any rank ends: a launcher may end the others as soon as one has failed.
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
      fmt::print("wrote {0}.counts, {0}.json and {0}.svg\n", options.prefix);
      std::fflush(stdout);
    } else {
      fmt::print(stderr, "weft-kmer: error: {}\n", job.error_line());
    }
  }
  job.barrier();
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const kmer::Command command = kmer::parse_command(argc, argv);
    if (command.kind == kmer::Command::Kind::synth) {
      kmer::write_synthetic_reads(command.synth);
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
    weft::Runtime runtime;
    return count(runtime, command.count);
  } catch (const std::exception& error) {
    fmt::print(stderr, "weft-kmer: error: {}\n", error.what());
    return 1;
  }
}
