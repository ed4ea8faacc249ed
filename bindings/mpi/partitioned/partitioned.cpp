// Partitioned communication: preparing requests, and their partitions.
#include "bindings/mpi/partitioned/partitioned_calls.hpp"
#include "bindings/mpi/partitioned/partitions.hpp"
#include "bindings/mpi/point_to_point/checks.hpp"

namespace weft::mpi {

namespace {

void check_partitions(int partitions, MPI_Count count) {
  if (partitions < 0) fail(MPI_ERR_ARG, "%d partitions; 0 or more are needed", partitions);
  if (count < 0)
    fail(MPI_ERR_COUNT, "partitions of %lld elements; 0 or more are needed", static_cast<long long>(count));
}

template <class Work>
void prepare(const Partitioning& what, Communicator& communicator, MPI_Request* handle) {
  Request* const request = take_request(communicator);
  request->what = Request::What::work;
  request->tag = kOfPartitions;
  request->is_persistent = true;
  request->is_active = false;
  request->status = empty_status();
  try {
    request->work = new Work(*request, what);
  } catch (...) {
    give_request(request);
    throw;
  }
  *handle = handle_of<MPI_Request>(request);
}

PartitionedSend& send_of(MPI_Request handle) {
  auto* const request = find<Request>(handle);
  auto* const work = request != nullptr ? dynamic_cast<PartitionedSend*>(request->work) : nullptr;
  if (work == nullptr) fail(MPI_ERR_REQUEST, "the request is none of MPI_Psend_init");
  return *work;
}

}  // namespace

void psend_init(const void* buffer, int partitions, MPI_Count count, Datatype& type, int dest, int tag,
                Communicator& communicator, Info*, MPI_Request* request) {
  check_partitions(partitions, count);
  check_send(buffer, count * partitions, type, dest, tag, communicator);
  prepare<PartitionedSend>({const_cast<void*>(buffer), partitions, count, type, dest, tag}, communicator,
                           request);
}

void precv_init(void* buffer, int partitions, MPI_Count count, Datatype& type, int source, int tag,
                Communicator& communicator, Info*, MPI_Request* request) {
  check_partitions(partitions, count);
  if (source == MPI_ANY_SOURCE || tag == MPI_ANY_TAG)
    fail(source == MPI_ANY_SOURCE ? MPI_ERR_RANK : MPI_ERR_TAG,
         "partitioned receives have one source and one tag; %s is not possible",
         source == MPI_ANY_SOURCE ? "MPI_ANY_SOURCE" : "MPI_ANY_TAG");
  check_receive(buffer, count * partitions, type, source, tag, communicator);
  prepare<PartitionedReceive>({buffer, partitions, count, type, source, tag}, communicator, request);
}

void pready(int partition, MPI_Request request) { send_of(request).make_ready(partition); }

void pready_range(int first, int last, MPI_Request request) {
  PartitionedSend& send = send_of(request);
  for (int partition = first; partition <= last; ++partition) send.make_ready(partition);
}

void pready_list(int length, const int* partitions, MPI_Request request) {
  if (length < 0) fail(MPI_ERR_ARG, "a list of %d partitions; 0 or more are needed", length);
  PartitionedSend& send = send_of(request);
  for (int index = 0; index < length; ++index) send.make_ready(partitions[index]);
}

void parrived(MPI_Request handle, int partition, int* flag) {
  *flag = 1;
  if (handle == MPI_REQUEST_NULL) return;
  auto* const request = find<Request>(handle);
  auto* const work = request != nullptr ? dynamic_cast<PartitionedReceive*>(request->work) : nullptr;
  if (work == nullptr) fail(MPI_ERR_REQUEST, "the request is none of MPI_Precv_init");
  if (work->has_arrived(partition)) return;
  world->endpoint.progress();
  *flag = work->has_arrived(partition) ? 1 : 0;
}

}  // namespace weft::mpi
