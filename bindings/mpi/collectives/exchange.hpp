// Messages of a collective: where they go, and waiting for several of them.
#pragma once

#include "bindings/mpi/collectives/task.hpp"
#include "bindings/mpi/datatypes/pack.hpp"
#include "bindings/mpi/objects/blocks.hpp"
#include "bindings/mpi/operations/operation.hpp"
#include "bindings/mpi/requests/start.hpp"
#include "bindings/mpi/transport/cut_message.hpp"

#include <atomic>

namespace weft::mpi {

/// Where the messages of one collective go: a communicator's hidden context, and the collective's number as
/// the tag.
struct Channel {
  explicit Channel(Communicator& of, bool is_immediate = false) noexcept
      : communicator(of), context(of.hidden_context()), tag(of.next_collective(is_immediate)) {}
  Channel(Communicator& of, std::uint32_t own_context, int own_tag) noexcept
      : communicator(of), context(own_context), tag(own_tag) {}
  /// The same collective among the members of an intercommunicator's own side.
  [[nodiscard]] Channel local() const noexcept {
    // Of this intercommunicator alone: duplicates share the side.
    return {*communicator.local_communicator, communicator.context | 3, tag};
  }

  [[nodiscard]] int rank() const noexcept { return communicator.rank; }
  [[nodiscard]] int size() const noexcept { return communicator.size; }
  /// Where nobody waits for what has come to another rank.
  [[nodiscard]] bool is_of_neighbours() const noexcept { return (context & 3) == 2; }
  /// Whether its number is one of those that return at once, which are odd.
  [[nodiscard]] bool is_immediate() const noexcept { return (tag & 1) != 0; }

  Communicator& communicator;
  std::uint32_t context;
  int tag;
};

/// Keeps a datatype or operation for as long as a collective is under way: the program may free its handle
/// meanwhile.
template <class T>
class Held {
 public:
  Held(T& object) noexcept : object_(retain(&object)) {}  // NOLINT: is meant to convert
  Held(const Held& other) noexcept : object_(retain(other.object_)) {}
  Held& operator=(const Held&) = delete;
  ~Held() { release(object_); }
  operator T&() const noexcept { return *object_; }  // NOLINT: reads as the object
  [[nodiscard]] T* operator->() const noexcept { return object_; }

 private:
  T* object_;
};
using Type = Held<Datatype>;
using Op = Held<Reduction>;

/// Posts messages; `co_await exchange` waits for those since the last one, and fails with the first error
/// among them. A message of another length than the receiver has room for is an error. What waits for this
/// rank's messages in the same collective fails as well then.
class Exchange final : public RequestOwner {
 public:
  enum class Traffic : std::uint8_t {
    one_way,
    both_ways,  // of two ranks at a time, each sends to the other, and goes on when it has the other's
                // message
  };

  explicit Exchange(const Channel& channel, Traffic traffic = Traffic::one_way) noexcept
      : channel_(channel), traffic_(traffic) {}

  void send(const void* buffer, MPI_Count count, Datatype& type, int to, int tag_offset = 0);
  void receive(void* buffer, MPI_Count count, Datatype& type, int from, int tag_offset = 0);
  void send_bytes(const std::byte* bytes, MPI_Count count, int to) { send(bytes, count, byte_type, to); }
  void receive_bytes(std::byte* bytes, MPI_Count count, int from) { receive(bytes, count, byte_type, from); }
  /// What a rank sends to itself: copied. Where both sides differ in length, the exchange fails as with a
  /// message of another rank.
  void copy(const Datatype& from_type, MPI_Count from_count, const void* from, const Datatype& to_type,
            MPI_Count to_count, void* to);

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> waiting) noexcept {
    waiting_ = waiting;
    return pending_.fetch_sub(1, std::memory_order_acq_rel) != 1;
  }
  void await_resume();
  /// Waits, and leaves it to check() to fail: for who has more under way than this exchange.
  [[nodiscard]] auto settled() noexcept {
    struct Settled {
      Exchange& exchange;
      [[nodiscard]] bool await_ready() const noexcept { return false; }
      [[nodiscard]] bool await_suspend(std::coroutine_handle<> waiting) const noexcept {
        return exchange.await_suspend(waiting);
      }
      void await_resume() const noexcept { exchange.pending_.store(1, std::memory_order_relaxed); }
    };
    return Settled{*this};
  }
  /// Whether a message has failed, or did not have the bytes that it should have.
  [[nodiscard]] bool has_failed() const noexcept {
    return error_.load(std::memory_order_relaxed) != MPI_SUCCESS;
  }
  /// Fails with the first error of all messages so far: the last thing that is done with this exchange.
  void check() const {
    if (has_failed()) [[unlikely]]
      fail();
  }

  void finish(Request& request) noexcept override;

 private:
  class Cut;
  /// Whether the message to or from a member travels in pieces.
  [[nodiscard]] CutMessage cut_of(MPI_Count count, const Datatype& type, int member) const;
  /// How a message was wrong.
  struct Wrong {
    int error = MPI_SUCCESS;
    int from = MPI_PROC_NULL;
    MPI_Count bytes = 0, awaited = 0;  // 0 both: of a piece
  };
  /// How a message has ended; with MPI_ERR_COUNT where it was shorter than the buffer for it.
  [[nodiscard]] static Wrong ending_of(const Request& request) noexcept;
  /// One of the messages for which `pending_` stands has ended.
  void end() noexcept;
  [[gnu::cold]] void note(const Wrong& wrong) noexcept;
  [[noreturn, gnu::cold]] void fail() const;
  /// Whether the others have been told of a failure: they wait for nothing more, and nothing more is awaited.
  [[nodiscard]] bool has_told() const noexcept { return has_failed() && !channel_.is_of_neighbours(); }

  const Channel channel_;
  const Traffic traffic_;
  std::atomic<int> pending_{1};  // and the coroutine itself, so that it is not resumed before it waits
  std::atomic<int> error_{MPI_SUCCESS};
  Wrong first_wrong_;  // of that error
  std::coroutine_handle<> waiting_;
};

// A collective that fails on one rank fails on those that wait for this rank, and does not keep those that
// still send to it (giving_up.cpp).

/// As long as hardly any message that somebody waits for: an empty one would be right for who expects none.
inline constexpr std::size_t kNoticeBytes = 61;
/// Sends messages of a wrong length in the place of those that other members may wait for. Not in collectives
/// of neighbours.
void tell_of_failure(const Channel& channel) noexcept;
/// Takes what members send in this collective from here on: this rank has left it.
void take_what_still_comes(const Channel& channel) noexcept;
/// Tags of collectives that this rank has passed: those below.
struct Passed {
  int others = 0, immediate = 0;
};
/// Drops what members have sent in vain in these collectives: notices to a rank that was not waiting for
/// them, and messages behind a failure. Each holds a credit of its sender.
void drop_what_came_late(const Communicator& communicator, const Passed& passed) noexcept;
/// The task; on an intercommunicator both sides are told when it fails.
[[nodiscard]] Task told_to_all_sides(const Channel& channel, Task task);

/// Memory for elements of a datatype, addressed as the program's buffers are.
class Scratch {
 public:
  Scratch(const Datatype& type, MPI_Count count)
      : bytes_(make_block(type.span_of(count))), address_(shifted(bytes_.get(), -type.first_of(count))) {}
  [[nodiscard]] void* get() const noexcept { return address_; }

 private:
  Block bytes_;
  std::byte* address_;
};

/// The address of element `index` in a buffer of a datatype.
[[nodiscard]] inline std::byte* element(const void* buffer, MPI_Count index, const Datatype& type) noexcept {
  return shifted(buffer, index * type.extent);
}

}  // namespace weft::mpi
