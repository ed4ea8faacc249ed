// Hints to the processor, the only instructions that are chosen by hand. They change how long something
// takes, never what it does: an unknown processor goes without.
#pragma once

#include <weft/detail/language.hpp>

namespace weft::detail {

#if defined(__x86_64__)

/// Tells the core that the calling thread spins, so that it leaves its units to the thread beside it.
inline void cpu_pause() noexcept { __builtin_ia32_pause(); }
/// Waits for 4 to 6 ns, in which this core reads nothing ahead; one cpu_pause() may take 50.
inline void short_pause() noexcept { __builtin_ia32_lfence(); }
/// Asks for exclusive ownership of a line. The compiler's builtin would only ask for a shared copy unless the
/// program is built for a processor that is known to have the instruction; all x86-64 processors accept it.
inline void prefetch_for_write(const void* line) noexcept {
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
}

#elif defined(__aarch64__)

// `yield` does nothing on most cores; `isb` waits until the pipeline is empty, 10 to 20 ns.
inline void cpu_pause() noexcept { asm volatile("isb" : : : "memory"); }
inline void short_pause() noexcept { asm volatile("isb" : : : "memory"); }
inline void prefetch_for_write(const void* line) noexcept { __builtin_prefetch(line, 1); }

#else

inline void cpu_pause() noexcept {}
inline void short_pause() noexcept {}
inline void prefetch_for_write(const void* line) noexcept { __builtin_prefetch(line, 1); }

#endif

}  // namespace weft::detail
