// Live modes over an MPI library, seen from outside: MPI_THREAD_MULTIPLE, nonblocking calls.
#include <weft/error.hpp>

#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <vector>

#include "study/matching/ranks/halo_run.hpp"
#include "study/matching/ranks/live_ranks.hpp"
#include "study/parcelports/mpi/mpi_library.hpp"

namespace weft::tools::study {

namespace {

using Clock = std::chrono::steady_clock;
using parcel::ports::mpi::Word;

/// A tag beyond those of the exchanges: the standard guarantees 32767.
constexpr int kEnd = 32'000;
constexpr int kBytes = sizeof(std::uint64_t);

class MpiCase {
 public:
  MpiCase(const parcel::ports::mpi::Library& library, ReadySigns& signs, const HaloCase& plan, int rank,
          int ranks)
      : mpi_(library),
        signs_(signs),
        plan_(plan),
        rank_(rank),
        ranks_(ranks),
        threads_(plan.threads_of(rank)),
        buffers_(plan.tags.size()),
        requests_(plan.tags.size()) {
    if (plan.tags.size() >= kEnd)
      throw Error(fmt::format("{} messages need more tags than MPI guarantees", plan.tags.size()));
  }

  void send(std::uint32_t step) {
    run_threads(
        threads_, plan_.seed + step, [this] { barrier(); },
        [this](std::uint32_t message) {
          check(mpi_.Isend(&plan_.tags[message], kBytes, mpi_.byte, 0, static_cast<int>(plan_.tags[message]),
                           mpi_.world, &requests_[message]),
                "MPI_Isend");
        });
    signs_.raise(rank_, step);
    for (const MessageOrder& thread : threads_)
      for (const std::uint32_t message : thread) wait(requests_[message]);
    // Behind all messages of this rank: the receiver may post now, when they are to be unexpected.
    if (plan_.is_unexpected) {
      Word last{};
      check(mpi_.Isend(&step, sizeof step, mpi_.byte, 0, kEnd, mpi_.world, &last), "MPI_Isend");
      wait(last);
    }
  }

  double receive(std::uint32_t step) {
    for (std::uint64_t& buffer : buffers_) buffer = ~std::uint64_t{0};
    const double time_us = plan_.is_unexpected ? receive_afterwards(step) : receive_posted(step);
    for (std::size_t message = 0; message < buffers_.size(); ++message)
      if (buffers_[message] != plan_.tags[message])
        throw Error(fmt::format("{}: the receive with tag {} has got the message with tag {}", mpi_.name,
                                plan_.tags[message], buffers_[message]));
    return time_us;
  }

 private:
  void check(int code, const char* call) const { parcel::ports::mpi::check(mpi_, code, call); }
  void wait(Word& request) const { check(mpi_.Wait(&request, mpi_.status_ignore), "MPI_Wait"); }
  void barrier() const {
    const std::uint8_t own = 0;
    std::vector<std::uint8_t> all(static_cast<std::size_t>(ranks_));
    check(mpi_.Allgather(&own, 1, mpi_.byte, all.data(), 1, mpi_.byte, mpi_.world), "MPI_Allgather");
  }
  void post(std::uint32_t message) {
    check(mpi_.Irecv(&buffers_[message], kBytes, mpi_.byte, plan_.source_of(message),
                     static_cast<int>(plan_.tags[message]), mpi_.world, &requests_[message]),
          "MPI_Irecv");
  }

  double receive_posted(std::uint32_t step) {
    run_threads(
        threads_, plan_.seed + step, [] {}, [this](std::uint32_t message) { post(message); });
    barrier();
    signs_.wait_for(plan_.senders, step);
    const auto begin = Clock::now();
    for (Word& request : requests_) wait(request);
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  }

  double receive_afterwards(std::uint32_t step) {
    barrier();
    for (int sender = 1; sender <= plan_.senders; ++sender) {
      std::uint32_t number = 0;
      Word last{};
      check(mpi_.Irecv(&number, sizeof number, mpi_.byte, sender, kEnd, mpi_.world, &last), "MPI_Irecv");
      wait(last);
    }
    const double time_us =
        time_posts(threads_, plan_.seed + step, [this](std::uint32_t message) { post(message); });
    for (Word& request : requests_) wait(request);
    return time_us;
  }

  const parcel::ports::mpi::Library& mpi_;
  ReadySigns& signs_;
  const HaloCase& plan_;
  const int rank_;
  const int ranks_;
  const std::vector<MessageOrder> threads_;
  std::vector<std::uint64_t> buffers_;  // by message
  std::vector<Word> requests_;
};

}  // namespace

void run_over_mpi(const Json& job) {
  const parcel::ports::mpi::Library& library = parcel::ports::mpi::library({});
  int rank = 0;
  int ranks = 0;
  parcel::ports::mpi::check(library, library.Comm_rank(library.world, &rank), "MPI_Comm_rank");
  parcel::ports::mpi::check(library, library.Comm_size(library.world, &ranks), "MPI_Comm_size");
  ReadySigns signs(job.at("signs"));
  std::uint32_t step = 0;
  for (const Json& parameters : job.at("cases")) {
    const HaloCase plan(parameters);
    MpiCase own(library, signs, plan, rank, ranks);
    std::vector<double> times_us;
    for (int run = -plan.warm_ups; run < plan.runs; ++run) {
      ++step;
      if (rank != 0) {
        own.send(step);
      } else if (const double time_us = own.receive(step); run >= 0) {
        times_us.push_back(time_us);
      }
    }
    if (rank == 0) {
      fmt::print("{}\n", Json{{"library", library.name}, {"drain_us", times_us}}.dump());
      std::fflush(stdout);
    }
  }
}

}  // namespace weft::tools::study
