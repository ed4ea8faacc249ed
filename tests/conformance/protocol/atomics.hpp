// Atomic adds, with and without the old value, with and without signals, inside regions and beyond their
// ends.
#pragma once

#include "conformance/protocol/traffic.hpp"

#include <deque>
#include <memory>

namespace weft::test {

class Atomics final : public Traffic {
 public:
  explicit Atomics(Job& job);
  ~Atomics() override;
  void begin() override;
  void step() override;
  [[nodiscard]] std::string missing() override;
  void close() override;

 private:
  static constexpr std::size_t kCells = 4;  // of which only the first half is read by every operation

  struct Owned {
    std::vector<std::byte> memory;  // the user's, unless the region allocates its own
    MemoryRegion region;
    std::unique_ptr<Completion> signals;
  };
  struct Add : Posted {
    bool fetches = false;
    bool is_out_of_bounds = false;
    bool is_accepted = false;
    int from = 0;
    int device = 0;
    int to = 0;
    std::size_t cell = 0;
    std::uint64_t operand = 0;
    std::uint64_t old = 0;
    int signals = 0;
    AccessOptions options;
  };

  void post(Add& add);
  void ended(Add& add, Outcome outcome);
  void signalled(int rank, const Message& message);
  void check_cell(int rank, std::size_t cell);

  Job& job_;
  std::vector<std::unique_ptr<Owned>> owned_;  // by rank
  std::deque<Add> adds_;
  std::vector<Add*> refused_;
  std::unique_ptr<Completion> endings_;
};

}  // namespace weft::test
