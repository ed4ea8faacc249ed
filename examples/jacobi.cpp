// A Jacobi solver for heat in a rod, of tasks: every rank has a piece of it, neighbours exchange their border
// values through channels, and each step begins when both have come.
#include <weft/parcel/parcel.hpp>

#include <cmath>
#include <cstdio>
#include <optional>
#include <vector>

namespace parcel = weft::parcel;

namespace {

constexpr std::size_t kPoints = 200;  // of each rank
constexpr std::uint64_t kSteps = 2000;

/// Both ends of the channels to a neighbour; the ends of the rod are kept at 1 and 0.
class Border {
 public:
  Border(parcel::Runtime& runtime, int neighbour, std::uint64_t in, std::uint64_t out, double fixed)
      : fixed_(fixed) {
    if (neighbour < 0 || neighbour >= runtime.size()) return;
    in_.emplace(runtime, in, neighbour);
    out_.emplace(runtime, neighbour, out);
  }
  void send(std::uint64_t step, double value) {
    if (out_) out_->set(step, value);
  }
  parcel::Future<double> receive(std::uint64_t step) {
    return in_ ? in_->get(step) : parcel::make_ready(fixed_);
  }

 private:
  double fixed_;
  std::optional<parcel::Channel<double>> in_;
  std::optional<parcel::ChannelTo<double>> out_;
};

parcel::Future<double> solve(Border& left, Border& right) {
  std::vector<double> heat(kPoints, 0.0);
  std::vector<double> next(kPoints);
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    left.send(step, heat.front());
    right.send(step, heat.back());
    for (std::size_t point = 1; point + 1 < kPoints; ++point)
      next[point] = (heat[point - 1] + heat[point + 1]) / 2;
    next.front() = (co_await left.receive(step) + heat[1]) / 2;
    next.back() = (heat[kPoints - 2] + co_await right.receive(step)) / 2;
    heat.swap(next);
  }
  double sum = 0;
  for (const double value : heat) sum += value;
  co_return sum;
}

double total = 0;
int parts = 0;
void add(double part) {
  total += part;
  ++parts;
}

}  // namespace

int main() try {
  parcel::Runtime runtime({.workers = 1});
  // Channel 0 comes from the left, channel 1 from the right.
  Border left(runtime, runtime.rank() - 1, 0, 1, 1.0);
  Border right(runtime, runtime.rank() + 1, 1, 0, 0.0);
  const double sum = runtime.run([&] { return solve(left, right); });
  runtime.apply(0, parcel::action<&add>, sum);
  runtime.wait_quiet();
  if (runtime.rank() == 0) std::printf("heat %.6f in %d parts\n", total, parts);
} catch (const weft::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
