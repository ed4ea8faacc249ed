#include "options.hpp"

#include "count/receiver.hpp"
#include "failure.hpp"
#include "kmer.hpp"

#include <cctype>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace kmer {

namespace {

constexpr int kUsageError = 2;
constexpr int kMostThreads = 63;  // devices of a rank, less one for a dedicated receiver
constexpr int kMostRanksInProcess = 64;
constexpr std::size_t kSmallestBuffer = 256;
constexpr std::size_t kLargestBuffer = std::size_t{16} << 20;
static_assert(kLargestRecord < kSmallestBuffer);

std::uint64_t parse_scaled(const std::string& option, const std::string& text, std::uint64_t step,
                           const char* example) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, value);
  std::uint64_t factor = 1;
  bool good = problem == std::errc() && rest + 1 >= end;
  if (good && rest + 1 == end) {
    const std::string_view units = "KMGT";
    const std::size_t unit = units.find(static_cast<char>(std::toupper(static_cast<unsigned char>(*rest))));
    good = unit != std::string_view::npos;
    for (std::size_t i = 0; good && i <= unit; ++i) factor *= step;
  }
  if (!good || value > UINT64_MAX / factor)
    throw InputError(
        fmt::format("{}: '{}' is not a size: expected a number such as {}", option, text, example));
  return value * factor;
}

void require(bool holds, const std::string& message) {
  if (!holds) throw InputError(message);
}

Command parse_synth(int argc, const char* const* argv) {
  Command command;
  SynthOptions& options = command.synth;
  CLI::App app{
      "Writes reads of a seeded random genome as FASTQ: the same options give the same file everywhere.",
      "weft-kmer synth"};
  std::string length = "5M";
  app.add_option("--length", length, "Bases of the genome (5M = 5,000,000)")
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--coverage", options.coverage, "Reads that cover each base, on average")
      ->capture_default_str()
      ->type_name("X");
  app.add_option("--read-length", options.read_length, "Bases of a read")
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--error", options.error_rate, "Probability that a base is read as another one")
      ->capture_default_str()
      ->type_name("P");
  app.add_option("--seed", options.seed, "Seed of all randomness")->capture_default_str()->type_name("N");
  app.add_option("-o,--output", options.output,
                 "File to write; replaced only if it was written by this command")
      ->required()
      ->type_name("FILE");
  app.footer(
      "Example: weft-kmer synth --length 5M --coverage 30 --read-length 100 --error 0.01 --seed 1 -o "
      "reads.fq");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    command.message = app.help();
    return command;
  } catch (const CLI::ParseError& error) {
    throw InputError(error.what());
  }
  options.length = parse_length("--length", length);
  require(options.length >= 1, "--length 0: a genome has at least one base");
  require(options.read_length >= 1 && options.read_length <= options.length,
          fmt::format("--read-length {}: expected 1 to the genome's length, {}", options.read_length,
                      options.length));
  require(options.coverage > 0 && options.coverage <= 1e6,
          fmt::format("--coverage {}: expected a number above 0, up to 1000000", options.coverage));
  require(options.error_rate >= 0 && options.error_rate <= 1,
          fmt::format("--error {}: expected a probability, 0 to 1", options.error_rate));
  command.kind = Command::Kind::synth;
  return command;
}

/// Options of `weft-kmer` that are read as text.
struct TypedCountOptions {
  std::string buffer = "8K";
  std::string memory = "1G";
  std::string progress = "workers";
};

void add_count_options(CLI::App& app, CountOptions& options, TypedCountOptions& typed) {
  app.add_option("-k", options.k, "Length of the k-mers: odd, 1 to 127")->required()->type_name("K");
  app.add_option("-o,--output", options.prefix,
                 "Prefix of the output files. Existing files are replaced only if PREFIX.json "
                 "shows that this command wrote them, and never if they are inputs")
      ->required()
      ->type_name("PREFIX");
  app.add_option("files", options.files, "FASTA or FASTQ files, plain or gzip; told by their content")
      ->required()
      ->type_name("FILES");
  app.add_option("-t,--threads", options.threads,
                 "Worker threads per rank; default: the processors, divided by the ranks")
      ->type_name("N");
  app.add_flag("--skip-ends", options.skip_ends,
               "Leave out the first and the last k-mer of each read, as HipMer does");
  app.add_option("--progress", typed.progress,
                 "Who receives: 'workers' (every thread sends and serves) or 'dedicated' (one more "
                 "thread per rank serves)")
      ->check(CLI::IsMember({"workers", "dedicated"}))
      ->capture_default_str()
      ->type_name("WHO");
  app.add_option("--buffer", typed.buffer,
                 "Bytes aggregated per destination, sent as one active message; 256 to 16M")
      ->capture_default_str()
      ->type_name("BYTES");
  app.add_option("--memory", typed.memory,
                 "Packed reads that a rank keeps between the passes; beyond, the input is read twice")
      ->capture_default_str()
      ->type_name("BYTES");
  app.add_option("--false-positives", options.false_positive_rate,
                 "Share of unseen k-mers that a layer of the Bloom filter takes for "
                 "seen; affects memory and time, never the result")
      ->capture_default_str()
      ->type_name("RATE");
  app.add_option("--network", options.network,
                 "Network between the ranks: 'shm', 'ofi', 'mixed', or 'sim' with --in-process (default: "
                 "WEFT_NETWORK)")
      ->check(CLI::IsMember({"auto", "shm", "ofi", "mixed", "sim"}))
      ->type_name("NAME");
  app.add_option("--in-process", options.ranks, "Run N ranks in this process, without a launcher; 2 to 64")
      ->type_name("N");
  app.set_version_flag("--version", fmt::format("weft-kmer {}", weft::library_version()));
  app.footer(
      "Examples:\n  weft-kmer -k 51 -o lambda reads_1.fq.gz reads_2.fq.gz\n"
      "  weft run -n 2 -- weft-kmer -k 51 -t 2 -o lambda reads_1.fq.gz reads_2.fq.gz\n"
      "  weft-kmer synth --help      reads of a random genome");
}

/// Throws InputError for a value that is not valid.
void check_count_options(const CLI::App& app, CountOptions& options, const TypedCountOptions& typed) {
  require(options.k >= 1 && options.k <= kLongest,
          fmt::format("-k {}: expected an odd number from 1 to {}", options.k, kLongest));
  require(options.k % 2 == 1,
          fmt::format("-k {}: expected an odd number (an even k-mer can be its own reverse complement)",
                      options.k));
  require(options.threads >= 0 && options.threads <= kMostThreads &&
              (options.threads > 0 || app.count("--threads") == 0),
          fmt::format("--threads {}: expected 1 to {}", options.threads, kMostThreads));
  require((options.ranks >= 2 && options.ranks <= kMostRanksInProcess) || app.count("--in-process") == 0,
          fmt::format("--in-process {}: expected 2 to {}", options.ranks, kMostRanksInProcess));
  require(options.network != "sim" || options.ranks > 0,
          "--network sim: this network connects ranks of one process: add --in-process N");
  options.progress = typed.progress == "workers" ? Progress::workers : Progress::dedicated;
  options.buffer = parse_bytes("--buffer", typed.buffer);
  require(options.buffer >= kSmallestBuffer && options.buffer <= kLargestBuffer,
          fmt::format("--buffer {}: expected {} bytes to 16M", typed.buffer, kSmallestBuffer));
  options.memory = parse_bytes("--memory", typed.memory);
  require(
      options.false_positive_rate >= 0.0001 && options.false_positive_rate <= 0.9,
      fmt::format("--false-positives {}: expected a rate from 0.0001 to 0.9", options.false_positive_rate));
}

Command parse_count(int argc, const char* const* argv) {
  Command command;
  CLI::App app{
      "Counts the canonical k-mers that occur at least twice in sequencing reads, exactly, on any number of "
      "ranks and "
      "threads.\nWrites PREFIX.counts (lines 'KMER COUNT', any order), PREFIX.json and PREFIX.svg "
      "(histogram).",
      "weft-kmer"};
  TypedCountOptions typed;
  add_count_options(app, command.count, typed);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    command.message = app.help();
    return command;
  } catch (const CLI::CallForVersion& version) {
    command.message = fmt::format("{}\n", version.what());
    return command;
  } catch (const CLI::ParseError& error) {
    throw InputError(error.what());
  }
  check_count_options(app, command.count, typed);
  command.kind = Command::Kind::count;
  return command;
}

}  // namespace

std::size_t parse_bytes(const std::string& option, const std::string& text) {
  return parse_scaled(option, text, 1024, "65536, 64K or 2M");
}

std::uint64_t parse_length(const std::string& option, const std::string& text) {
  return parse_scaled(option, text, 1000, "48502, 100K or 5M");
}

Command parse_command(int argc, const char* const* argv) {
  try {
    if (argc > 1 && std::string_view(argv[1]) == "synth") return parse_synth(argc - 1, argv + 1);
    return parse_count(argc, argv);
  } catch (const InputError& error) {
    Command command;
    command.message = error.what();
    command.exit_code = kUsageError;
    return command;
  }
}

}  // namespace kmer
