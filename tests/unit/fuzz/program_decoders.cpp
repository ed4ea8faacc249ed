// What the programs read: lists of hosts, descriptions and reports of `weft run`, rounds of `weft perf`,
// traces of `weft study`, and the reads of weft-kmer with what its ranks send each other.
#include "unit/fuzz/decoders.hpp"

#include "count/receiver.hpp"
#include "failure.hpp"
#include "input/file.hpp"
#include "input/gzip.hpp"
#include "input/records.hpp"
#include "output/histogram.hpp"
#include "perf/measure/task.hpp"
#include "run/explain/rank_report.hpp"
#include "run/hosts/description.hpp"
#include "run/job/host_list.hpp"
#include "study/matching/model/geometry.hpp"
#include "study/matching/trace_replay.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace weft::fuzz {

namespace {

Decoder host_list() {
  return {"host-list",
          [](Bytes bytes) {
            const std::string text = text_of(bytes);
            try_to([&] {
              auto hosts = tools::run::parse_hosts(text);
              static_cast<void>(tools::run::place_ranks(hosts, 3));
            });
            const File file(bytes);
            try_to([&] { static_cast<void>(tools::run::read_hostfile(file.path())); });
          },
          {seed_of_text("a:4,b:2,[fd00::1]:2"), seed_of_text("# hosts\na\nb:4\nc slots=4\n")}};
}

Decoder description() {
  tools::run::Description seed;
  seed.version = "0.1.0";
  seed.host = "a";
  seed.arguments = {"one", "two"};
  seed.environment = {{"NAME", "value"}};
  return {
      "description",
      [](Bytes bytes) { try_to([&] { static_cast<void>(tools::run::parse_description(text_of(bytes))); }); },
      {seed_of_text(tools::run::to_line(seed))},
      std::size_t{1} << 20};
}

/// What a round of a measurement is started with, and prints.
Decoder task() {
  return {"task",
          [](Bytes bytes) { try_to([&] { static_cast<void>(tools::perf::parse_task(text_of(bytes))); }); },
          {seed_of_text(tools::perf::text_of({.measurement = "rate/serial-handler", .processors = {0, 1}}))}};
}
Decoder outcomes() {
  return {
      "outcomes",
      [](Bytes bytes) { try_to([&] { static_cast<void>(tools::perf::parse_outcomes(text_of(bytes))); }); },
      {seed_of_text(R"({"role":"sender","value":1.5,"core_share":1.0,"parts":[1.0,2.0],"percentiles":[1.0],)"
                    R"("library":"x","messages":7,"lost":0,"duplicated":0,"torn":0})")},
      std::size_t{1} << 20};
}

Decoder rank_report() {
  return {
      "rank-report",
      [](Bytes bytes) { static_cast<void>(tools::run::parse_report(text_of(bytes))); },
      {seed_of_text(
          R"({"waits":[{"what":"a barrier","file":"a.cpp","line":3,"peer":1,"seconds":1.5}],"operations":[]})")}};
}

Decoder matching_trace() {
  return {"matching-trace",
          [](Bytes bytes) {
            const File file(bytes);
            try_to([&] { static_cast<void>(tools::study::read_trace(file.path())); });
            try_to([&] { static_cast<void>(tools::study::parse_decomposition(text_of(bytes))); });
          },
          {seed_of_text("# weft matching trace 1, rank 0 of 2\npost 1 0 5 0 ffffffffffffffff 1\narrive 1 0 5 "
                        "0\ntake 1 1 5 0 f\ncancel 1 1\n"),
           seed_of_text("3x3x3")}};
}

/// A walk over pieces, which touches each code.
struct Sink {
  void read() noexcept { ++reads; }
  void piece(const kmer::Piece& piece) noexcept {
    for (std::size_t place = 0; place < piece.size + 8; ++place) sum += piece.codes[place];
  }
  std::uint64_t reads = 0;
  std::uint64_t sum = 0;
};

/// FASTQ and FASTA, from the start and from any place.
Decoder reads() {
  return {"reads",
          [](Bytes bytes) {
            const std::string text = text_of(bytes);
            for (const bool complete : {false, true}) {
              Sink sink;
              kmer::RecordParser parser(5);
              try {
                const std::size_t from =
                    kmer::find_fastq_record(text, std::min<std::size_t>(1, text.size()), complete);
                if (from != kmer::kNeedMore && from < text.size())
                  parser.parse_fastq(std::string_view(text).substr(from), complete, sink);
                parser.parse_fastq(text, complete, sink);
              } catch (const kmer::RecordError& error) {
                if (error.offset > text.size()) std::abort();
              }
              try {
                const std::size_t line = kmer::find_line(text, text.size() / 2, text.size());
                if (line > text.size()) std::abort();
                static_cast<void>(kmer::fasta_lookahead(text, line, 4, complete));
                parser.parse_fasta(text, line, false, sink);
                parser.parse_fasta(text, text.size(), true, sink);
              } catch (const kmer::RecordError& error) {
                if (error.offset > text.size()) std::abort();
              }
            }
          },
          {seed_of_text("@one\nACGTACGTNACGT\n+\nIIIIIIIIIIIII\n@two\r\nacgtac\r\n+two\r\nIIIIII\r\n"),
           seed_of_text(">one\nACGTACGT\nACGTN\n\n>two\nTTTTT\n")},
          std::size_t{1} << 20};
}

Decoder gzip() {
  // "@a\nACGT\n+\nIIII\n", by gzip -9n.
  constexpr unsigned char kWhole[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xff, 0x73,
                                      0x48, 0xe4, 0x72, 0x74, 0x76, 0x0f, 0xe1, 0xd2, 0xe6, 0xf2, 0x04,
                                      0x02, 0x2e, 0x00, 0x6b, 0x2c, 0x2a, 0x71, 0x0f, 0x00, 0x00, 0x00};
  return {"gzip",
          [](Bytes bytes) {
            const File file(bytes);
            try {
              kmer::GzipStream stream(file.path());
              std::string text;
              // What so few bytes can become is bounded; a reader that stands still is not.
              while (stream.read(text, 1 << 14) != 0) text.clear();
            } catch (const kmer::InputError&) {
            }
          },
          {seed_of(kWhole)},
          std::size_t{2} << 20};
}

/// Messages of super-k-mers, and the histogram of another rank.
Decoder super_kmers() {
  std::vector<std::byte> seed(kmer::kRecordHeader + kmer::run_bytes(5, 3));
  seed[2] = std::byte{2};
  return {"super-kmers",
          [](Bytes bytes) {
            kmer::Receiver<1> receiver(5, 4, {8.0, 2}, std::size_t{1} << 20, 100);
            static_cast<void>(
                receiver.accept({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}));
            receiver.end_pass();
            kmer::Histogram histogram;
            histogram.add_bytes(bytes);
          },
          {seed},
          std::size_t{2} << 20};
}

std::vector<Decoder> decoders() {
  return {host_list(),      description(), task(), outcomes(),   rank_report(),
          matching_trace(), reads(),       gzip(), super_kmers()};
}

const Registration kRegistration(&decoders);

}  // namespace

}  // namespace weft::fuzz
