#pragma once

namespace weft {

/// One attribute set by the program, for example {"packet_size", "16K"}. It takes precedence over the
/// environment variable WEFT_<NAME>. `weft info` lists the names, units and ranges.
/// Both pointers need to stay valid only during the call that they are passed to.
struct AttributeSetting {
  const char* name = nullptr;
  const char* value = nullptr;
};

}  // namespace weft
