// Decodes parcels that have come, and refuses those that cannot be read.
#pragma once

#include <weft/parcel/action.hpp>
#include <weft/parcel/parcelport.hpp>
#include <weft/parcel/runtime.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "parcel/runtime/parcel_batch.hpp"
#include "parcel/tasks/worker_pool.hpp"

namespace weft::parcel::detail {

struct DecodedAnswer;

/// Any worker, and progress threads.
class ParcelReader {
 public:
  explicit ParcelReader(Core& core) noexcept : core_(core) {}

  /// Decodes and runs; throws what cannot be decoded.
  void run(int source, const ParsedParcel& parcel, ParcelBytes& bytes);
  /// Decodes all parcels of a message with chunks, so that it says where these belong. False: they are no
  /// parcels, which was counted and logged.
  [[nodiscard]] bool place(IncomingMessage& message);
  /// A task that runs a decoded parcel and counts it.
  [[nodiscard]] Task& task_of(DecodedParcel& parcel) const;
  /// A parcel could not be read, because of the exception that is being handled: counts it, logs it, and
  /// tells the caller, if there is one. An answer, or what may be one, is never answered.
  void refuse(int source, const ParsedParcel& parcel) noexcept;
  /// A whole message, of nobody knows how many parcels.
  void drop(int source, const char* why);
  /// The rest of a decoded message has not come.
  void lose(IncomingMessage& message);
  /// BackgroundWork::choose_parcel().
  [[nodiscard]] BackgroundWork::Parcels choose(Task& task, const BlockedKinds& blocked,
                                               const void*& kind) const noexcept;

  /// Parcels that could not be read, and messages that were no parcels.
  [[nodiscard]] std::uint64_t malformed() const noexcept {
    return malformed_.load(std::memory_order_relaxed);
  }
  /// Answers to calls that had ended.
  [[nodiscard]] std::uint64_t late() const noexcept { return late_.load(std::memory_order_relaxed); }

 private:
  [[nodiscard]] const ActionEntry& action_of(const ParsedParcel& parcel) const;
  [[nodiscard]] std::unique_ptr<DecodedAnswer> decode_answer(int source, const ParsedParcel& parcel,
                                                             Reader& reader);
  /// Decodes what belongs to a message with chunks. Where it cannot, the chunks land nowhere.
  [[nodiscard]] std::unique_ptr<DecodedParcel> decode(IncomingMessage& message, const ParsedParcel& parcel,
                                                      std::size_t first_chunk);
  void refuse_all(IncomingMessage& message) noexcept;

  Core& core_;
  std::atomic<std::uint64_t> malformed_{0};
  std::atomic<std::uint64_t> late_{0};
};

}  // namespace weft::parcel::detail
