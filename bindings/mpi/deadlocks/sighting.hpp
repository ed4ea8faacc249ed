// What ranks tell each other when each of them waits for long, and what follows from it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace weft::mpi {

/// Messages of the program and of collectives, sent and arrived so far on a rank. Where the sums over all
/// ranks are equal, none is under way.
struct Traffic {
  std::uint64_t sent = 0, arrived = 0, control_sent = 0, control_arrived = 0;
  std::uint64_t arriving = 0;  // long ones whose payload is on its way to the rank
  bool operator==(const Traffic&) const = default;
};

/// A send that has not ended: its message waits for a receive, or is under way.
struct SendUnderWay {
  std::int32_t from = -1, to = -1;  // ranks of the job
  std::uint32_t context = 0;        // of the communicator
  std::int32_t tag = 0;
  bool operator==(const SendUnderWay&) const = default;
};
/// Where there are more, nothing is concluded.
struct SendsUnderWay {
  static constexpr std::uint32_t kMost = 64;
  std::uint32_t count = 0;  // may be larger
  std::array<SendUnderWay, kMost> sends{};
  void add(const SendUnderWay& send) {
    if (count < kMost) sends[count] = send;
    ++count;
  }
  bool operator==(const SendsUnderWay&) const = default;
};

/// Travels as it is.
struct Sighting {
  static constexpr std::size_t kAsked = 8;
  enum class Kind : std::uint32_t {
    note,      // to rank 0: this rank has waited for long
    question,  // from rank 0 to all
    answer,    // of a rank that still waits
  };
  struct Progress {
    std::uint64_t steps = 0;
    std::uint32_t is_known = 0;  // the communicator is one of this rank's
    char last[60] = {};
  };

  Kind kind = Kind::note;
  std::uint32_t round = 0;
  std::uint64_t waits = 0;  // another number whenever a wait has begun or ended
  Traffic traffic;
  std::int32_t peer = -1;                  // the rank of the job that the wait is for, where it is one
  std::uint32_t is_for_all = 0;            // it is MPI_Finalize's, which ends when all ranks are there
  std::uint64_t sequence = 0, step = 0;    // of a collective (WaitDetail)
  std::array<std::uint64_t, 8> members{};  // a bit for each rank of the job; those from 512 on are left out
  std::array<std::uint64_t, kAsked> asked{};
  std::array<Progress, kAsked> progress{};  // in the sequences that the question has asked for
  SendsUnderWay sends;                      // of this rank; in a question, of all
  std::uint64_t unreceived =
      0;  // a bit for each send of the question whose message lies here and no receive fits
  char step_name[60] = {};
  char text[500] =
      {};  // "MPI_Recv on MPI_COMM_WORLD at halo.c:12 for a message from rank 1 there with tag 5"
};

/// Whether each rank waits as it did a round before, and no message is under way: neither a short one, nor a
/// long one that a receive has been found for. `question`: that the ranks have answered now.
[[nodiscard]] bool is_deadlock(std::span<const Sighting> before, std::span<const Sighting> now,
                               const Sighting& question);
/// Those of all ranks.
[[nodiscard]] SendsUnderWay sends_of(std::span<const Sighting> all);
/// Who waits for what, and who waits for whom.
[[nodiscard]] std::string described(std::span<const Sighting> all);

}  // namespace weft::mpi
