// Addresses in the program that other processes understand which run the same one.
#pragma once

#include <cstdint>

namespace weft::mpi {

/// The same in processes that run the same program.
[[nodiscard]] std::uint64_t program_image() noexcept;
/// Where an address lies in the program itself; 0 where it lies in a library.
[[nodiscard]] std::uint64_t offset_in_program(const void* address) noexcept;
/// The address in this process; nullptr for 0.
[[nodiscard]] const void* address_in_program(std::uint64_t offset) noexcept;

}  // namespace weft::mpi
