#include "call.hpp"

#include <weft/error.hpp>
#include <weft/version.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <new>

namespace weft::c {

namespace {

constexpr std::size_t kLongestLine = 1024;
using Line = std::array<char, kLongestLine>;

// Points to memory elsewhere: thread-local memory that this library has itself is taken from what a process
// keeps for libraries that it opens later, which are to find some left.
thread_local const char* last_error = "";

void keep_line(const char* function, const char* text) noexcept {
  static thread_local std::unique_ptr<Line> line;
  if (line == nullptr) line.reset(new (std::nothrow) Line);
  if (line == nullptr) {
    last_error = "there is no memory, not even for the line of an error";
    return;
  }
  std::size_t used = 0;
  const auto append = [&used](const char* part) {
    while (*part != '\0' && used + 1 < kLongestLine) (*line)[used++] = *part++;
  };
  append(function);
  append(": ");
  append(text);
  (*line)[used] = '\0';
  last_error = line->data();
}

constexpr weft_result kRetry = 16;
constexpr weft_result kOutcome = 32;
static_assert(kRetry + static_cast<int>(Reason::no_slot) == WEFT_RETRY_NO_SLOT);
static_assert(kRetry + static_cast<int>(Reason::no_credit) == WEFT_RETRY_NO_CREDIT);
static_assert(kRetry + static_cast<int>(Reason::in_flight) == WEFT_RETRY_IN_FLIGHT);
static_assert(kOutcome + static_cast<int>(Outcome::truncated) == WEFT_TRUNCATED);
static_assert(kOutcome + static_cast<int>(Outcome::refused) == WEFT_REFUSED);

}  // namespace

weft_result result_of_exception(const char* function) noexcept {
  try {
    throw;
  } catch (const BadArgument& bad) {
    keep_line(function, bad.what());
    return WEFT_ERROR_ARGUMENT;
  } catch (const Error& error) {
    keep_line(function, error.what());
    return WEFT_ERROR_USE;
  } catch (const std::bad_alloc&) {
    keep_line(function, "there is no memory");
    return WEFT_ERROR_MEMORY;
  } catch (const std::exception& error) {
    keep_line(function, error.what());
    return WEFT_ERROR_INTERNAL;
  } catch (...) {
    keep_line(function, "something that is no std::exception was thrown");
    return WEFT_ERROR_INTERNAL;
  }
}

void check_size(const void* given, std::size_t size, std::size_t known, const char* name) {
  constexpr std::size_t kMost = 4096;
  // A struct that begins with its size is aligned as that is: no other size is that of a whole one.
  if (size < sizeof size || size > kMost || size % sizeof size != 0)
    throw BadArgument(std::string(name) + "->size is " + std::to_string(size) +
                      ": it must be the sizeof of the struct");
  const auto* const bytes = static_cast<const unsigned char*>(given);
  if (size > known && std::any_of(bytes + known, bytes + size, [](unsigned char each) { return each != 0; }))
    throw BadArgument(std::string(name) + " has a field that is set and that weft " + library_version() +
                      " does not know: it knows " + std::to_string(known) + " bytes, size is " +
                      std::to_string(size));
}

void check_reserved(std::int64_t reserved, const char* name) {
  if (reserved != 0)
    throw BadArgument(std::string(name) + "->reserved is " + std::to_string(reserved) + ": weft " +
                      library_version() + " has no such field, it must be 0 (begin with " +
                      "a struct of zeros, and set its size)");
}

weft_result result_of(Outcome outcome) noexcept {
  return outcome == Outcome::ok ? WEFT_OK : kOutcome + static_cast<weft_result>(outcome);
}

Outcome outcome_of(weft_result result) noexcept {
  if (result == WEFT_OK) return Outcome::ok;
  return result > kOutcome && result <= WEFT_REFUSED ? static_cast<Outcome>(result - kOutcome)
                                                     : Outcome::refused;
}

weft_result result_of(Status status) noexcept {
  if (status.is_done()) return WEFT_OK;
  return status.is_posted() ? WEFT_POSTED : kRetry + static_cast<weft_result>(status.reason());
}

}  // namespace weft::c

extern "C" {

const char* weft_error_text(void) { return weft::c::last_error; }

const char* weft_version(void) { return weft::library_version(); }

uint32_t weft_c_version(void) { return WEFT_C_VERSION_MAJOR << 16 | WEFT_C_VERSION_MINOR; }

const char* weft_result_name(weft_result result) {
  using weft::c::kOutcome;
  using weft::c::kRetry;
  if (result > kRetry && result <= WEFT_RETRY_IN_FLIGHT)
    return weft::name_of(static_cast<weft::Reason>(result - kRetry));
  if (result > kOutcome && result <= WEFT_REFUSED)
    return weft::name_of(static_cast<weft::Outcome>(result - kOutcome));
  switch (result) {
    case WEFT_OK:
      return "ok";
    case WEFT_POSTED:
      return "posted";
    case WEFT_NOTHING:
      return "nothing";
    case WEFT_ERROR_ARGUMENT:
      return "error: argument";
    case WEFT_ERROR_USE:
      return "error: use";
    case WEFT_ERROR_MEMORY:
      return "error: memory";
    case WEFT_ERROR_INTERNAL:
      return "error: internal";
    default:
      return "unknown";
  }
}

}  // extern "C"
