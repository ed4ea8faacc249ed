#include "bindings/mpi/check/checked_message.hpp"

#include "bindings/mpi/check/ranges_in_use.hpp"
#include "bindings/mpi/check/signature.hpp"
#include "bindings/mpi/datatypes/pack.hpp"
#include "bindings/mpi/objects/blocks.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

namespace weft::mpi {

namespace {

static_assert(sizeof(Signature) == kHeaderBytes);
/// In the number of runs, of a message in ready mode.
constexpr std::uint64_t kReady = std::uint64_t{1} << 32;

/// The buffers that are in use and lie in memory as one block.
struct BuffersInUse {
  std::mutex mutex;
  RangesInUse received, sent;

  [[nodiscard]] RangesInUse& of(const CheckedMessage& message) noexcept {
    return message.is_receive ? received : sent;
  }
};
BuffersInUse& buffers() {
  static BuffersInUse& in_use = *new BuffersInUse;
  return in_use;
}

std::uint64_t sum_of(const std::byte* bytes, std::size_t length) noexcept {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (; length >= 8; length -= 8, bytes += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes, 8);
    sum = (sum ^ word) * 0x100000001b3;
    sum ^= sum >> 29;
  }
  for (; length > 0; --length, ++bytes) sum = (sum ^ static_cast<std::uint8_t>(*bytes)) * 0x100000001b3;
  return sum;
}

std::uint64_t sum_of(const CheckedMessage& message) {
  const Datatype& type = *message.type;
  const auto bytes = static_cast<std::size_t>(type.size * message.count);
  if (bytes == 0) return 0;
  if (type.is_dense(message.count)) return sum_of(shifted(message.buffer, type.true_lb), bytes);
  std::vector<std::byte> packed(bytes);
  pack_elements(type, message.count, message.buffer, packed.data());
  return sum_of(packed.data(), bytes);
}

MemoryRange range_of(const CheckedMessage& message) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(shifted(message.buffer, message.type->true_lb));
  return {begin, begin + static_cast<std::uintptr_t>(message.type->size * message.count)};
}

/// One in use that a new one must not overlap: of two sends both may read.
const CheckedMessage* find_overlap(const CheckedMessage& message) noexcept {
  const MemoryRange range = range_of(message);
  const void* found = buffers().received.find_overlap(range);
  if (found == nullptr && message.is_receive) found = buffers().sent.find_overlap(range);
  return static_cast<const CheckedMessage*>(found);
}

void leave(CheckedMessage& message) noexcept {
  {
    const std::lock_guard lock(buffers().mutex);
    if (message.type->is_dense(message.count)) buffers().of(message).remove(range_of(message), &message);
  }
  message.is_under_way = false;
  release(message.type);
  message.type = nullptr;
}

}  // namespace

CheckedMessage::~CheckedMessage() {
  if (is_under_way) leave(*this);
}

void begin_use(CheckedMessage& message, const Communicator& communicator, const void* buffer, MPI_Count count,
               Datatype& type, bool is_receive) {
  message.buffer = buffer;
  message.count = count;
  message.type = retain(&type);
  message.is_receive = is_receive;
  message.is_under_way = true;
  message.sum = sum_of(message);
  if (!type.is_dense(count)) return;  // elements may lie between those of others
  const std::lock_guard lock(buffers().mutex);
  if (const CheckedMessage* const other = find_overlap(message); other != nullptr) {
    const MemoryRange range = range_of(message), theirs = range_of(*other);
    const std::uintptr_t shared = std::min(range.end, theirs.end) - std::max(range.begin, theirs.begin);
    end_with_finding(message.site, &communicator, MPI_ERR_BUFFER,
                     "the %s buffer overlaps by %llu bytes the %s buffer of %s, which is still in use",
                     is_receive ? "receive" : "send", static_cast<unsigned long long>(shared),
                     other->is_receive ? "receive" : "send", described(other->site).c_str());
  }
  buffers().of(message).add(range_of(message), &message);
}

void end_use(CheckedMessage& message, const Communicator& communicator) {
  if (!message.is_under_way) return;
  const bool is_changed = !message.is_receive && sum_of(message) != message.sum;
  leave(message);
  if (is_changed)
    end_with_finding(message.site, &communicator, MPI_ERR_BUFFER,
                     "the program has changed the send buffer before the request had ended (%s)",
                     described(CallSite::current()).c_str());
}

std::byte* with_header(const void* buffer, MPI_Count count, const Datatype& type) {
  std::byte* const bytes = room_with_header(type.size * count);
  const Signature signature = signature_of(type, count);
  std::memcpy(bytes, &signature, sizeof signature);
  pack_elements(type, count, buffer, bytes + kHeaderBytes);
  return bytes;
}

void mark_ready(std::byte* message) noexcept {
  Signature signature;
  std::memcpy(&signature, message, sizeof signature);
  signature.used |= kReady;
  std::memcpy(message, &signature, sizeof signature);
}

std::byte* room_with_header(MPI_Count bytes) {
  return allocate_block(bytes + static_cast<MPI_Count>(kHeaderBytes));
}

void unpack_checked(CheckedMessage& message, const Communicator& communicator, const std::byte* arrived,
                    MPI_Count bytes, int source, int tag) {
  if (bytes < static_cast<MPI_Count>(kHeaderBytes) || !message.is_under_way) return;
  if (sum_of(message) != message.sum)
    end_with_finding(message.site, &communicator, MPI_ERR_BUFFER,
                     "the receive buffer was changed before the message from rank %d with tag %d had come",
                     source, tag);
  Signature sent;
  std::memcpy(&sent, arrived, sizeof sent);
  const bool is_ready = (sent.used & kReady) != 0;
  sent.used &= ~kReady;
  if (is_ready && message.has_come_before)
    end_with_finding(message.site, &communicator, MPI_ERR_OTHER,
                     "the message from rank %d with tag %d was sent in ready mode (MPI_Rsend) before this "
                     "receive was posted; it must be posted first",
                     source, tag);
  const std::string wrong = mismatch(sent, signature_of(*message.type, message.count));
  if (!wrong.empty())
    end_with_finding(message.site, &communicator, MPI_ERR_TYPE,
                     "the message from rank %d with tag %d has other datatypes than the receive: %s", source,
                     tag, wrong.c_str());
  unpack_elements(*message.type, message.count, arrived + kHeaderBytes,
                  bytes - static_cast<MPI_Count>(kHeaderBytes), const_cast<void*>(message.buffer));
}

}  // namespace weft::mpi
