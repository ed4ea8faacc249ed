// The names under which a process has runtimes open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace weft::bootstrap {

/// Longest name of a runtime, in bytes.
inline constexpr std::size_t kMaximumName = 64;

/// The names of the runtimes of one rank in one process. Runtimes of different ranks are connected by name,
/// and those of one name by the order in which each rank has opened them. So there must be such an order: a
/// name belongs to one runtime at a time, and the empty name to one thread at a time, whose runtimes may
/// overlap.
class OpenNames {
 public:
  /// Holds a name for as long as a runtime is open under it.
  class Hold {
   public:
    Hold() = default;
    Hold(Hold&& other) noexcept = default;
    Hold& operator=(Hold&&) = delete;
    ~Hold();

   private:
    friend class OpenNames;
    struct Table;
    std::shared_ptr<Table> table_;
    std::string name_;
  };

  OpenNames();
  /// Takes a name for a runtime. Any thread. Throws weft::Error when the name is not valid, or when another
  /// runtime (for the empty name: another thread) holds it.
  Hold take(std::string_view name);

 private:
  std::shared_ptr<Hold::Table> table_;
};

}  // namespace weft::bootstrap
