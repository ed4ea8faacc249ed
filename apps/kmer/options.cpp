#include "options.hpp"

#include "count/receiver.hpp"
#include "failure.hpp"
#include "kmer.hpp"

#include "common/commands/command_line.hpp"
#include "common/commands/option_values.hpp"

#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace kmer {

namespace {

constexpr int kUsageError = 2;
constexpr int kMostThreads = 63;  // devices of a rank, less one for a dedicated receiver
constexpr int kMostRanksInProcess = 64;
constexpr std::size_t kSmallestBuffer = 256;
constexpr std::size_t kLargestBuffer = std::size_t{16} << 20;
constexpr const char* kNetworks = "auto|shm|ofi|ibv|mixed|tcp|sim";
static_assert(kLargestRecord < kSmallestBuffer);

using weft::tools::choice_value;
using weft::tools::CommandDescription;
using weft::tools::CommandEnd;
using weft::tools::integer_value;
using weft::tools::number_value;
using weft::tools::OptionError;
using weft::tools::parse_command_line;
using weft::tools::size_value;

void require(bool holds, const std::string& message) {
  if (!holds) throw InputError(message);
}

/// Options of `weft-kmer synth` as typed.
struct TypedSynthOptions {
  std::string length = "5M";
  std::string coverage = "30";
  std::string read_length = "100";
  std::string error_rate = "0.01";
  std::string seed = "1";
};

void add_synth_options(CLI::App& app, TypedSynthOptions& typed, SynthOptions& options) {
  app.add_option("--length", typed.length, "Bases of the genome (5M = 5,000,000)")
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--coverage", typed.coverage, "Reads that cover each base, on average")
      ->capture_default_str()
      ->type_name("X");
  app.add_option("--read-length", typed.read_length, "Bases of a read")
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--error", typed.error_rate, "Probability that a base is read as another one")
      ->capture_default_str()
      ->type_name("P");
  app.add_option("--seed", typed.seed, "Seed of all randomness")->capture_default_str()->type_name("N");
  app.add_option("-o,--output", options.output,
                 "File to write; replaced only if it was written by this command")
      ->required()
      ->type_name("FILE");
  app.footer("Example:\n  weft-kmer synth --length 5M --coverage 30 --error 0.01 -o reads.fq");
}

constexpr const char* kSynthSummary =
    "Writes reads of a seeded random genome as FASTQ: the same options give the same file everywhere.";

/// Throws InputError or OptionError for a value that is not valid.
void read_synth_options(const TypedSynthOptions& typed, SynthOptions& options) {
  options.length = parse_length("--length", typed.length);
  require(options.length >= 1, "--length 0: a genome has at least one base");
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  options.read_length =
      static_cast<std::uint64_t>(integer_value("--read-length", typed.read_length, 1, kMost));
  require(options.read_length <= options.length,
          fmt::format("--read-length {}: expected 1 to the genome's length, {}", options.read_length,
                      options.length));
  options.coverage = number_value("--coverage", typed.coverage, 0, 1e6);
  require(options.coverage > 0, "--coverage 0: expected a number above 0, up to 1000000");
  options.error_rate = number_value("--error", typed.error_rate, 0, 1);
  options.seed = static_cast<std::uint64_t>(integer_value("--seed", typed.seed, 0, kMost));
}

/// The end of a call without work to do: help, or what is wrong.
Command message_of(CommandEnd end) {
  Command command;
  command.message = std::move(end.text);
  command.exit_code = end.exit_code;
  return command;
}

Command parse_synth(int argc, const char* const* argv) {
  Command command;
  CLI::App app{kSynthSummary, "weft-kmer synth"};
  TypedSynthOptions typed;
  add_synth_options(app, typed, command.synth);
  if (auto end = parse_command_line(app, argc, argv, {})) return message_of(std::move(*end));
  read_synth_options(typed, command.synth);
  command.kind = Command::Kind::synth;
  return command;
}

/// Options of `weft-kmer` as typed.
struct TypedCountOptions {
  std::string k;
  std::string threads;
  std::string ranks;
  std::string false_positive_rate = "0.05";
  std::string buffer = "8K";
  std::string memory = "1G";
  std::string progress = "workers";
};

void add_count_options(CLI::App& app, CountOptions& options, TypedCountOptions& typed) {
  app.add_option("-k", typed.k, "Length of the k-mers: odd, 1 to 127")->required()->type_name("K");
  app.add_option("-o,--output", options.prefix,
                 "Prefix of the output files. Existing files are replaced only if PREFIX.json "
                 "shows that this command wrote them, and never if they are inputs")
      ->required()
      ->type_name("PREFIX");
  app.add_option("files", options.files, "FASTA or FASTQ files, plain or gzip; told by their content")
      ->required()
      ->type_name("FILES");
  app.add_option("-t,--threads", typed.threads,
                 "Worker threads per rank; default: the processors, divided by the ranks")
      ->type_name("N");
  app.add_flag("--skip-ends", options.skip_ends,
               "Leave out the first and the last k-mer of each read, as HipMer does");
  app.add_option("--progress", typed.progress,
                 "Who receives: 'workers' (every thread sends and serves) or 'dedicated' (one more "
                 "thread per rank serves)")
      ->capture_default_str()
      ->type_name("workers|dedicated");
  app.add_option("--buffer", typed.buffer,
                 "Bytes aggregated per destination, sent as one active message; 256 to 16M")
      ->capture_default_str()
      ->type_name("BYTES");
  app.add_option("--memory", typed.memory,
                 "Packed reads that a rank keeps between the passes; beyond, the input is read twice")
      ->capture_default_str()
      ->type_name("BYTES");
  app.add_option("--false-positives", typed.false_positive_rate,
                 "Share of unseen k-mers that a layer of the Bloom filter takes for "
                 "seen; affects memory and time, never the result")
      ->capture_default_str()
      ->type_name("RATE");
  app.add_option("--network", options.network,
                 "Network between the ranks: 'shm', 'tcp', 'ofi', 'ibv', 'mixed', or 'sim' with --in-process "
                 "(default: WEFT_NETWORK)")
      ->type_name(kNetworks);
  app.add_option("--in-process", typed.ranks, "Run N ranks in this process, without a launcher; 2 to 64")
      ->type_name("N");
  app.set_version_flag("-V,--version", fmt::format("weft-kmer {}", weft::library_version()));
  app.footer(
      "Examples:\n  weft-kmer -k 51 -o lambda reads_1.fq.gz reads_2.fq.gz\n"
      "  weft run -n 2 -- weft-kmer -k 51 -t 2 -o lambda reads_*.fq.gz\n"
      "  weft-kmer synth --help      reads of a random genome");
}

/// Throws InputError when two names are those of one file, whose reads would be counted twice.
void require_different_files(const std::vector<std::string>& files) {
  for (std::size_t i = 0; i < files.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      std::error_code error;  // of a file that cannot be read is told when it is opened
      const bool is_same = files[i] == files[j] || std::filesystem::equivalent(files[i], files[j], error);
      const std::string other = files[i] == files[j] ? "" : fmt::format(", as {} as well", files[j]);
      require(!is_same, fmt::format("{}: the same file is given twice{}; its reads would be counted twice",
                                    files[i], other));
    }
}

/// Throws InputError or OptionError for a value that is not valid.
void check_count_options(const CLI::App& app, CountOptions& options, const TypedCountOptions& typed) {
  options.k = static_cast<int>(integer_value("-k", typed.k, 1, kLongest));
  require(options.k % 2 == 1,
          fmt::format("-k {}: expected an odd number (an even k-mer can be its own reverse complement)",
                      options.k));
  if (app.count("--threads") > 0)
    options.threads = static_cast<int>(integer_value("--threads", typed.threads, 1, kMostThreads));
  if (app.count("--in-process") > 0)
    options.ranks = static_cast<int>(integer_value("--in-process", typed.ranks, 2, kMostRanksInProcess));
  if (app.count("--network") > 0) choice_value("--network", options.network, kNetworks);
  require(options.network != "sim" || options.ranks > 0,
          "--network sim: this network connects ranks of one process: add --in-process N");
  choice_value("--progress", typed.progress, "workers|dedicated");
  require_different_files(options.files);
  options.progress = typed.progress == "workers" ? Progress::workers : Progress::dedicated;
  options.buffer =
      static_cast<std::size_t>(size_value("--buffer", typed.buffer, kSmallestBuffer, kLargestBuffer));
  options.memory = static_cast<std::size_t>(size_value("--memory", typed.memory, 0, INT64_MAX));
  options.false_positive_rate = number_value("--false-positives", typed.false_positive_rate, 0.0001, 0.9);
}

/// The manual page and the completion, of both commands.
std::optional<CommandEnd> describe_all(const CLI::App& app, int argc, const char* const* argv) {
  CLI::App synth{kSynthSummary, "weft-kmer synth"};
  TypedSynthOptions typed;
  SynthOptions options;
  add_synth_options(synth, typed, options);
  CommandDescription description = weft::tools::describe(app);
  description.commands.push_back(weft::tools::describe(synth));
  const weft::tools::ManualNotes notes{.short_summary = "count the k-mers of sequencing reads on many ranks",
                                       .see_also = {"weft(1)", "weft-run(1)"}};
  return weft::tools::describe_command(description, argc, argv, notes, true);
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
  if (auto end = describe_all(app, argc, argv)) {
    command = message_of(std::move(*end));
    if (command.exit_code == 0) command.kind = Command::Kind::description;
    return command;
  }
  if (auto end = parse_command_line(app, argc, argv, {})) return message_of(std::move(*end));
  check_count_options(app, command.count, typed);
  command.kind = Command::Kind::count;
  return command;
}

}  // namespace

std::uint64_t parse_length(const std::string& option, const std::string& text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, value);
  std::uint64_t factor = 1;
  bool good = problem == std::errc() && rest + 1 >= end;
  if (good && rest + 1 == end) {
    const std::string_view units = "KMGT";
    const std::size_t unit = units.find(static_cast<char>(std::toupper(static_cast<unsigned char>(*rest))));
    good = unit != std::string_view::npos;
    for (std::size_t i = 0; good && i <= unit; ++i) factor *= 1000;
  }
  if (!good || value > UINT64_MAX / factor)
    throw InputError(
        fmt::format("{}: '{}' is not a length: expected a number such as 48502, 100K or 5M", option, text));
  return value * factor;
}

Command parse_command(int argc, const char* const* argv) {
  try {
    if (argc > 1 && std::string_view(argv[1]) == "synth") return parse_synth(argc - 1, argv + 1);
    return parse_count(argc, argv);
  } catch (const InputError& error) {
    return message_of({error.what(), kUsageError});
  } catch (const OptionError& error) {
    return message_of({error.what(), kUsageError});
  }
}

}  // namespace kmer
