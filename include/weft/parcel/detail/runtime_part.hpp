// What parts of this interface keep per runtime.
#pragma once

#include <weft/detail/export.hpp>

#include <memory>
#include <typeindex>

namespace weft::parcel::detail {

class Core;

/// Something that a runtime keeps one of, made when it is first asked for and destroyed with the runtime.
class RuntimePart {
 public:
  virtual ~RuntimePart() = default;
  /// A rank has failed. A worker calls.
  virtual void peer_failed(int rank) noexcept { static_cast<void>(rank); }
};

/// The part of this type. Any thread, while the runtime lives.
[[nodiscard]] WEFT_API std::shared_ptr<RuntimePart> find_part(Core& core, std::type_index type,
                                                              std::shared_ptr<RuntimePart> (*make)(Core&));
template <class Part>
[[nodiscard]] std::shared_ptr<Part> part_of(Core& core) {
  return std::static_pointer_cast<Part>(
      find_part(core, typeid(Part),
                [](Core& owner) -> std::shared_ptr<RuntimePart> { return std::make_shared<Part>(owner); }));
}

}  // namespace weft::parcel::detail
