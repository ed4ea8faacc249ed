// A system of equations, that of heat in a rod, is solved by conjugate gradients: borders go to neighbours,
// and sums over all ranks are made once and started in every step.
#include <weft/weft.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

int main() try {
  weft::Runtime runtime;
  weft::Endpoint endpoint{runtime};
  weft::Collective all{runtime, endpoint};

  constexpr std::size_t kCells = 50;  // of each rank
  std::vector<int> neighbors;         // to the left and to the right, where there are such
  if (all.rank() > 0) neighbors.push_back(all.rank() - 1);
  if (all.rank() + 1 < all.size()) neighbors.push_back(all.rank() + 1);

  std::vector<double> borders(neighbors.size());
  std::vector<double> theirs(neighbors.size());
  weft::CollectiveOperation exchange = all.make_neighbor_alltoall(borders, theirs, neighbors, neighbors);
  double part = 0;
  double total = 0;
  weft::CollectiveOperation add = all.make_allreduce(part, total, weft::operators::Sum{});
  const auto run = [](weft::CollectiveOperation& operation) {
    operation.start();
    if (operation.wait() != weft::Outcome::ok) throw weft::Error("a rank has failed");
  };
  const auto dot = [&](const std::vector<double>& a, const std::vector<double>& b) {
    part = 0;
    for (std::size_t cell = 0; cell < kCells; ++cell) part += a[cell] * b[cell];
    run(add);
    return total;
  };
  // result = A x, where A has 2 on the diagonal and -1 beside it.
  const auto multiply = [&](const std::vector<double>& x, std::vector<double>& result) {
    const bool has_left = all.rank() > 0;
    if (has_left) borders.front() = x.front();
    if (neighbors.size() > (has_left ? 1U : 0U)) borders.back() = x.back();
    run(exchange);
    const double left = has_left ? theirs.front() : 0;
    const double right = neighbors.size() > (has_left ? 1U : 0U) ? theirs.back() : 0;
    for (std::size_t cell = 0; cell < kCells; ++cell)
      result[cell] =
          2 * x[cell] - (cell > 0 ? x[cell - 1] : left) - (cell + 1 < kCells ? x[cell + 1] : right);
  };

  std::vector<double> x(kCells, 0);
  std::vector<double> residual(kCells, 1);  // the right-hand side is 1 everywhere
  std::vector<double> direction = residual;
  std::vector<double> product(kCells);
  double error = dot(residual, residual);
  int steps = 0;
  for (; error > 1e-16 && steps < 10'000; ++steps) {
    multiply(direction, product);
    const double length = error / dot(direction, product);
    for (std::size_t cell = 0; cell < kCells; ++cell) {
      x[cell] += length * direction[cell];
      residual[cell] -= length * product[cell];
    }
    const double next = dot(residual, residual);
    for (std::size_t cell = 0; cell < kCells; ++cell)
      direction[cell] = residual[cell] + next / error * direction[cell];
    error = next;
  }

  // The solution is known: x(i) = i (n + 1 - i) / 2.
  const double n = static_cast<double>(kCells) * all.size();
  double worst = 0;
  for (std::size_t cell = 0; cell < kCells; ++cell) {
    const double place = static_cast<double>(kCells) * all.rank() + static_cast<double>(cell) + 1;
    worst = std::fmax(worst, std::fabs(x[cell] - place * (n + 1 - place) / 2));
  }
  if (all.allreduce(worst, worst, weft::operators::Max{}) != weft::Outcome::ok) return 1;
  const bool is_right = worst < 1e-5;
  if (all.rank() == 0) std::printf("%.0f equations: %s\n", n, is_right ? "solved" : "not solved");
  return is_right ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
