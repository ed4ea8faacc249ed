// Tells of messages that end with an outcome that nobody has read.
#include "core/completion/unread_outcome.hpp"

#include "base/log.hpp"

#include <weft/detail/message_access.hpp>

#include <algorithm>
#include <atomic>
#include <string>

namespace weft::detail {

namespace {

constexpr std::uint32_t kReported = 8;  // lines of a process
constinit std::atomic<std::uint32_t> reported{0};

const char* name_of(Operation operation) noexcept {
  switch (operation) {
    case Operation::active_message:
      return "an active message";
    case Operation::active_message_sent:
      return "the end of an active message";
    case Operation::send:
      return "a send";
    case Operation::receive:
      return "a receive";
    case Operation::put:
      return "a put";
    case Operation::get:
      return "a get";
    case Operation::atomic:
      return "an atomic operation";
    case Operation::graph:
      return "a graph";
    case Operation::multipart_message:
    case Operation::parts:
      return "the parts of a message";
    default:
      return "an operation";
  }
}

}  // namespace

void report_unread_outcomes_anew() noexcept { reported.store(0, std::memory_order_relaxed); }

void tell_unread_outcome(std::uint64_t kind, std::size_t size, std::uint64_t cookie) noexcept {
  const std::uint32_t number = reported.fetch_add(1, std::memory_order_relaxed);
  if (number > kReported) return;
  const base::Log log;
  if (number == kReported) return log.warn("further outcomes that nobody has read are not reported");
  const Operation operation = MessageAccess::operation_of(kind);
  const Outcome outcome = MessageAccess::outcome_of(kind);
  const auto peer = static_cast<std::int32_t>(kind);
  std::string text = std::string(name_of(operation));
  if (peer >= 0)
    text += (operation == Operation::receive ? " from rank " : " with rank ") + std::to_string(peer);
  text += " has ended as ";
  text += weft::name_of(outcome);
  if (operation == Operation::receive && outcome == Outcome::truncated)
    text +=
        " (" + std::to_string(cookie) + " bytes were sent, there was room for " + std::to_string(size) + ")";
  text +=
      ", and the program has not read that: look at Message::outcome() before the data, of receive() and of "
      "what completion objects are given";
  log.warn(text);
}

}  // namespace weft::detail
