// Messages that matched probes have taken out: what an MPI_Message names.
#pragma once

#include "bindings/mpi/communicators/communicator.hpp"
#include "bindings/mpi/objects/object.hpp"

#include <weft/matching.hpp>

#include <cstddef>
#include <functional>
#include <utility>

namespace weft::mpi {

/// Lies in a slot that is used again, so that a probe allocates nothing and takes no lock, and what is left
/// is found when the library ends.
struct TakenMessage : Object {
  static constexpr Kind kKind = Kind::message;
  TakenMessage(MatchedMessage&& taken, Communicator& from) noexcept
      : Object(kKind), message(std::move(taken)), communicator(retain(&from)) {}
  ~TakenMessage() { release(communicator); }

  /// Any thread. std::bad_alloc when there is no memory for further slots.
  static void* operator new(std::size_t size);
  static void operator delete(void* slot) noexcept;

  MatchedMessage message;
  Communicator* communicator;
};

/// Calls a function for each message that is there, which it may release. Nobody probes meanwhile.
void visit_taken_messages(const std::function<void(TakenMessage&)>& visit);

}  // namespace weft::mpi
