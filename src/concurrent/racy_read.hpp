// Reads of data that another thread may be writing: snapshots, for diagnosis and statistics.
#pragma once

namespace weft::concurrent {

/// Returns the present value of a field of a record that another thread may be writing: it may be torn. The
/// caller checks afterwards that the record is still in the same use, follows no pointer, and only shows the
/// value; so explanations never make an operation wait. Callers must be marked WEFT_READS_RACILY, for
/// ThreadSanitizer.
template <class Value>
__attribute__((no_sanitize("thread"), always_inline)) inline Value racy_read(const Value& value) noexcept {
  return *const_cast<const volatile Value*>(&value);
}

/// Marks functions that call racy_read().
#define WEFT_READS_RACILY __attribute__((no_sanitize("thread")))

/// racy_read() of a naturally aligned word, which is not torn, for callers without WEFT_READS_RACILY: a call
/// that is itself exempt from ThreadSanitizer.
template <class Word>
[[nodiscard]] __attribute__((no_sanitize("thread"), noinline)) Word racy_word(const Word& value) noexcept {
  return *static_cast<const volatile Word*>(&value);
}

}  // namespace weft::concurrent
