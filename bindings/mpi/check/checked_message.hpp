// What is known of a message of the program where its use of MPI is checked.
#pragma once

#include "bindings/mpi/check/finding.hpp"
#include "bindings/mpi/datatypes/datatype.hpp"

#include <cstddef>

namespace weft::mpi {

/// Of one request: where it was made, and the buffer of the operation that is under way.
struct CheckedMessage {
  explicit CheckedMessage(const CallSite& at) noexcept : site(at) {}
  CheckedMessage(const CheckedMessage&) = delete;
  CheckedMessage& operator=(const CheckedMessage&) = delete;
  ~CheckedMessage();

  CallSite site;
  bool is_under_way = false;  // a buffer is in use
  bool is_receive = false;
  bool has_come_before = false;  // a receive whose message lay there when it was posted
  const void* buffer = nullptr;
  MPI_Count count = 0;
  Datatype* type = nullptr;  // retained while the buffer is in use
  std::uint64_t sum = 0;     // of the contents of the buffer
};

/// Whether messages of a context carry what their receivers check: those of the program do, those of
/// collectives do not.
[[nodiscard]] inline bool has_header(std::uint32_t context) noexcept {
  return is_checked && (context & 3) == 0;
}
/// The bytes before the elements of such a message.
inline constexpr std::size_t kHeaderBytes = 64;

/// A buffer is in use from here on. Ends the job where it overlaps one that is.
void begin_use(CheckedMessage& message, const Communicator& communicator, const void* buffer, MPI_Count count,
               Datatype& type, bool is_receive);
/// It is not any more. Ends the job where the program has changed it meanwhile.
void end_use(CheckedMessage& message, const Communicator& communicator);

/// The bytes of a message as it travels: a header, and the elements behind it. Freed by free_block().
[[nodiscard]] std::byte* with_header(const void* buffer, MPI_Count count, const Datatype& type);
/// One that needs a receive which is posted already (MPI_Rsend).
void mark_ready(std::byte* message) noexcept;
/// Room for one. Freed by free_block().
[[nodiscard]] std::byte* room_with_header(MPI_Count bytes);
/// Puts the elements of one that has arrived, of `bytes` bytes with its header, to the buffer. Ends the job
/// where the program has changed the buffer, the message needed this receive before, or the datatypes of
/// sender and receiver do not fit.
void unpack_checked(CheckedMessage& message, const Communicator& communicator, const std::byte* arrived,
                    MPI_Count bytes, int source, int tag);

}  // namespace weft::mpi
