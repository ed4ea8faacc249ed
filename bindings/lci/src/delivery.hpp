// From messages of weft to statuses of LCI, and back.
#pragma once

#include <cstring>

#include "objects.hpp"

namespace lci {

/// How a completion object hands out what it receives.
class Delivery {
 public:
  Delivery(runtime_impl_t* runtime, bool into_packets) noexcept
      : runtime_(runtime), into_packets_(into_packets) {}

  /// The status of an operation that has ended, or of a message that has arrived, whose payload then belongs
  /// to the program.
  [[nodiscard]] status_t status_of(weft::Message& message) const noexcept {
    status_t status;
    const weft::Outcome outcome = message.outcome();
    status.error = errorcode_t::done;
    if (outcome != weft::Outcome::ok) [[unlikely]]
      status.error = failed(message, outcome);
    status.rank = message.peer();
    status.size = message.size();
    status.tag = message.tag();
    status.user_context = message.user_data();
    status.buffer = message.operation() == weft::Operation::active_message
                        ? keep(message)
                        : const_cast<std::byte*>(message.data());
    return status;
  }

  /// Says on standard error how the operation has ended. Returns the code for its status.
  static errorcode_t failed(const weft::Message& message, weft::Outcome outcome) noexcept;

 private:
  [[nodiscard]] void* keep(weft::Message& message) const noexcept {
    const std::size_t size = message.size();
    if (size == 0) return nullptr;
    if (runtime_ == nullptr || size > runtime_->packet_bytes) [[unlikely]]
      return keep_large(message);
    void* const memory = into_packets_ ? packet() : runtime_->payloads.allocator().allocate(size);
    if (memory == nullptr) [[unlikely]]
      return keep_large(message);
    std::memcpy(memory, message.data(), size);
    return memory;
  }
  /// Memory of the allocator in which the message lies, or to which it is copied.
  [[nodiscard]] void* keep_large(weft::Message& message) const noexcept;
  [[nodiscard]] void* packet() const noexcept;

  runtime_impl_t* runtime_;
  bool into_packets_;
};

/// Signals weft's object as if an operation had ended with this status.
void signal_with(weft::Completion& completion, const status_t& status);

}  // namespace lci
