// What tasks of a rank wait for from other ranks.
#pragma once

#include <weft/parcel/channel.hpp>
#include <weft/parcel/detail/runtime_part.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <typeindex>
#include <unordered_map>

#include "parcel/pending_calls.hpp"

namespace weft::parcel::detail {

/// Answers, values of channels, and what parts of the interface keep.
class Awaited {
 public:
  /// The rank has failed.
  void fail(int rank);
  /// The runtime ends, in a job of `ranks` ranks.
  void end(int ranks) noexcept;

  PendingCalls calls;
  std::mutex mutex;  ///< of these:
  std::unordered_map<std::uint64_t, std::shared_ptr<ChannelBase>> channels;
  std::unordered_map<std::type_index, std::shared_ptr<RuntimePart>> parts;
};

}  // namespace weft::parcel::detail
