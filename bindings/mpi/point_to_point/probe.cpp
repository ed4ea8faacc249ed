// Probes, and messages that they have taken out.
#include "bindings/mpi/datatypes/pack.hpp"
#include "bindings/mpi/explanations/waiting.hpp"
#include "bindings/mpi/objects/blocks.hpp"
#include "bindings/mpi/point_to_point/checks.hpp"
#include "bindings/mpi/point_to_point/point_to_point_calls.hpp"
#include "bindings/mpi/point_to_point/taken_message.hpp"
#include "bindings/mpi/point_to_point/unmatched.hpp"
#include "bindings/mpi/point_to_point/wait_for_request.hpp"
#include "bindings/mpi/requests/request.hpp"
#include "bindings/mpi/transport/matching.hpp"

#include <string>

namespace weft::mpi {

namespace {

MPI_Status status_of(const ProbedMessage& found, const Communicator& communicator) noexcept {
  MPI_Status status = empty_status();
  status.MPI_SOURCE = communicator.peers().rank_of(found.peer);
  status.MPI_TAG = tag_of_key(found.tag);
  set_bytes(status, static_cast<MPI_Count>(found.length - (is_checked ? kHeaderBytes : 0)));
  return status;
}

int world_source(int source, const Communicator& communicator) {
  return source == MPI_ANY_SOURCE ? source : communicator.peer(source);
}

/// Progresses until a function finds something.
template <class Find>
void wait_until_found(const Communicator& communicator, int source, int tag, const Find& found) {
  wait_in_call([](const void* context) noexcept { return (*static_cast<const Find*>(context))(); }, &found,
               nullptr,
               [&] {
                 return WaitPurpose{WaitPurpose::What::probe, &communicator, source, tag};
               });
}

void hand_over(MatchedMessage&& found, Communicator& communicator, MPI_Message* handle, MPI_Status* status) {
  store_status(status, status_of(found.info(), communicator));
  *handle = handle_of<MPI_Message>(new TakenMessage(std::move(found), communicator));
}

/// Posts the receive of a taken message, which ends.
Request* start_taken(void* buffer, MPI_Count count, Datatype& type, MPI_Message* handle) {
  auto* const taken = find<TakenMessage>(*handle);
  if (taken == nullptr)
    fail(MPI_ERR_REQUEST, "the message is MPI_MESSAGE_NULL, or has been received already");
  Communicator& communicator = *taken->communicator;
  check_data(buffer, count, type);
  Request* const request = take_request(communicator);
  request->what = Request::What::receive;
  request->peer = communicator.peers().rank_of(taken->message.info().peer);
  auto bytes = static_cast<std::size_t>(type.size * count);
  std::byte* data = shifted(buffer, type.true_lb);
  if (is_checked) [[unlikely]] {
    const std::span<std::byte> whole = start_checked(*request, buffer, count, type);
    data = whole.data();
    bytes = whole.size();
  } else if (!type.is_dense(count)) {
    request->type = retain(&type);
    request->buffer = buffer;
    request->count = count;
    request->staging = data = allocate_block(type.size * count);
  }
  ReceiveOptions options = receive_options(0);
  options.completion = &request_signals();
  options.user_data = request;
  static_cast<void>(world->endpoint.post_receive(std::move(taken->message), {data, bytes}, options));
  release(taken);
  *handle = MPI_MESSAGE_NULL;
  return request;
}

}  // namespace

std::string probed_messages() {
  std::string first;
  std::size_t count = 0;
  visit_taken_messages([&](TakenMessage& message) {
    if (++count == 1) {
      const MPI_Status status = status_of(message.message.info(), *message.communicator);
      first = "from rank " + std::to_string(status.MPI_SOURCE) + " with tag " +
              std::to_string(status.MPI_TAG) + " on " + message.communicator->described();
    }
    release(&message);
  });
  if (count == 0) return "";
  return "weft-mpi: rank " + std::to_string(own_world_rank) + ": MPI_Finalize: " + std::to_string(count) +
         (count == 1 ? " message was" : " messages were") +
         " taken by MPI_Mprobe or MPI_Improbe and never received (MPI_Mrecv); one of them: " + first + "\n";
}

void probe(int source, int tag, Communicator& communicator, MPI_Status* status) {
  check_source(source, tag, communicator);
  if (source == MPI_PROC_NULL) return store_status(status, status_of_no_process());
  ProbedMessage found;
  wait_until_found(communicator, source, tag, [&] {
    return probe(world_source(source, communicator), communicator.context, tag, found);
  });
  store_status(status, status_of(found, communicator));
}

void iprobe(int source, int tag, Communicator& communicator, int* flag, MPI_Status* status) {
  check_source(source, tag, communicator);
  *flag = 1;
  if (source == MPI_PROC_NULL) return store_status(status, status_of_no_process());
  ProbedMessage found;
  const int from = world_source(source, communicator);
  bool is_there = probe(from, communicator.context, tag, found);
  if (!is_there) {
    world->endpoint.progress();
    is_there = probe(from, communicator.context, tag, found);
  }
  *flag = is_there ? 1 : 0;
  if (is_there) store_status(status, status_of(found, communicator));
}

void mprobe(int source, int tag, Communicator& communicator, MPI_Message* message, MPI_Status* status) {
  check_source(source, tag, communicator);
  *message = MPI_MESSAGE_NO_PROC;
  if (source == MPI_PROC_NULL) return store_status(status, status_of_no_process());
  MatchedMessage found;
  wait_until_found(communicator, source, tag, [&] {
    found = matched_probe(world_source(source, communicator), communicator.context, tag);
    return static_cast<bool>(found);
  });
  hand_over(std::move(found), communicator, message, status);
}

void improbe(int source, int tag, Communicator& communicator, int* flag, MPI_Message* message,
             MPI_Status* status) {
  check_source(source, tag, communicator);
  *flag = 1;
  *message = MPI_MESSAGE_NO_PROC;
  if (source == MPI_PROC_NULL) return store_status(status, status_of_no_process());
  const int from = world_source(source, communicator);
  MatchedMessage found = matched_probe(from, communicator.context, tag);
  if (!found) {
    world->endpoint.progress();
    found = matched_probe(from, communicator.context, tag);
  }
  *flag = found ? 1 : 0;
  *message = MPI_MESSAGE_NULL;
  if (found) hand_over(std::move(found), communicator, message, status);
}

void mrecv(void* buffer, MPI_Count count, Datatype& type, MPI_Message* message, MPI_Status* status) {
  if (*message == MPI_MESSAGE_NO_PROC) {
    *message = MPI_MESSAGE_NULL;
    return store_status(status, status_of_no_process());
  }
  finish_receive(start_taken(buffer, count, type, message), status);
}

void imrecv(void* buffer, MPI_Count count, Datatype& type, MPI_Message* message, MPI_Request* request) {
  if (*message == MPI_MESSAGE_NO_PROC) {
    *message = MPI_MESSAGE_NULL;
    *request = handle_of<MPI_Request>(&ended_receive_of_no_process);
    return;
  }
  *request = handle_of<MPI_Request>(start_taken(buffer, count, type, message));
}

}  // namespace weft::mpi
