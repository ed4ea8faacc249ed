// Header and follow-up messages by MPI's sends and receives.
#pragma once

#include <weft/parcel/ports/parcelport_kind.hpp>

#include <cstdint>
#include <memory>

#include "study/parcelports/connections/two_sided.hpp"

namespace weft::parcel::ports {

enum class MpiForm : std::uint8_t {
  window,    ///< headers up to the zero-copy threshold, which carry the sizes of chunks; a window of tags
  original,  ///< headers of 512 bytes; tags from a locked set that messages give back
};

/// An option of its own: mpi_library. Collective over MPI_COMM_WORLD. Throws weft::Error.
[[nodiscard]] std::unique_ptr<TwoSided> make_mpi_two_sided(PortSetup& setup, MpiForm form);

}  // namespace weft::parcel::ports
