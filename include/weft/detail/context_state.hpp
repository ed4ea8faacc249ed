// What tags in matching contexts refer to, and the engines and numbers of contexts.
#pragma once

#include <weft/types.hpp>

#include <atomic>
#include <cstdint>

namespace weft::detail {

class RuntimeState;

/// What the tags of a context refer to. Lives as long as the runtime; serves another context when this one is
/// destroyed.
struct ContextState {
  const RuntimeState* runtime = nullptr;
  std::atomic<std::uint32_t> first{0};
  std::atomic<std::uint32_t> count{0};  // 0: the context has been destroyed
  std::uint16_t engine = 0;
};

/// The matching engine of all unordered contexts.
inline constexpr std::uint16_t kUnorderedContexts = 254;
/// The first of the engines, beyond those of programs, among which the ordered contexts are spread.
inline constexpr std::uint16_t kOrderedContexts = kEngineIds + 1;
inline constexpr std::uint16_t kOrderedContextEngines = 8;
/// Behind them: the engines of streams, by device.
inline constexpr std::uint16_t kStreamEngines = kOrderedContexts + kOrderedContextEngines;
inline constexpr std::uint16_t kStreamEngineCount = 256;
[[nodiscard]] constexpr bool is_context_engine(std::uint32_t engine) noexcept {
  return engine == kUnorderedContexts || engine - kOrderedContexts < kOrderedContextEngines;
}

/// The keys of contexts from here on are the library's own.
inline constexpr std::uint32_t kLibraryContextKeys = 0x7f000000;
/// Context numbers with this bit are made of keys; the others are agreed.
inline constexpr std::uint32_t kContextByKey = std::uint32_t{1} << 31;

}  // namespace weft::detail
