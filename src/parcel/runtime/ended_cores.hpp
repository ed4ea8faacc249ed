// What is left of runtimes that have ended.
#pragma once

namespace weft::parcel::detail {

class Core;

class EndedCores {
 public:
  /// Takes over the core of a runtime that has ended, and keeps it for as long as few others come after it:
  /// whoever still calls the runtime finds that it has ended.
  static void keep(Core* core) noexcept;
};

}  // namespace weft::parcel::detail
