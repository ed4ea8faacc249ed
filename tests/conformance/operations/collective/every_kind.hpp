// Every kind of collective, called once, against a serial computation.
#pragma once

#include "support/collectives.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace weft::test {

/// 2 x 2 matrices modulo 2^32: their product is associative and not commutative.
struct Matrix {
  std::uint32_t cell[4] = {1, 0, 0, 1};
  friend bool operator==(const Matrix&, const Matrix&) = default;
  [[nodiscard]] Matrix times(const Matrix& right) const noexcept {
    return {{cell[0] * right.cell[0] + cell[1] * right.cell[2],
             cell[0] * right.cell[1] + cell[1] * right.cell[3],
             cell[2] * right.cell[0] + cell[3] * right.cell[2],
             cell[2] * right.cell[1] + cell[3] * right.cell[3]}};
  }
  [[nodiscard]] static Matrix of(int rank, std::size_t index) noexcept {
    const auto number = static_cast<std::uint32_t>(element(rank, index, 7) >> 13);
    return {{number | 1, number >> 3, number >> 5, number >> 7 | 1}};
  }
  static const AnyReduction& product() noexcept {
    static const AnyReduction reduction{
        .element_size = sizeof(Matrix),
        .apply =
            [](void* to, const void* from, std::size_t count, void*) {
              for (std::size_t index = 0; index < count; ++index)
                static_cast<Matrix*>(to)[index] =
                    static_cast<Matrix*>(to)[index].times(static_cast<const Matrix*>(from)[index]);
            },
        .is_commutative = false};
    return reduction;
  }
};

inline std::vector<Matrix> matrices(int rank, std::size_t count) {
  std::vector<Matrix> result(count);
  for (std::size_t index = 0; index < count; ++index) result[index] = Matrix::of(rank, index);
  return result;
}
/// The products of the matrices of ranks `first` to `last`, in their order.
inline std::vector<Matrix> products(int first, int last, std::size_t count) {
  std::vector<Matrix> result(count);
  for (int rank = first; rank <= last; ++rank)
    for (std::size_t index = 0; index < count; ++index)
      result[index] = result[index].times(Matrix::of(rank, index));
  return result;
}

/// Calls every kind with `count` elements of 8 bytes a rank, and returns the names of those whose results are
/// wrong. All members call it with the same arguments.
class EveryKind {
 public:
  using Numbers = std::vector<std::uint64_t>;
  EveryKind(Collective& all, std::size_t count, std::uint64_t salt)
      : all_(all), rank_(all.rank()), size_(all.size()), count_(count), salt_(salt) {}

  [[nodiscard]] std::string wrong() {
    expect("barrier", all_.barrier() == Outcome::ok);
    const Numbers mine = elements(rank_, count_, salt_);
    for (const int root : {0, size_ - 1}) of_root(mine, root);
    const Numbers sum = sums(size_, count_, salt_);
    Numbers result(count_);
    expect("allreduce", all_.allreduce(mine, result, operators::Sum{}) == Outcome::ok && result == sum);
    expect("scan", all_.inclusive_scan(mine, result, operators::Sum{}) == Outcome::ok &&
                       result == sums(rank_ + 1, count_, salt_));
    expect("exclusive scan", all_.exclusive_scan(mine, result, operators::Sum{}) == Outcome::ok &&
                                 (rank_ == 0 || result == sums(rank_, count_, salt_)));
    Numbers gathered(count_ * ranks());
    expect("allgather", all_.allgather(mine, gathered) == Outcome::ok && gathered == of_all());
    exchanges();
    ordered();
    return wrong_;
  }

 private:
  [[nodiscard]] std::size_t ranks() const noexcept { return static_cast<std::size_t>(size_); }
  void expect(const char* what, bool is_right) {
    if (!is_right) wrong_ += std::string(wrong_.empty() ? "" : ", ") + what;
  }
  [[nodiscard]] Numbers of_all() const {
    Numbers result;
    for (int rank = 0; rank < size_; ++rank) {
      const Numbers theirs = elements(rank, count_, salt_);
      result.insert(result.end(), theirs.begin(), theirs.end());
    }
    return result;
  }
  void of_root(const Numbers& mine, int root) {
    Numbers values = rank_ == root ? mine : Numbers(count_);
    expect("broadcast",
           all_.broadcast(values, root) == Outcome::ok && values == elements(root, count_, salt_));
    Numbers result(rank_ == root ? count_ : 0);
    expect("reduce", all_.reduce(mine, result, operators::Sum{}, root) == Outcome::ok &&
                         (rank_ != root || result == sums(size_, count_, salt_)));
    Numbers gathered(rank_ == root ? count_ * ranks() : 0);
    expect("gather",
           all_.gather(mine, gathered, root) == Outcome::ok && (rank_ != root || gathered == of_all()));
    Numbers part(count_);
    expect("scatter", all_.scatter(of_all(), part, root) == Outcome::ok && part == mine);
  }
  void exchanges() {
    const auto block = [&](int from, int to) {
      return elements(from, count_, salt_ + static_cast<std::uint64_t>(to) * 977);
    };
    Numbers out;
    Numbers expected;
    for (int peer = 0; peer < size_; ++peer) {
      const Numbers sent = block(rank_, peer);
      out.insert(out.end(), sent.begin(), sent.end());
      const Numbers got = block(peer, rank_);
      expected.insert(expected.end(), got.begin(), got.end());
    }
    Numbers in(out.size());
    expect("alltoall", all_.alltoall(out, in) == Outcome::ok && in == expected);
    Numbers sum(count_);
    for (int peer = 0; peer < size_; ++peer) {
      const Numbers got = block(peer, rank_);
      for (std::size_t index = 0; index < count_; ++index) sum[index] += got[index];
    }
    Numbers reduced(count_);
    expect("reduce_scatter",
           all_.reduce_scatter(out, reduced, operators::Sum{}) == Outcome::ok && reduced == sum);
    const int right = (rank_ + 1) % size_;
    const int left = (rank_ + size_ - 1) % size_;
    const int sources[] = {left, right};
    const int destinations[] = {right, left};
    Numbers around(2 * count_);
    const Numbers mine = elements(rank_, count_, salt_);
    Numbers both = elements(left, count_, salt_);
    const Numbers other = elements(right, count_, salt_);
    both.insert(both.end(), other.begin(), other.end());
    expect("neighbor_allgather",
           all_.neighbor_allgather(mine, around, sources, destinations) == Outcome::ok && around == both);
  }
  void ordered() {
    const std::vector<Matrix> mine = matrices(rank_, count_);
    const std::vector<Matrix> all = products(0, size_ - 1, count_);
    std::vector<Matrix> result(count_);
    expect("ordered allreduce",
           all_.allreduce(mine, result, Matrix::product()) == Outcome::ok && result == all);
    std::vector<Matrix> in_place = mine;
    expect("ordered allreduce in place",
           all_.allreduce(in_place, in_place, Matrix::product()) == Outcome::ok && in_place == all);
    for (const int root : {0, size_ - 1}) {
      std::vector<Matrix> of_root = mine;
      expect("ordered reduce", all_.reduce(of_root, of_root, Matrix::product(), root) == Outcome::ok &&
                                   (rank_ != root || of_root == all));
    }
    expect("ordered scan", all_.inclusive_scan(mine, result, Matrix::product()) == Outcome::ok &&
                               result == products(0, rank_, count_));
    const std::vector<Matrix> blocks = matrices(rank_, count_ * ranks());
    expect("ordered reduce_scatter", all_.reduce_scatter(blocks, result, Matrix::product()) == Outcome::ok &&
                                         is_block_of_products(result));
  }
  [[nodiscard]] bool is_block_of_products(const std::vector<Matrix>& result) const {
    const std::vector<Matrix> all = products(0, size_ - 1, count_ * ranks());
    return std::equal(result.begin(), result.end(),
                      all.begin() + static_cast<std::ptrdiff_t>(count_ * static_cast<std::size_t>(rank_)));
  }

  Collective& all_;
  const int rank_;
  const int size_;
  const std::size_t count_;
  const std::uint64_t salt_;
  std::string wrong_;
};

/// More calls than it takes until the members on a host share memory.
inline void connect(Collective& all) {
  for (int turn = 0; turn < 12; ++turn) EXPECT_EQ(all.barrier(), Outcome::ok);
}

}  // namespace weft::test
