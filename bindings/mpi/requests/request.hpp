// Requests: operations under way, pooled, all signalled through one completion object.
#pragma once

#include "bindings/mpi/check/checked_message.hpp"
#include "bindings/mpi/communicators/communicator.hpp"
#include "bindings/mpi/datatypes/datatype.hpp"
#include "bindings/mpi/requests/status.hpp"
#include "bindings/mpi/transport/world.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace weft::mpi {

struct Request;

/// Told when a request ends that belongs to an operation of several (collectives/exchange.hpp).
struct RequestOwner {
  virtual void finish(Request& request) noexcept = 0;

 protected:
  ~RequestOwner() = default;
};

/// How a request is started again, and what it does where it is no message: collectives, generalised
/// requests.
struct RequestWork {
  virtual ~RequestWork() = default;
  /// Starts a persistent operation; the request is active already.
  virtual void start(Request&) {}
  /// MPI_Cancel. Returns true when it has been cancelled.
  virtual bool cancel(Request&) { return false; }
  /// Called once when the request is completed by a wait or test, for its status.
  virtual int complete(Request&, MPI_Status&) { return MPI_SUCCESS; }
  /// Called once behind that, before the request is given back. Returns an error of its own.
  virtual int close() { return MPI_SUCCESS; }
};

enum class SendMode : std::uint8_t { standard, buffered, synchronous, ready };

struct Request : Object {
  static constexpr Kind kKind = Kind::request;
  Request() noexcept : Object(kKind) {}

  enum class What : std::uint8_t { send, receive, work };
  /// kFreed: by the program, before it has ended.
  enum State : std::uint32_t { kPending, kDone, kFreed };

  [[nodiscard]] bool is_done() const noexcept { return state.load(std::memory_order_acquire) == kDone; }

  std::atomic<std::uint32_t> state{kPending};
  What what = What::work;
  SendMode mode = SendMode::standard;
  bool is_persistent = false;
  bool is_active = true;    // false: a persistent request that is not started
  bool has_handle = false;  // can be cancelled
  MPI_Status status{};
  Communicator* communicator = nullptr;  // retained
  // The message. The datatype is retained while `staging` holds its packed bytes, or the request is
  // persistent.
  void* buffer = nullptr;
  MPI_Count count = 0;
  Datatype* type = nullptr;
  std::byte* staging = nullptr;
  MPI_Count expected = 0;        // of a receive of a collective: the bytes that are to come
  MPI_Count scattered_room = 0;  // of a receive into a list of buffers: bytes of all
  int peer = MPI_PROC_NULL;
  /// Of a collective its number among those of the communicator, from 1; -1: the program completes it.
  int tag = 0;
  std::uint32_t context = 0;
  ReceiveHandle handle{};
  SendHandle send_handle{};
  RequestOwner* owner = nullptr;
  RequestWork* work = nullptr;              // owned
  Request* next = nullptr;                  // in a free list
  std::unique_ptr<CheckedMessage> checked;  // with the attribute mpi_check
};

/// The tag of requests for messages in partitions.
inline constexpr int kOfPartitions = -2;

/// The completion object of all messages.
class RequestSignals final : public Completion {
 public:
  ~RequestSignals() override { retire(); }
  void signal(Message& message) noexcept override;
  [[nodiscard]] bool ready() const noexcept override { return true; }
  /// Marks a request as done that ends without a message, and wakes who waits for it.
  void complete(Request& request) noexcept;
  /// Wakes who waits for something else that messages bring about.
  void wake() noexcept { notify_waiters(); }

 private:
  void mark_done(Request& request) noexcept;
};
[[nodiscard]] RequestSignals& request_signals() noexcept;
/// Made by MPI_Init, ended by MPI_Finalize.
void open_request_signals();
void close_request_signals() noexcept;

/// A request from this thread's free list, as if it were new.
[[nodiscard]] Request* take_request(Communicator& communicator);
/// Releases what the request holds, and gives it back.
void give_request(Request* request) noexcept;
/// A request for a send that is expected to end while it is posted. It does not hold the communicator: where
/// it lasts, the caller retains that; where it does not, give_send_request() is all.
[[nodiscard]] Request* take_send_request(Communicator& communicator);
void give_send_request(Request* request) noexcept;

/// The request of sends that had ended when they returned: done, shared by all, given back by nobody.
extern Request ended_send;
/// The same of operations with MPI_PROC_NULL.
extern Request ended_receive_of_no_process;
[[nodiscard]] inline bool is_shared(const Request* request) noexcept {
  return request == &ended_send || request == &ended_receive_of_no_process;
}

/// Uses the buffer of a message that is checked from here on, and lets the message travel with a header.
/// Returns the bytes that are sent, or received to.
[[gnu::cold]] std::span<std::byte> start_checked(Request& request, const void* buffer, MPI_Count count,
                                                 Datatype& type);
/// A line about requests that the program has not ended, or about those under way only; nothing where there
/// are none.
[[nodiscard]] std::string leaked_requests(bool with_those_ended);

/// Calls visit(request) for each send of the program or a collective that has not ended; those for which no
/// peer is known have MPI_PROC_NULL.
void visit_sends_under_way(const std::function<void(const Request&)>& visit);

/// Handles of those that there are name nothing from here on.
void end_requests() noexcept;

/// Fails: the handle is no request.
[[noreturn, gnu::cold]] void refuse_ended();
/// Fails: the program has freed the request, which is under way.
[[noreturn, gnu::cold]] void refuse_freed();

/// Progresses until the request is done.
void wait_done(const Request& request) noexcept;

/// Takes what a request that is done tells: its status, and a persistent one becomes inactive while others
/// are given back and the handle becomes null. Returns the error of the operation.
int finish_request(MPI_Request& handle, MPI_Status* status);

/// Fails with what the status tells, on the request's communicator; of a request that `finish_request` has
/// not seen yet.
[[noreturn]] void fail_with(Communicator* communicator, const MPI_Status& status);

}  // namespace weft::mpi
