// What the ranks of a job must have in common, made from the attribute table and from versions.
#pragma once

#include "base/attributes.hpp"
#include "bootstrap/bootstrap.hpp"
#include "core/runtime/host_table.hpp"

#include <string>
#include <string_view>

namespace weft {

/// The network that the attribute `network` means in this job.
std::string_view chosen_network(const base::Attributes& attributes, const core::HostTable& hosts);

/// The statement for Bootstrap::agree().
std::string statement_of(const base::Attributes& attributes, const bootstrap::Bootstrap& bootstrap,
                         const core::HostTable& hosts);

}  // namespace weft
