// What a message of parcels may have at most: what announces more does not come from a rank of this job.
#pragma once

#include <weft/detail/language.hpp>

#include <cstdint>

namespace weft::parcel::detail {

/// Bytes of the parcels in a message, without their chunks: a parcel has less than 4 GiB, and is appended to
/// at most RuntimeOptions::message_limit bytes.
inline constexpr std::uint64_t kMostHead = std::uint64_t{1} << 33;
inline constexpr std::uint64_t kMostChunks = 1 << 24;

}  // namespace weft::parcel::detail
