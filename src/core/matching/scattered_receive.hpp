// A posted receive whose room is a list of buffers.
//
// It stands between the receive and the completion object of the program, and lends the receive a special
// buffer. Code that copies payloads recognises that buffer and copies into the list. So receives with one
// buffer cost nothing more.
#pragma once

#include "core/diagnosis/pending.hpp"
#include "core/matching/table/record_pool.hpp"
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

  ~ScatteredReceive() override { set_unnamed(); }

  /// Copies the list, which is not empty; its memory stays with the record and is reused. Returns false when
  /// there is no memory for it. `total`: the sum of the sizes, at most 2^62.
  [[nodiscard]] bool assign(std::span<const MutableBytes> buffers, std::size_t total,
                            const ReceiveOptions& options, Pool& pool) noexcept;
  /// The buffer to post. Its size is larger than any payload.
  [[nodiscard]] MutableBytes buffer() noexcept { return {entry_.word.data(), kScattered | total_}; }
  /// Returns the receive that lent such a buffer; nullptr for memory of the program.
  [[nodiscard]] static ScatteredReceive* of(MutableBytes buffer) noexcept {
    return (buffer.size() & kScattered) == 0 ? nullptr : reinterpret_cast<Entry*>(buffer.data())->receive;
  }

  /// Replaces, in an explanation, the data of a receive with such a buffer by those of the program's receive.
  static void show(MutableBytes buffer, PendingOperation& receive) noexcept;

  [[nodiscard]] std::size_t total() const noexcept { return total_; }
  /// `object` is being destroyed: signals `instead` in its place. Returns true when it was the object of this
  /// receive. Any thread.
  bool pass_on(const Completion& object, Completion& instead) noexcept {
    Completion* expected = const_cast<Completion*>(&object);
    return completion_.compare_exchange_strong(expected, &instead, std::memory_order_acq_rel);
  }
  [[nodiscard]] bool passes_on_to(const Completion& object) const noexcept {
    return completion_.load(std::memory_order_relaxed) == &object;
  }
  /// Copies a payload that arrived in one message.
  void fill(Bytes payload) noexcept;
  /// Returns the list for a payload that lies at `address` in its sender; 0: it cannot be read there.
  [[nodiscard]] std::span<const ScatterPart> parts_from(std::uint64_t address) noexcept;

  /// Called when the receive has ended: signals the program's completion object, and releases the record.
  void signal(Message& message) noexcept override;
  [[nodiscard]] bool ready() const noexcept override { return true; }

 private:
  static constexpr std::size_t kScattered = std::size_t{1} << 63;
  /// A payload of one word is stored without a check of the buffer's size (matched/complete_receive.hpp): it
  /// goes to `word` first, and signal() copies it.
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
  std::atomic<Completion*> completion_{nullptr};  // null once it has ended
  void* user_data_ = nullptr;
  Pool* pool_ = nullptr;
};

}  // namespace weft::core
