// Puts and gets, with and without signals, inside regions and beyond their ends.
#pragma once

#include "conformance/protocol/traffic.hpp"

#include <deque>
#include <memory>

namespace weft::test {

class Accesses final : public Traffic {
 public:
  explicit Accesses(Job& job);
  ~Accesses() override;
  void begin() override;
  void step() override;
  [[nodiscard]] std::string missing() override;
  void close() override;

 private:
  static constexpr std::size_t kCells = 6;

  /// A region of one rank, cut into cells of which each serves one access at a time.
  struct Owned {
    std::vector<std::byte> memory;  // the user's, unless the region allocates its own
    MemoryRegion region;
    std::vector<std::byte> expected;
    std::vector<bool> is_busy;
    std::unique_ptr<Completion> signals;
  };
  struct Access : Posted {
    bool is_put = false;
    bool is_out_of_bounds = false;
    bool is_accepted = false;
    int from = 0;
    int device = 0;
    int to = 0;
    std::size_t cell = 0;
    std::uint64_t offset = 0;
    std::size_t size = 0;
    std::vector<std::byte> bytes;
    int signals = 0;
    AccessOptions options;
  };

  void post(Access& access);
  void ended(Access& access, Outcome outcome);
  void signalled(int rank, const Message& message);
  void release_cell(Access& access);
  [[nodiscard]] bool wants_signal(const Access& access) const {
    return access.options.signal.generation() != 0;
  }

  Job& job_;
  std::size_t cell_ = 0;                       // bytes
  std::vector<std::unique_ptr<Owned>> owned_;  // by rank
  std::deque<Access> accesses_;
  std::vector<Access*> refused_;
  std::unique_ptr<Completion> endings_;
};

}  // namespace weft::test
