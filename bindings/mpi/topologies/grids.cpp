// Cartesian topologies.
#include "bindings/mpi/creation/creation.hpp"
#include "bindings/mpi/roll_call/roll_call.hpp"
#include "bindings/mpi/topologies/topologies_calls.hpp"
#include "bindings/mpi/topologies/topology.hpp"

#include <algorithm>
#include <cmath>

namespace weft::mpi {

namespace {

Grid& grid_of(const Communicator& communicator) { return topology_of<Grid>(communicator, "Cartesian"); }

/// The ranks that a grid needs; fails where the communicator has fewer.
int checked_size(const Communicator& communicator, int dimensions, const int* sizes) {
  if (communicator.is_inter()) fail(MPI_ERR_COMM, "an intercommunicator; an intracommunicator is needed");
  if (dimensions < 0) fail(MPI_ERR_DIMS, "%d dimensions; 0 or more are needed", dimensions);
  long long ranks = 1;
  for (int axis = 0; axis < dimensions; ++axis) {
    if (sizes[axis] <= 0)
      fail(MPI_ERR_DIMS, "dimension %d has %d ranks; 1 or more are needed", axis, sizes[axis]);
    ranks *= sizes[axis];
    if (ranks > communicator.size)
      fail(MPI_ERR_DIMS, "the grid has more ranks than the communicator, which has %d", communicator.size);
  }
  return static_cast<int>(ranks);
}

void check_room(int room, int needed) {
  if (room < needed) fail(MPI_ERR_ARG, "room for %d values where there are %d", room, needed);
}

void check_rank(const Communicator& communicator, int rank) {
  if (rank < 0 || rank >= communicator.size)
    fail(MPI_ERR_RANK, "rank %d; a rank from 0 to %d is needed", rank, communicator.size - 1);
}

/// Factors of a number, in ascending order, whose largest is as near to the smallest as can be.
class BalancedFactors {
 public:
  BalancedFactors(int number, int count) {
    for (int divisor = 1; divisor <= number / divisor; ++divisor)
      if (number % divisor == 0) divisors_.push_back(divisor);
    for (std::size_t index = divisors_.size(); index-- > 0;)
      if (number / divisors_[index] != divisors_.back()) divisors_.push_back(number / divisors_[index]);
    best_.assign(static_cast<std::size_t>(count), 1);
    best_.back() = number;
    difference_ = number - (count > 1 ? 1 : number);
    search(number, count);
  }
  [[nodiscard]] const std::vector<int>& factors() const noexcept { return best_; }

 private:
  /// Splits what is left into `count` factors, none lower than the last one of those chosen.
  void search(int left, int count) {
    if (count == 1) {
      if (left - (chosen_.empty() ? left : chosen_.front()) >= difference_) return;
      best_ = chosen_;
      best_.push_back(left);
      difference_ = left - best_.front();
      return;
    }
    // The nearest first: what can be no better than the best one is left out then.
    const int highest = static_cast<int>(std::floor(std::pow(left, 1.0 / count) + 1e-9));
    for (auto divisor = std::upper_bound(divisors_.begin(), divisors_.end(), highest);
         divisor != divisors_.begin();) {
      --divisor;
      if (left % *divisor != 0) continue;
      if (!chosen_.empty() && *divisor < chosen_.back()) return;
      if (chosen_.empty() && highest - *divisor >= difference_) return;
      chosen_.push_back(*divisor);
      search(left / *divisor, count - 1);
      chosen_.pop_back();
    }
  }

  std::vector<int> divisors_, chosen_, best_;
  int difference_;
};

/// Splits `number` into `count` factors that are as equal as can be, the largest first.
std::vector<int> balanced_factors(int number, int count) {
  std::vector<int> factors = BalancedFactors(number, count).factors();
  std::reverse(factors.begin(), factors.end());
  return factors;
}

}  // namespace

void topo_test(Communicator& communicator, int* status) {
  *status = communicator.topology != nullptr ? communicator.topology->kind() : MPI_UNDEFINED;
}

void dims_create(int nodes, int dimensions, int* sizes) {
  if (nodes < 1) fail(MPI_ERR_ARG, "%d nodes; 1 or more are needed", nodes);
  if (dimensions < 0) fail(MPI_ERR_DIMS, "%d dimensions; 0 or more are needed", dimensions);
  int given = 1, open = 0;
  for (int axis = 0; axis < dimensions; ++axis) {
    if (sizes[axis] < 0)
      fail(MPI_ERR_DIMS, "dimension %d has %d ranks; 0 or more are possible", axis, sizes[axis]);
    if (sizes[axis] == 0)
      ++open;
    else
      given *= sizes[axis];
  }
  if (nodes % given != 0 || (open == 0 && given != nodes && dimensions > 0))
    fail(MPI_ERR_DIMS, "%d nodes are no multiple of the %d that the given dimensions have", nodes, given);
  if (open == 0) return;
  const std::vector<int> factors = balanced_factors(nodes / given, open);
  for (int axis = 0, next = 0; axis < dimensions; ++axis)
    if (sizes[axis] == 0) sizes[axis] = factors[static_cast<std::size_t>(next++)];
}

void cart_create(Communicator& old, int dimensions, const int* sizes, const int* is_ring, int,
                 MPI_Comm* made) {
  const int ranks = checked_size(old, dimensions, sizes);
  call_the_roll_of_creation(old);
  Communicator* const communicator = split(old, old.rank < ranks ? 0 : MPI_UNDEFINED, old.rank);
  *made = MPI_COMM_NULL;
  if (communicator == nullptr) return;
  auto grid = std::make_unique<Grid>();
  grid->sizes.assign(sizes, sizes + dimensions);
  for (int axis = 0; axis < dimensions; ++axis) grid->is_ring.push_back(is_ring[axis] != 0 ? 1 : 0);
  communicator->topology = std::move(grid);
  *made = handle_of<MPI_Comm>(communicator);
}

void cart_map(Communicator& communicator, int dimensions, const int* sizes, const int*, int* rank) {
  const int ranks = checked_size(communicator, dimensions, sizes);
  *rank = communicator.rank < ranks ? communicator.rank : MPI_UNDEFINED;
}

void cart_sub(Communicator& communicator, const int* remain, MPI_Comm* made) {
  const Grid& grid = grid_of(communicator);
  const std::vector<int> coordinates = grid.coordinates_of(communicator.rank);
  auto part = std::make_unique<Grid>();
  int color = 0, key = 0;
  for (int axis = 0; axis < grid.dimensions(); ++axis) {
    const auto index = static_cast<std::size_t>(axis);
    if (remain[axis] != 0) {
      part->sizes.push_back(grid.sizes[index]);
      part->is_ring.push_back(grid.is_ring[index]);
      key = key * grid.sizes[index] + coordinates[index];
    } else {
      color = color * grid.sizes[index] + coordinates[index];
    }
  }
  // A grid of no dimensions has one rank, as MPI_Cart_create says: that of the first one.
  call_the_roll_of_creation(communicator);
  const bool is_left_out = part->sizes.empty() && communicator.rank != 0;
  Communicator* const own = split(communicator, is_left_out ? MPI_UNDEFINED : color, key);
  *made = MPI_COMM_NULL;
  if (own == nullptr) return;
  own->topology = std::move(part);
  *made = handle_of<MPI_Comm>(own);
}

void cartdim_get(Communicator& communicator, int* dimensions) {
  *dimensions = grid_of(communicator).dimensions();
}

void cart_get(Communicator& communicator, int room, int* sizes, int* is_ring, int* coordinates) {
  const Grid& grid = grid_of(communicator);
  check_room(room, grid.dimensions());
  std::copy(grid.sizes.begin(), grid.sizes.end(), sizes);
  std::copy(grid.is_ring.begin(), grid.is_ring.end(), is_ring);
  const std::vector<int> own = grid.coordinates_of(communicator.rank);
  std::copy(own.begin(), own.end(), coordinates);
}

void cart_coords(Communicator& communicator, int rank, int room, int* coordinates) {
  const Grid& grid = grid_of(communicator);
  check_rank(communicator, rank);
  check_room(room, grid.dimensions());
  const std::vector<int> found = grid.coordinates_of(rank);
  std::copy(found.begin(), found.end(), coordinates);
}

void cart_rank(Communicator& communicator, const int* coordinates, int* rank) {
  const Grid& grid = grid_of(communicator);
  const int found = grid.rank_of(std::vector<int>(coordinates, coordinates + grid.dimensions()));
  if (found == MPI_PROC_NULL) fail(MPI_ERR_ARG, "a coordinate lies outside a dimension that is no ring");
  *rank = found;
}

void cart_shift(Communicator& communicator, int dimension, int steps, int* source, int* destination) {
  const Grid& grid = grid_of(communicator);
  if (dimension < 0 || dimension >= grid.dimensions())
    fail(MPI_ERR_DIMS, "dimension %d of a grid of %d", dimension, grid.dimensions());
  *source = grid.moved(communicator.rank, dimension, -steps);
  *destination = grid.moved(communicator.rank, dimension, steps);
}

}  // namespace weft::mpi
