// What a program has not destroyed before its runtime, which then names the first of it and ends the program.
#pragma once

#include "core/runtime/runtime_state.hpp"

#include <string>

namespace weft::detail {

class RuntimeState::Undestroyed {
 public:
  explicit Undestroyed(RuntimeState& runtime) noexcept : runtime_(runtime) {}

  /// The runtime, for such lines.
  [[nodiscard]] std::string name() const;
  /// Objects of layers above.
  void refuse_users() const;
  /// The objects that the core knows by itself, those that stand on others first.
  void refuse_objects() const;
  /// Messages that lie in memory of the runtime; called when the runtime itself holds none any more.
  void refuse_messages() const;

 private:
  RuntimeState& runtime_;
};

}  // namespace weft::detail
