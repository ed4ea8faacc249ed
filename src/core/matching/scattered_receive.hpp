// A posted receive whose room is a list of buffers.
//
// It stands between the receive and the completion object of the program, and lends the receive a buffer that
// tells, where a payload is copied, that it belongs into the list. So receives with one buffer pay nothing.
#pragma once

#include "core/diagnosis/pending.hpp"
#include "core/matching/record_pool.hpp"
#include "core/memory/scatter.hpp"

#include <weft/completion/completion.hpp>
#include <weft/options.hpp>
#include <weft/types.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace weft::core {

class ScatteredReceive final : public Completion, public PooledRecord {
 public:
  using Pool = RecordPool<ScatteredReceive>;

  ~ScatteredReceive() override { withdraw(); }

  /// Copies the list, which is not empty; its memory stays with the record and is reused. False: there is no
  /// memory for it. `total`: the sum of the sizes, at most 2^62.
  [[nodiscard]] bool assign(std::span<const MutableBytes> buffers, std::size_t total,
                            const ReceiveOptions& options, Pool& pool) noexcept;
  /// What is posted. Its size is larger than any payload.
  [[nodiscard]] MutableBytes buffer() noexcept { return {entry_.word.data(), kScattered | total_}; }
  /// The receive that lent such a buffer; nullptr for memory of the program.
  [[nodiscard]] static ScatteredReceive* of(MutableBytes buffer) noexcept {
    return (buffer.size() & kScattered) == 0 ? nullptr : reinterpret_cast<Entry*>(buffer.data())->receive;
  }

  /// Makes what an explanation tells of a receive with such a buffer that of the program's.
  static void show(MutableBytes buffer, PendingOperation& receive) noexcept;

  [[nodiscard]] std::size_t total() const noexcept { return total_; }
  /// Copies a payload that came whole.
  void fill(Bytes payload) noexcept;
  /// The list for a payload that lies at `address` of its sender; 0: nobody can read it there.
  [[nodiscard]] std::span<const ScatterPart> parts_from(std::uint64_t address) noexcept;

  /// The receive has ended: the program's completion object learns it, and the record is free.
  void signal(Message& message) noexcept override;
  [[nodiscard]] bool ready() const noexcept override { return true; }

 private:
  static constexpr std::size_t kScattered = std::size_t{1} << 63;
  /// A payload of one word is stored without a look at the size of the buffer (complete.hpp): it goes here
  /// first, and signal() copies it.
  struct Entry {
    std::array<std::byte, sizeof(std::uint64_t)> word;
    ScatteredReceive* receive;
  };
  static_assert(offsetof(Entry, word) == 0);

  [[nodiscard]] std::span<ScatterPart> parts() const noexcept { return {parts_.get(), count_}; }

  Entry entry_{{}, this};
  std::unique_ptr<ScatterPart[]> parts_;
  std::size_t capacity_ = 0;
  std::size_t count_ = 0;
  std::size_t total_ = 0;
  Completion* completion_ = nullptr;
  void* user_data_ = nullptr;
  Pool* pool_ = nullptr;
};

}  // namespace weft::core
