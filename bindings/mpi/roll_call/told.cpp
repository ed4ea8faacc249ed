#include "bindings/mpi/roll_call/told.hpp"

#include "bindings/mpi/callers/place.hpp"
#include "bindings/mpi/callers/program_image.hpp"

#include <algorithm>
#include <bit>

namespace weft::mpi {

namespace {

std::string described(const Told& told, std::uint64_t number) {
  const Told::Call& call = told.call(number);
  const bool is_same_program = told.image == program_image();
  const void* const caller = is_same_program ? address_in_program(call.caller) : nullptr;
  const std::string place = caller != nullptr ? described(place_of(caller)) : "";
  return std::string(call.what) + (place.empty() ? "" : " at " + place);
}

/// "the function at halo.c:12", of an operation of the program.
std::string function_of(const Told& told, std::uint64_t number) {
  const std::uint64_t function = told.call(number).function;
  const auto* const address = static_cast<const char*>(address_in_program(function / 2));
  if (address == nullptr) return "";
  const std::string place = described(place_of(address + 1));
  return std::string(", ") + (function % 2 != 0 ? "commutative" : "not commutative") +
         (place.empty() ? "" : ", the function at " + place);
}

std::string counted(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " collective" : " collectives");
}

bool has_same_functions(const Told& one, const Told& other) noexcept {
  return one.functions == other.functions || one.image != other.image;
}

/// Where the first difference lies, which is further back than the calls that are kept, or the last of
/// `kept`.
std::string block_of_difference(const Told& mine, const Told& theirs, std::uint64_t kept) {
  const std::uint64_t block = std::max(mine.block, theirs.block);
  const auto hash_behind = [&](const Told& told, std::uint64_t number) {
    return told.behind[number / told.block - 1];
  };
  std::uint64_t from = 1;
  for (std::uint64_t to = block; to < kept; to += block) {
    if (hash_behind(mine, to) != hash_behind(theirs, to))
      return "the first time between number " + std::to_string(from) + " and number " + std::to_string(to) +
             " of them; WEFT_MPI_CHECK=1 names it";
    from = to + 1;
  }
  return "the first time between number " + std::to_string(from) + " and number " + std::to_string(kept) +
         " of them; WEFT_MPI_CHECK=1 names it";
}

}  // namespace

void make_valid(Told& told) noexcept {
  for (Told::Call& call : told.calls) call.what[sizeof call.what - 1] = '\0';
  if (!std::has_single_bit(told.block) || told.block < CallHistory::kFirstBlock ||
      told.count / told.block > CallHistory::kBlocks)
    told = {};
}

bool are_different(const Told& one, const Told& other) noexcept {
  return one.count != other.count || one.hash != other.hash || !has_same_functions(one, other);
}

std::string different_call(const Told& mine, const Told& theirs, const std::string& others) {
  const std::uint64_t oldest = std::max(mine.oldest(), theirs.oldest());
  const std::uint64_t both = std::min(mine.count, theirs.count);
  for (std::uint64_t number = oldest; number <= both; ++number) {
    if (mine.call(number).hash == theirs.call(number).hash) continue;
    if (number == oldest && number > 1) return block_of_difference(mine, theirs, number);
    return "as number " + std::to_string(number) + " there this rank calls " + described(mine, number) +
           ", " + others + " " + described(theirs, number);
  }
  if (mine.count != theirs.count) {
    const Told& longer = mine.count > theirs.count ? mine : theirs;
    const bool is_mine = &longer == &mine;
    std::string line =
        "this rank calls " + counted(mine.count) + " there, " + others + " " + std::to_string(theirs.count);
    if (oldest <= both + 1)
      line += "; number " + std::to_string(both + 1) + ", which " +
              (is_mine ? "is not called there" : "this rank does not call") + ", is " +
              described(longer, both + 1);
    return line;
  }
  for (std::uint64_t number = oldest; number <= both; ++number)
    if (mine.call(number).function != theirs.call(number).function)
      return "as number " + std::to_string(number) + " there this rank calls " + described(mine, number) +
             function_of(mine, number) + ", " + others + " " + described(theirs, number) +
             function_of(theirs, number);
  return "they have passed different operations of the program; WEFT_MPI_CHECK=1 names them";
}

}  // namespace weft::mpi
