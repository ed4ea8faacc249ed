// What all ranks must have in common, compared when a runtime starts.
#pragma once

#include <weft/bytes.hpp>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace weft::parcel {

/// As Parcelport::allgather().
using Allgather = std::function<void(Bytes mine, std::span<std::byte> all)>;

/// The texts of all ranks, if they differ; else nothing. Collective.
[[nodiscard]] std::vector<std::string> texts_that_differ(const std::string& mine, int ranks,
                                                         const Allgather& allgather);

/// Compares the options that must be equal, lines "option NAME=VALUE", and the form of parcels. Collective.
/// Throws weft::Error, on all ranks, which names one that differs, two ranks and both values.
void agree_on_options(const std::string& options, int ranks, const Allgather& allgather);

}  // namespace weft::parcel
