// Errors: exceptions with a class, by which interfaces of other languages choose their codes.
#pragma once

#include <weft/detail/export.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace weft {

/// What an error is about. The values stay the same: bindings map them to codes of their own.
enum class ErrorClass : std::uint8_t {
  none = 0,        ///< there is no error
  other = 1,       ///< none of the classes below; also an exception that is not weft's
  no_memory = 2,   ///< there is no memory, or no room in a table; std::bad_alloc
  peer = 3,        ///< a number that is no rank of the job
  tag = 4,         ///< a tag that the operation cannot have, or any_tag where it means nothing
  length = 5,      ///< a size or number of buffers that the operation cannot have
  engine = 6,      ///< a matching engine that is out of range, open already, or cannot match like this
  device = 7,      ///< a device that is out of range, open already, or used by an endpoint of the other kind
  target = 8,      ///< a handle, an id of an exposed object, or a memory region that names nothing here
  option = 9,      ///< options that contradict each other, or a value that an option cannot have
  state = 10,      ///< a call that is right at another time: of an object that is empty, running or closed
  attribute = 11,  ///< an attribute, or variable of the environment, that does not exist or has a wrong value
  job = 12,        ///< the job cannot be joined, its launcher has gone, or its ranks disagree
  network = 13,    ///< a network cannot be used, or a peer cannot be reached by it
  system = 14,     ///< a call of the operating system has failed
};

/// "peer", "no_memory", ...: the enumerator's name, for messages and tables.
[[nodiscard]] constexpr const char* name_of(ErrorClass error_class) noexcept {
  switch (error_class) {
    case ErrorClass::none:
      return "none";
    case ErrorClass::other:
      return "other";
    case ErrorClass::no_memory:
      return "no_memory";
    case ErrorClass::peer:
      return "peer";
    case ErrorClass::tag:
      return "tag";
    case ErrorClass::length:
      return "length";
    case ErrorClass::engine:
      return "engine";
    case ErrorClass::device:
      return "device";
    case ErrorClass::target:
      return "target";
    case ErrorClass::option:
      return "option";
    case ErrorClass::state:
      return "state";
    case ErrorClass::attribute:
      return "attribute";
    case ErrorClass::job:
      return "job";
    case ErrorClass::network:
      return "network";
    case ErrorClass::system:
      return "system";
  }
  return "unknown";
}

/// Thrown when set-up or the arguments of a call are wrong: a bad attribute, an unreachable launcher, a
/// failed mapping, a peer that is no rank. what() is one line that names the object, its value and what would
/// be right. Failures on the data path are not thrown; operations that fail end with an Outcome.
/// weft/binding/expected.hpp has calls that return errors as values.
class WEFT_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  Error(ErrorClass error_class, const std::string& text)
      : std::runtime_error(text), error_class_(error_class) {}

  [[nodiscard]] ErrorClass error_class() const noexcept { return error_class_; }

 private:
  ErrorClass error_class_ = ErrorClass::other;
};

}  // namespace weft
