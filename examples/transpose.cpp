// A matrix whose rows are spread over the ranks is transposed: an alltoall of blocks, made once and started
// twice.
#include <weft/weft.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

int main() try {
  weft::Runtime runtime;
  weft::Endpoint endpoint{runtime};
  weft::Collective all{runtime, endpoint};

  constexpr std::size_t kRows = 64;  // of each rank
  const auto ranks = static_cast<std::size_t>(all.size());
  const std::size_t first = kRows * static_cast<std::size_t>(all.rank());
  const std::size_t width = kRows * ranks;
  std::vector<std::uint64_t> matrix(kRows * width);  // row by row
  for (std::size_t row = 0; row < kRows; ++row)
    for (std::size_t column = 0; column < width; ++column)
      matrix[row * width + column] = (first + row) * width + column;

  std::vector<std::uint64_t> out(matrix.size());
  std::vector<std::uint64_t> in(matrix.size());
  weft::CollectiveOperation exchange = all.make_alltoall(out, in);
  const auto transpose = [&] {
    // The block for a rank: its columns, each as a row.
    std::size_t next = 0;
    for (std::size_t column = 0; column < width; ++column)
      for (std::size_t row = 0; row < kRows; ++row) out[next++] = matrix[row * width + column];
    exchange.start();
    if (exchange.wait() != weft::Outcome::ok) return false;
    for (std::size_t from = 0; from < ranks; ++from)
      for (std::size_t row = 0; row < kRows; ++row)
        for (std::size_t column = 0; column < kRows; ++column)
          matrix[row * width + from * kRows + column] = in[(from * kRows + row) * kRows + column];
    return true;
  };

  bool is_right = transpose();
  for (std::size_t row = 0; row < kRows; ++row)
    for (std::size_t column = 0; column < width; ++column)
      is_right = is_right && matrix[row * width + column] == column * width + first + row;
  is_right = transpose() && is_right;  // and back
  for (std::size_t place = 0; place < matrix.size(); ++place)
    is_right = is_right && matrix[place] == first * width + place;

  std::uint8_t all_right = is_right;
  if (all.allreduce(all_right, all_right, weft::operators::Min{}) != weft::Outcome::ok) return 1;
  if (all.rank() == 0)
    std::printf("a matrix of %zu by %zu: %s\n", width, width, all_right ? "transposed and back" : "wrong");
  return all_right ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
