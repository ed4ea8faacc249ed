// An array that is spread over all ranks, used by everybody through puts and gets.
//
// Rank r owns a block of consecutive elements. Whoever wants an element computes the owner and the place
// there; the owner does not take part.
#include <weft/weft.hpp>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

class DistributedArray {
 public:
  /// Collective: every rank contributes a block and learns where the others are.
  DistributedArray(weft::Runtime& runtime, weft::Endpoint& endpoint, std::size_t elements)
      : endpoint_(endpoint),
        block_((elements + static_cast<std::size_t>(runtime.size()) - 1) /
               static_cast<std::size_t>(runtime.size())),
        mine_(weft::MemoryRegion::allocate(runtime, block_ * sizeof(std::uint64_t))) {
    std::vector<weft::RemoteRegion> keys(static_cast<std::size_t>(runtime.size()));
    runtime.allgather(weft::bytes_of(mine_.remote()), std::as_writable_bytes(std::span{keys}));
    // Where a block can be mapped, puts and gets on it are stores and loads.
    for (const weft::RemoteRegion& key : keys) blocks_.push_back(weft::map(runtime, key));
  }

  void put(std::size_t index, std::uint64_t value) {
    // Without a completion object: flush() tells when the value is there.
    while (endpoint_.post_put(owner(index), place(index), weft::bytes_of(value)).is_retry())
      endpoint_.progress();
  }
  [[nodiscard]] std::uint64_t get(std::size_t index) {
    std::uint64_t value = 0;
    if (endpoint_.get(owner(index), place(index), weft::mutable_bytes_of(value)) != weft::Outcome::ok)
      throw std::runtime_error("the owner of element " + std::to_string(index) + " has failed");
    return value;
  }

 private:
  [[nodiscard]] int owner(std::size_t index) const { return static_cast<int>(index / block_); }
  [[nodiscard]] weft::MappedAddress place(std::size_t index) const {
    return blocks_[index / block_].at(index % block_ * sizeof(std::uint64_t));
  }

  weft::Endpoint& endpoint_;
  const std::size_t block_;
  const weft::MemoryRegion mine_;
  std::vector<weft::MappedRegion> blocks_;  // by rank
};

}  // namespace

int main() try {
  constexpr std::size_t kElements = 10'000;
  weft::Runtime runtime;
  weft::Endpoint endpoint{runtime};
  // Some networks bring puts and gets as messages: the owner's progress thread answers while this thread is
  // elsewhere.
  weft::ProgressThread progress{runtime};
  DistributedArray array{runtime, endpoint, kElements};

  // Every rank writes every size()-th element, wherever it lies.
  const auto ranks = static_cast<std::size_t>(runtime.size());
  for (std::size_t index = static_cast<std::size_t>(runtime.rank()); index < kElements; index += ranks)
    array.put(index, index * index);
  endpoint.flush();   // what this rank has put is there,
  runtime.barrier();  // and so is what all others have

  // Every rank checks what its neighbour wrote.
  std::size_t wrong = 0;
  std::size_t checked = 0;
  for (std::size_t index = (static_cast<std::size_t>(runtime.rank()) + 1) % ranks; index < kElements;
       index += ranks, ++checked)
    if (array.get(index) != index * index) ++wrong;
  std::printf("rank %d: %zu elements checked, %zu wrong\n", runtime.rank(), checked, wrong);
  runtime.barrier();  // nobody's block goes away while others read it
  return wrong == 0 ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
