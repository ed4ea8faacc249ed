// Reading records that belong to other threads, for explanations.
#pragma once

namespace weft::core {

/// A value as it is at this moment, of a record that another thread may be writing: it may be torn. The
/// caller asks afterwards whether the record is still in the same use, follows no pointer, and only shows
/// what it read; so explanations never make an operation wait. ThreadSanitizer is told so where this is
/// called.
template <class Value>
__attribute__((no_sanitize("thread"), always_inline)) inline Value glance(const Value& value) noexcept {
  return *const_cast<const volatile Value*>(&value);
}

/// Of functions that call glance().
#define WEFT_GLANCES __attribute__((no_sanitize("thread")))

}  // namespace weft::core
