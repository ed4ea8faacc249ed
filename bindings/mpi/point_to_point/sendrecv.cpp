// A send and a receive together.
#include "bindings/mpi/datatypes/pack.hpp"
#include "bindings/mpi/point_to_point/checks.hpp"
#include "bindings/mpi/point_to_point/point_to_point_calls.hpp"
#include "bindings/mpi/point_to_point/wait_for_request.hpp"
#include "bindings/mpi/requests/start.hpp"

#include <memory>

namespace weft::mpi {

namespace {

using Bytes = std::unique_ptr<std::byte[]>;

Bytes packed(const void* buffer, MPI_Count count, const Datatype& type) {
  auto bytes = std::make_unique<std::byte[]>(static_cast<std::size_t>(type.size * count));
  pack_elements(type, count, buffer, bytes.get());
  return bytes;
}

/// An immediate send and receive: done when both are.
struct Both final : RequestWork, RequestOwner {
  explicit Both(Request& request) noexcept : whole(request) {}
  int complete(Request& request, MPI_Status&) override {
    return request.status.MPI_ERROR != MPI_SUCCESS ? request.status.MPI_ERROR
                                                   : send_error.load(std::memory_order_relaxed);
  }
  void finish(Request& part) noexcept override {
    if (part.what == Request::What::receive)
      whole.status = part.status;
    else
      send_error.store(part.status.MPI_ERROR, std::memory_order_relaxed);  // told by the count below
    give_request(&part);
    end_one();
  }
  void end_one() noexcept {
    if (pending.fetch_sub(1, std::memory_order_acq_rel) == 1) request_signals().complete(whole);
  }
  Request* take(Communicator& communicator) {
    Request* const part = take_request(communicator);
    part->owner = this;
    pending.fetch_add(1, std::memory_order_relaxed);
    return part;
  }
  Request& whole;
  std::atomic<int> send_error{MPI_SUCCESS};
  std::atomic<int> pending{1};  // and the call itself, so that it does not end meanwhile
  Bytes replaced;
};

void start_both(const void* sent, MPI_Count sent_count, Datatype& sent_type, int dest, int sent_tag,
                void* received, MPI_Count received_count, Datatype& received_type, int source,
                int received_tag, Communicator& communicator, Bytes replaced, MPI_Request* handle) {
  Request* const whole = take_request(communicator);
  auto* const both = new Both(*whole);
  both->replaced = std::move(replaced);
  whole->what = Request::What::work;
  whole->work = both;
  whole->status = status_of_no_process();
  *handle = handle_of<MPI_Request>(whole);
  if (source != MPI_PROC_NULL)
    post_buffer(*both->take(communicator), received, received_count, received_type, source, received_tag,
                communicator.context, false);
  if (dest != MPI_PROC_NULL)
    if (Request* const part = both->take(communicator); post_message(
            *part, sent, sent_count, sent_type, dest, sent_tag, communicator.context, SendMode::standard))
      both->finish(*part);
  both->end_one();
}

}  // namespace

void sendrecv(const void* sent, MPI_Count sent_count, Datatype& sent_type, int dest, int sent_tag,
              void* received, MPI_Count received_count, Datatype& received_type, int source, int received_tag,
              Communicator& communicator, MPI_Status* status) {
  check_send(sent, sent_count, sent_type, dest, sent_tag, communicator);
  check_receive(received, received_count, received_type, source, received_tag, communicator);
  Request* request = nullptr;
  if (source != MPI_PROC_NULL) {
    request = take_request(communicator);
    post_buffer(*request, received, received_count, received_type, source, received_tag, communicator.context,
                false);
  }
  send(sent, sent_count, sent_type, dest, sent_tag, communicator);
  if (request == nullptr) return store_status(status, status_of_no_process());
  finish_receive(request, status);
}

void sendrecv_replace(void* buffer, MPI_Count count, Datatype& type, int dest, int sent_tag, int source,
                      int received_tag, Communicator& communicator, MPI_Status* status) {
  check_send(buffer, count, type, dest, sent_tag, communicator);
  const Bytes bytes = packed(buffer, count, type);
  sendrecv(bytes.get(), type.size * count, byte_type, dest, sent_tag, buffer, count, type, source,
           received_tag, communicator, status);
}

void isendrecv(const void* sent, MPI_Count sent_count, Datatype& sent_type, int dest, int sent_tag,
               void* received, MPI_Count received_count, Datatype& received_type, int source,
               int received_tag, Communicator& communicator, MPI_Request* request) {
  check_send(sent, sent_count, sent_type, dest, sent_tag, communicator);
  check_receive(received, received_count, received_type, source, received_tag, communicator);
  start_both(sent, sent_count, sent_type, dest, sent_tag, received, received_count, received_type, source,
             received_tag, communicator, nullptr, request);
}

void isendrecv_replace(void* buffer, MPI_Count count, Datatype& type, int dest, int sent_tag, int source,
                       int received_tag, Communicator& communicator, MPI_Request* request) {
  check_send(buffer, count, type, dest, sent_tag, communicator);
  check_receive(buffer, count, type, source, received_tag, communicator);
  Bytes bytes = packed(buffer, count, type);
  const void* const sent = bytes.get();
  start_both(sent, type.size * count, byte_type, dest, sent_tag, buffer, count, type, source, received_tag,
             communicator, std::move(bytes), request);
}

}  // namespace weft::mpi
