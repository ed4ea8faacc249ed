// The parcelport over weft: shared memory, sockets, libfabric, and, for tests, the simulated network.
#pragma once

#include <weft/parcel/options.hpp>
#include <weft/parcel/parcelport.hpp>

#include <memory>

namespace weft {
class InProcessJob;
namespace sim {
class Simulation;
}
}  // namespace weft

namespace weft::parcel {

[[nodiscard]] std::unique_ptr<Parcelport> make_weft_port(const RuntimeOptions& options);
[[nodiscard]] std::unique_ptr<Parcelport> make_weft_port(InProcessJob& job, int rank,
                                                         const RuntimeOptions& options);
[[nodiscard]] std::unique_ptr<Parcelport> make_weft_port(sim::Simulation& simulation, int rank,
                                                         const RuntimeOptions& options);

}  // namespace weft::parcel
