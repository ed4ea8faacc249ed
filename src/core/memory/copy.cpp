#include "base/memory/bulk_copy.hpp"

#include <weft/detail/copy.hpp>

namespace weft::detail {

static_assert(kBulkCopy == base::kBlockCopy);

void copy_bulk(std::byte* to, const std::byte* from, std::size_t size) noexcept {
  base::copy_bulk(to, from, size);
}

}  // namespace weft::detail
