// The parcelports that exist to compare with: over plain sockets, over MPI, and over weft in the forms of the
// paper.
#pragma once

namespace weft::parcel::ports {

/// Registers them, as port=tcp, putsendrecv, sendrecv, mpi and mpi-original. Any number of times, any thread.
void register_all();

}  // namespace weft::parcel::ports
