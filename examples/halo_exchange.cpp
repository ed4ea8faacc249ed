// A grid whose rows are spread over a ring of ranks. Before each step every rank puts its outermost rows into
// the halos of its neighbours; the signal that comes with the put tells them that the row is there.
#include <weft/weft.hpp>

#include <cstdio>
#include <vector>

namespace {

constexpr std::size_t kColumns = 128;
constexpr std::size_t kRows = 32;  // of each rank
constexpr std::uint32_t kSteps = 100;

using Row = std::vector<std::uint64_t>;

enum Side : std::uint32_t { above, below };

/// The rows that neighbours put here. Two sets, used in turn: a neighbour may be a step ahead, not two.
struct Halos {
  Halos(weft::Runtime& runtime, std::size_t row_bytes)
      : memory(weft::MemoryRegion::allocate(runtime, 4 * row_bytes)), bytes(row_bytes) {
    for (std::uint32_t set = 0; set < 2; ++set)
      for (const Side side : {above, below})
        signals[set][side] = runtime.expose(arrived[set][side], {.id = 1 + 2 * set + side});
  }
  [[nodiscard]] std::size_t offset(std::size_t set, Side side) const { return (2 * set + side) * bytes; }
  [[nodiscard]] const std::uint64_t* row(std::size_t set, Side side) const {
    return reinterpret_cast<const std::uint64_t*>(memory.bytes().data() + offset(set, side));
  }

  weft::MemoryRegion memory;
  std::size_t bytes;
  weft::Counter arrived[2][2];
  weft::RemoteCompletion signals[2][2];  // the same on all ranks
};

std::uint64_t sum_of(weft::Runtime& runtime, const std::vector<Row>& grid) {
  std::uint64_t mine = 0;
  for (const Row& row : grid)
    for (const std::uint64_t cell : row) mine += cell;
  std::vector<std::uint64_t> all(static_cast<std::size_t>(runtime.size()));
  runtime.allgather(weft::bytes_of(mine), std::as_writable_bytes(std::span{all}));
  std::uint64_t sum = 0;
  for (const std::uint64_t one : all) sum += one;
  return sum;
}

}  // namespace

int main() try {
  weft::Runtime runtime;
  weft::Endpoint endpoint{runtime};
  const int up = (runtime.rank() + runtime.size() - 1) % runtime.size();
  const int down = (runtime.rank() + 1) % runtime.size();
  Halos halos{runtime, kColumns * sizeof(std::uint64_t)};

  std::vector<weft::RemoteRegion> keys(static_cast<std::size_t>(runtime.size()));
  runtime.allgather(weft::bytes_of(halos.memory.remote()), std::as_writable_bytes(std::span{keys}));
  const weft::MappedRegion above_me = weft::map(runtime, keys[static_cast<std::size_t>(up)]);
  const weft::MappedRegion below_me = weft::map(runtime, keys[static_cast<std::size_t>(down)]);

  std::vector<Row> grid(kRows, Row(kColumns));
  for (std::size_t row = 0; row < kRows; ++row)
    for (std::size_t column = 0; column < kColumns; ++column)
      grid[row][column] = (static_cast<std::size_t>(runtime.rank()) * kRows + row) * 31 + column;
  std::uint64_t expected = sum_of(runtime, grid);

  for (std::uint32_t step = 0; step < kSteps; ++step) {
    const std::size_t set = step % 2;
    // My first row is what lies below the rank above me, and the other way round.
    if (endpoint.put(up, above_me.at(halos.offset(set, below)), weft::bytes_of(grid.front()),
                     {.signal = halos.signals[set][below]}) != weft::Outcome::ok ||
        endpoint.put(down, below_me.at(halos.offset(set, above)), weft::bytes_of(grid.back()),
                     {.signal = halos.signals[set][above]}) != weft::Outcome::ok)
      return 1;
    for (const Side side : {above, below}) endpoint.wait(halos.arrived[set][side], step / 2 + 1);

    const std::vector<Row> old = grid;
    for (std::size_t row = 0; row < kRows; ++row) {
      const std::uint64_t* north = row > 0 ? old[row - 1].data() : halos.row(set, above);
      const std::uint64_t* south = row + 1 < kRows ? old[row + 1].data() : halos.row(set, below);
      for (std::size_t column = 0; column < kColumns; ++column)
        grid[row][column] = 3 * old[row][column] + north[column] + south[column] +
                            old[row][(column + 1) % kColumns] + old[row][(column + kColumns - 1) % kColumns];
    }
    expected *= 7;  // every cell went into seven, counted with their weights; modulo 2^64
  }
  const bool right = sum_of(runtime, grid) == expected;
  std::printf("rank %d: %u steps, the sum is %s\n", runtime.rank(), kSteps, right ? "right" : "wrong");
  return right ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
