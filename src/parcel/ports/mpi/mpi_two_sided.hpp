// Header and follow-up messages by MPI's sends and receives.
#pragma once

#include <weft/parcel/options.hpp>

#include <memory>

#include "parcel/connections/two_sided.hpp"

namespace weft::parcel {

/// Protocol::sendrecv: headers up to the zero-copy threshold, which carry the sizes of chunks, and a window
/// of tags. Protocol::original: headers of 512 bytes, and tags from a locked set that messages give back.
/// Collective over MPI_COMM_WORLD. Throws weft::Error.
[[nodiscard]] std::unique_ptr<TwoSided> make_mpi_two_sided(const RuntimeOptions& options);

}  // namespace weft::parcel
