// Access to the files that a peer holds open: its segment, and those of its regions.
#pragma once

#include "base/descriptor.hpp"
#include "bootstrap/bootstrap.hpp"
#include "network/network.hpp"

#include <cstdint>
#include <string>

namespace weft::network::shm {

/// The key under which a rank lends its segment.
inline constexpr const char* kSegmentKey = "shm.segment";
/// The key under which a rank lends the file of an allocated region.
[[nodiscard]] std::string region_key(RegionName name);

/// Opens the file that `process` holds open as `number`, through its descriptor table in /proc. This needs
/// the right to debug the process, and a /proc in which the process has this number; so use it only for
/// processes for which both are known. Returns an empty descriptor, with errno, when it cannot be opened.
[[nodiscard]] base::Descriptor open_of_process(std::int32_t process, std::int32_t number) noexcept;
/// Returns true when open_of_process() works: it finds the same file as `lent`.
[[nodiscard]] bool can_open_of_process(std::int32_t process, std::int32_t number,
                                       const base::Descriptor& lent) noexcept;

/// Returns true when peers may be unable to open files of this process by open_of_process(), as far as it can
/// tell now, so that it must lend the files that peers map: it may not be debugged (prctl PR_SET_DUMPABLE, a
/// file that cannot be read, capabilities), or it has namespaces of its own.
[[nodiscard]] bool is_out_of_reach(const bootstrap::Bootstrap& bootstrap) noexcept;

}  // namespace weft::network::shm
