#include "study/ranks/plain_mpi.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "study/parcelports/mpi/mpi_library.hpp"
#include "study/ranks/grain.hpp"

namespace weft::tools::study {

namespace {

using Json = nlohmann::json;
using Output = std::array<std::uint64_t, 2>;  // step and point

class Stencil {
 public:
  Stencil(const parcel::ports::mpi::Library& library, int width, int steps)
      : mpi_(library), width_(width), steps_(steps) {
    check(mpi_.Comm_rank(mpi_.world, &rank_), "MPI_Comm_rank");
    check(mpi_.Comm_size(mpi_.world, &size_), "MPI_Comm_size");
    first_ = width * rank_ / size_;
    last_ = width * (rank_ + 1) / size_;
    // With a neighbour's point on either side.
    now_.resize(static_cast<std::size_t>(last_ - first_) + 2);
    next_ = now_;
  }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  double run(double grain_ns) {
    agree(false);  // a barrier
    const auto begin = std::chrono::steady_clock::now();
    for (int step = 0; step < steps_; ++step) {
      if (step > 0) exchange();
      for (int point = first_; point < last_; ++point) {
        const auto at = static_cast<std::size_t>(point - first_ + 1);
        if (step > 0)
          for (int other = point - 1; other <= point + 1; ++other)
            if (other >= 0 && other < width_)
              check_input(now_[at + static_cast<std::size_t>(other - point + 1) - 1], step, other);
        if (grain_ns > 0) Grain::compute(grain_ns);
        next_[at] = {static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(point)};
      }
      std::swap(now_, next_);
    }
    agree(false);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  /// Rank 0's answer.
  bool agree(bool is_over) {
    const std::uint8_t own = is_over ? 1 : 0;
    std::vector<std::uint8_t> all(static_cast<std::size_t>(size_));
    check(mpi_.Allgather(&own, 1, mpi_.byte, all.data(), 1, mpi_.byte, mpi_.world), "MPI_Allgather");
    return all[0] != 0;
  }

 private:
  void check(int code, const char* call) const { parcel::ports::mpi::check(mpi_, code, call); }
  static void check_input(const Output& input, int step, int point) {
    if (input[0] + 1 != static_cast<std::uint64_t>(step) || input[1] != static_cast<std::uint64_t>(point))
      throw Error("a stencil of plain MPI has got a wrong input");
  }
  void exchange() {
    constexpr int kBytes = sizeof(Output);
    std::array<parcel::ports::mpi::Word, 4> requests{};
    std::size_t count = 0;
    const auto with = [&](int neighbour, Output& own, Output& theirs) {
      if (neighbour < 0 || neighbour >= size_) return;
      check(mpi_.Irecv(theirs.data(), kBytes, mpi_.byte, neighbour, 1, mpi_.world, &requests[count++]),
            "MPI_Irecv");
      check(mpi_.Isend(own.data(), kBytes, mpi_.byte, neighbour, 1, mpi_.world, &requests[count++]),
            "MPI_Isend");
    };
    with(rank_ - 1, now_[1], now_.front());
    with(rank_ + 1, now_[now_.size() - 2], now_.back());
    for (std::size_t index = 0; index < count; ++index)
      check(mpi_.Wait(&requests[index], mpi_.status_ignore), "MPI_Wait");
  }

  const parcel::ports::mpi::Library& mpi_;
  const int width_;
  const int steps_;
  int rank_ = 0;
  int size_ = 1;
  int first_ = 0;
  int last_ = 0;
  std::vector<Output> now_;
  std::vector<Output> next_;
};

}  // namespace

int plain_mpi_main(const Json& job) {
  Grain::calibrate();
  const parcel::ports::mpi::Library& library = parcel::ports::mpi::library({});
  for (const Json& parameters : job.at("cases")) {
    Json figures = Json::object();
    if (parameters.value("pattern", "") == "stencil_1d" && parameters.value("kernel", "") == "compute") {
      const int width = parameters.value("width", 8);
      const int steps = parameters.value("steps", 100);
      Stencil stencil(library, width, steps);
      if (width < stencil.size())
        throw Error(fmt::format("a stencil of {} points is too narrow for {} ranks", width, stencil.size()));
      stencil.run(0);  // warm-up
      const double cores = std::min(stencil.size(), parameters.value("cores", 1'000'000));
      find_least_granularity(
          figures, parameters.value("longest_ns", 262'144.0), cores, static_cast<double>(width) * steps,
          stencil.rank() == 0, [&](double grain) { return stencil.run(grain); },
          [&](bool is_over) { return stencil.agree(is_over); });
      figures["tasks_per_s"] = static_cast<double>(width) * steps / stencil.run(0);
      if (stencil.rank() == 0) fmt::print("{}\n", figures.dump());
    } else {
      int rank = 0;
      library.Comm_rank(library.world, &rank);
      if (rank == 0) fmt::print("{{\"why\":\"is written for the kernel compute of stencil_1d alone\"}}\n");
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace weft::tools::study
