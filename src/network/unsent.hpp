// Ports that keep what they have accepted until more of it leaves together, or until there is room.
#pragma once

#include <string>
#include <vector>

namespace weft::network {

/// An ability of some ports. Any thread, also beside the owner of an exclusive port.
class HoldsUnsent {
 public:
  /// Sends it now, as far as there is room; a try that returns at once where another thread is inside. It
  /// leaves without this call, too, but a moment later.
  virtual void carry() noexcept = 0;
  /// Adds a line for each peer for which something that was accepted has not left; nothing while another
  /// thread is inside.
  virtual void describe_unsent(std::vector<std::string>& lines) = 0;

 protected:
  ~HoldsUnsent() = default;
};

}  // namespace weft::network
