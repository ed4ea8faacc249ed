// Whether all members call the same collective in the same place, with the attribute mpi_check.
#pragma once

#include "bindings/mpi/check/finding.hpp"
#include "bindings/mpi/check/signature.hpp"
#include "bindings/mpi/collectives/exchange.hpp"
#include "bindings/mpi/datatypes/datatype.hpp"
#include "bindings/mpi/operations/operation.hpp"

namespace weft::mpi {

/// What each member contributes or gets; without a value where counts do not say it.
struct Amount {
  MPI_Count bytes = -1;
  Signature elements{};
};
/// What the arguments of a collective say that must be the same on all members.
struct CollectiveCall {
  int root = -1;  // -1: it has none
  Amount amount{};
  const Reduction* operation = nullptr;
};

/// Of an operation in a history that is none of MPI's own, whose numbers are higher.
inline constexpr int kOperationOfProgram = 1;

/// Compares the collective that the current call begins on this channel with that of the previous member of
/// the communicator, as soon as its description comes. Ends the job where they differ. Called once for a
/// number, when nothing is wrong with the arguments: a call that is refused may be made again, or another one
/// in its place.
[[gnu::cold]] void call_the_roll(const Channel& channel, const CollectiveCall& call);
/// The same, with mpi_check, of a call that makes communicators and is about to take the communicator's next
/// number; and, without it, a note of the call.
void call_the_roll_of_creation(Communicator& communicator);
/// Makes the comparisons for which the other member's description has come or is about to come. Where that
/// has not called as many collectives, none does: their histories tell.
void finish_roll_calls();

/// Notes the current call, a collective of `kind`, in the history of the communicator. What all members of a
/// group say alike counts: on an intercommunicator roots differ, and what else a call with a root says is not
/// looked at on all ranks. Amounts are no part of it: messages show them.
inline void note_call(Communicator& communicator, bool is_immediate, std::uint32_t kind,
                      int root = CallHistory::kNoRoot, const Reduction* reduction = nullptr,
                      CallHistory::Values values = CallHistory::Values::integers) noexcept {
  communicator.last_root[is_immediate ? 1 : 0].store(root, std::memory_order_relaxed);
  int operation = 0;
  if (reduction != nullptr)
    operation = reduction->predefined_op != 0 ? reduction->predefined_op : kOperationOfProgram;
  if (operation == kOperationOfProgram) values = CallHistory::Values::integers;
  auto said = static_cast<std::uint32_t>(operation) << 16 | static_cast<std::uint32_t>(values) << 28;
  if (root != CallHistory::kNoRoot)
    said = communicator.is_inter() ? 0 : said ^ static_cast<std::uint32_t>(root);
  const bool has_function = operation == kOperationOfProgram && !communicator.is_inter();
  communicator.history.note(kind, said, root, operation, values, has_function ? reduction->identity : 0);
}

/// What a reduction of so many elements combines.
[[nodiscard]] inline CallHistory::Values values_of(MPI_Count count, MPI_Datatype type) noexcept {
  using Values = CallHistory::Values;
  const auto* const found = count > 0 ? find<Datatype>(type) : nullptr;
  if (found == nullptr || found->native < Native::float16) return Values::integers;
  if (found->native <= Native::float128) return Values::floating_point;
  return found->native <= Native::complex128 ? Values::complex : Values::integers;
}

[[nodiscard]] inline Amount amount_of(MPI_Count count, MPI_Datatype type) {
  const auto* const found = find<Datatype>(type);
  if (found == nullptr || count < 0) return {};
  return {count * found->size, signature_of(*found, count)};
}

}  // namespace weft::mpi
