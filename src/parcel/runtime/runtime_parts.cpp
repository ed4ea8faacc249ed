#include <weft/parcel/detail/runtime_part.hpp>

#include "parcel/runtime/core.hpp"

namespace weft::parcel::detail {

std::shared_ptr<RuntimePart> find_part(Core& core, std::type_index type,
                                       std::shared_ptr<RuntimePart> (*make)(Core&)) {
  const std::lock_guard lock(core.awaited().mutex);
  auto& part = core.awaited().parts[type];
  if (!part) part = make(core);
  return part;
}

}  // namespace weft::parcel::detail
