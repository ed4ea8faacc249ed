#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bootstrap/bootstrap.hpp"

namespace weft::bootstrap {

/// Returns 32 random hexadecimal digits from the kernel.
std::string random_job_id();
/// Returns a secret of random bytes from the kernel.
Secret random_secret();

/// Returns the id of the i-th runtime of a job: 24 digits of the job's id, then the instance number.
std::string instance_id(std::string_view job_id, std::uint32_t instance);

bool is_job_id(std::string_view text);

}  // namespace weft::bootstrap
