// Parcels that have arrived together and run one after the other, as a task that any worker can go on with.
#pragma once

#include <weft/parcel/detail/parcel_header.hpp>
#include <weft/parcel/parcelport.hpp>
#include <weft/parcel/task.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <vector>

namespace weft::parcel {

/// One of its parcels runs each time the task runs; the rest is handed over to the scheduler before the
/// parcel's action begins, so that an action that waits keeps no other from running.
class ParcelBatch final : public Task {
 public:
  explicit ParcelBatch(detail::Core& core) noexcept : Task(&run), core_(core) {}

  /// Appends the parcels of a message from `source`. False: no room, or parcels of another rank in it.
  [[nodiscard]] bool append(int source, Bytes parcels) noexcept {
    if (size_ != 0 && (source != source_ || parcels.size() > kCapacity - size_)) return false;
    if (parcels.size() > kCapacity) return false;
    source_ = source;
    std::memcpy(storage_ + size_, parcels.data(), parcels.size());
    size_ += parcels.size();
    return true;
  }
  /// Takes the parcels of a whole message, without chunks.
  void take(std::unique_ptr<IncomingMessage> message) noexcept {
    source_ = message->source;
    message_ = std::move(message);
  }
  [[nodiscard]] bool is_empty() const noexcept { return size_ == 0; }

  /// nullptr: the task is none.
  [[nodiscard]] static ParcelBatch* of(Task& task) noexcept {
    return task.execute == &run ? static_cast<ParcelBatch*>(&task) : nullptr;
  }
  /// Chooses the next parcel that runs: the first one that is an answer, or whose `may_run(action)`. False:
  /// all others stand before it. Not while it runs.
  template <class MayRun>
  [[nodiscard]] bool choose(const MayRun& may_run) noexcept;

 private:
  static constexpr std::size_t kCapacity = 4096;
  class HeldBytes;

  static void run(Task& task) noexcept;
  [[nodiscard]] Bytes all() const noexcept { return message_ ? message_->head : Bytes(storage_, size_); }
  /// From the next parcel on, which has not run before its turn.
  [[nodiscard]] Bytes rest() noexcept;

  detail::Core& core_;
  int source_ = -1;
  std::size_t next_ = 0;  // the offset of the next parcel
  // Offsets of parcels beyond next_ that have run before their turn; and up to where choose() has looked.
  std::vector<std::size_t> early_;
  std::size_t looked_at_ = 0;
  bool has_chosen_ = false;  // the last of early_ runs next
  std::size_t size_ = 0;
  std::unique_ptr<IncomingMessage> message_;
  alignas(16) std::byte storage_[kCapacity];
};

template <class MayRun>
bool ParcelBatch::choose(const MayRun& may_run) noexcept {
  looked_at_ = std::max(looked_at_, next_);
  while (!has_chosen_) {
    const Bytes bytes = all().subspan(looked_at_);
    detail::ParcelHeader header;
    if (bytes.size() < sizeof header) return false;
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.size < sizeof header || header.size > bytes.size()) return false;
    if ((header.action & detail::kAnswer) != 0 || may_run(header.action & detail::kActionBits)) {
      try {
        early_.push_back(looked_at_);
      } catch (const std::bad_alloc&) {
        return false;
      }
      has_chosen_ = true;
    }
    looked_at_ += header.size;
  }
  return true;
}

/// A parcel as it lies in a message.
struct ParsedParcel {
  std::uint32_t action = 0;
  std::uint32_t flags = 0;
  std::uint64_t call = 0;
  std::uint64_t chunks = 0;
  Bytes arguments;
  std::size_t size = 0;
  [[nodiscard]] bool is_answer() const noexcept { return (flags & detail::kAnswer) != 0; }
};

/// Whether the lengths of the parcels are those of their message: then one that cannot be read does no harm
/// to those behind it.
[[nodiscard]] inline bool are_parcels(Bytes bytes) noexcept {
  while (!bytes.empty()) {
    detail::ParcelHeader header;
    if (bytes.size() < sizeof header) return false;
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.size < sizeof header || header.size > bytes.size()) return false;
    bytes = bytes.subspan(header.size);
  }
  return true;
}
/// Throws MalformedParcel unless the chunks of a message could lie in the memory of this host.
void check_memory_for(std::span<const std::uint64_t> chunk_sizes);
/// The first parcel of `bytes`; throws MalformedParcel.
[[nodiscard]] ParsedParcel parse_parcel(Bytes bytes);

}  // namespace weft::parcel
