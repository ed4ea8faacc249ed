// Task Bench's stencil as a program of StarPU-MPI (version 1.3): tasks are inserted on every rank, and StarPU
// finds their order and the transfers by the data that they read and write.
//
//     weft-study-starpu WIDTH STEPS CORES LONGEST_NS
//
// Prints one line of JSON on rank 0.
#include <mpi.h>
#include <starpu.h>
#include <starpu_mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "study/ranks/grain.hpp"

namespace {

using Output = std::array<std::uint64_t, 2>;  // step and point

struct Arguments {
  int step;
  int point;
  int width;
  double grain_ns;
};

void fail(const char* what) {
  std::fprintf(stderr, "weft study: starpu: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/// buffers: the output, then the inputs by ascending point.
void run_task(void* buffers[], void* packed) {
  Arguments arguments{};
  starpu_codelet_unpack_args(packed, &arguments);
  const auto at = [&](int index) -> std::uint64_t* {
    return reinterpret_cast<std::uint64_t*>(STARPU_VECTOR_GET_PTR(buffers[index]));
  };
  int buffer = 1;
  for (int other = arguments.point - 1; arguments.step > 0 && other <= arguments.point + 1; ++other) {
    if (other < 0 || other >= arguments.width) continue;
    const std::uint64_t* const input = at(buffer++);
    if (input[0] + 1 != static_cast<std::uint64_t>(arguments.step) ||
        input[1] != static_cast<std::uint64_t>(other))
      fail("a task has got a wrong input");
  }
  if (arguments.grain_ns > 0) weft::tools::study::Grain::compute(arguments.grain_ns);
  at(0)[0] = static_cast<std::uint64_t>(arguments.step);
  at(0)[1] = static_cast<std::uint64_t>(arguments.point);
}

starpu_codelet codelet_of(int inputs) {
  starpu_codelet codelet;
  starpu_codelet_init(&codelet);
  codelet.cpu_funcs[0] = run_task;
  codelet.nbuffers = 1 + inputs;
  codelet.modes[0] = STARPU_W;
  for (int input = 1; input <= inputs; ++input) codelet.modes[input] = STARPU_R;
  return codelet;
}

class Stencil {
 public:
  Stencil(int width, int steps)
      : width_(width), steps_(steps), codelets_{codelet_of(0), codelet_of(1), codelet_of(2), codelet_of(3)} {
    int rank = 0;
    int size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int parity = 0; parity < 2; ++parity) {
      outputs_[parity].resize(static_cast<std::size_t>(width));
      for (int point = 0; point < width; ++point) {
        const int owner = point * size / width;
        starpu_data_handle_t handle = nullptr;
        Output& output = outputs_[parity][static_cast<std::size_t>(point)];
        starpu_vector_data_register(&handle, owner == rank ? STARPU_MAIN_RAM : -1,
                                    owner == rank ? reinterpret_cast<std::uintptr_t>(output.data()) : 0,
                                    static_cast<std::uint32_t>(output.size()), sizeof output[0]);
        starpu_mpi_data_register(handle, parity * width + point, owner);
        handles_[parity].push_back(handle);
      }
    }
  }
  ~Stencil() {
    for (auto& handles : handles_)
      for (const auto handle : handles) starpu_data_unregister(handle);
  }
  Stencil(const Stencil&) = delete;
  Stencil& operator=(const Stencil&) = delete;

  double run(double grain_ns) {
    starpu_mpi_barrier(MPI_COMM_WORLD);
    const auto begin = std::chrono::steady_clock::now();
    for (int step = 0; step < steps_; ++step)
      for (int point = 0; point < width_; ++point) insert(step, point, grain_ns);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_mpi_barrier(MPI_COMM_WORLD);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

 private:
  void insert(int step, int point, double grain_ns) {
    const Arguments arguments{step, point, width_, grain_ns};
    const auto& from = handles_[(step + 1) % 2];
    const auto to = handles_[step % 2][static_cast<std::size_t>(point)];
    std::vector<starpu_data_handle_t> inputs;
    for (int other = point - 1; step > 0 && other <= point + 1; ++other)
      if (other >= 0 && other < width_) inputs.push_back(from[static_cast<std::size_t>(other)]);
    starpu_codelet* const codelet = &codelets_[inputs.size()];
    int error = 0;
    switch (inputs.size()) {
      case 0:
        error = starpu_mpi_task_insert(MPI_COMM_WORLD, codelet, STARPU_W, to, STARPU_VALUE, &arguments,
                                       sizeof arguments, 0);
        break;
      case 1:
        error = starpu_mpi_task_insert(MPI_COMM_WORLD, codelet, STARPU_W, to, STARPU_R, inputs[0],
                                       STARPU_VALUE, &arguments, sizeof arguments, 0);
        break;
      case 2:
        error = starpu_mpi_task_insert(MPI_COMM_WORLD, codelet, STARPU_W, to, STARPU_R, inputs[0], STARPU_R,
                                       inputs[1], STARPU_VALUE, &arguments, sizeof arguments, 0);
        break;
      default:
        error = starpu_mpi_task_insert(MPI_COMM_WORLD, codelet, STARPU_W, to, STARPU_R, inputs[0], STARPU_R,
                                       inputs[1], STARPU_R, inputs[2], STARPU_VALUE, &arguments,
                                       sizeof arguments, 0);
    }
    if (error != 0) fail("starpu_mpi_task_insert has failed");
  }

  const int width_;
  const int steps_;
  std::array<starpu_codelet, 4> codelets_;
  std::array<std::vector<Output>, 2> outputs_;
  std::array<std::vector<starpu_data_handle_t>, 2> handles_;
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) {
    std::fprintf(stderr, "usage: weft-study-starpu WIDTH STEPS CORES LONGEST_NS\n");
    return 2;
  }
  const int width = std::atoi(arguments[1]);
  const int steps = std::atoi(arguments[2]);
  const double longest_ns = std::atof(arguments[4]);
  if (starpu_mpi_init_conf(&count, &arguments, 1, MPI_COMM_WORLD, nullptr) != 0) {
    std::fprintf(stderr, "weft study: starpu: it cannot be initialized\n");
    return 1;
  }
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  weft::tools::study::Grain::calibrate();
  const double cores =
      std::min<double>(size * static_cast<double>(starpu_cpu_worker_get_count()), std::atof(arguments[3]));
  {
    Stencil stencil(width, steps);
    stencil.run(0);  // warm-up
    nlohmann::json figures = nlohmann::json::object();
    weft::tools::study::find_least_granularity(
        figures, longest_ns, cores, static_cast<double>(width) * steps, rank == 0,
        [&](double grain) { return stencil.run(grain); },
        [](bool is_over) {
          int over = is_over ? 1 : 0;
          MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
          return over != 0;
        });
    figures["tasks_per_s"] = static_cast<double>(width) * steps / stencil.run(0);
    if (rank == 0) std::printf("%s\n", figures.dump().c_str());
  }
  starpu_mpi_shutdown();
  return 0;
}
