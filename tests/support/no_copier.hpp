#pragma once

#include <weft/message.hpp>

#include <cstddef>
#include <cstdint>

namespace weft::test {

/// Copies nothing: kept messages go to the heap.
class NoCopier final : public detail::PayloadLender {
 public:
  PayloadOwner* keep(const std::byte*&, std::size_t, std::uint64_t&) noexcept override { return nullptr; }
};

}  // namespace weft::test
