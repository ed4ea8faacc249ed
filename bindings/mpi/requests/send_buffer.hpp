// Buffered sends: what programs attach, and copies of messages that are under way.
#pragma once

#include "bindings/mpi/requests/request.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace weft::mpi {

/// A buffer that a program has attached. Messages are copied to memory of our own; the buffer only says how
/// much of it there may be.
struct SendBuffer {
  void* address = nullptr;
  MPI_Count size = 0;
  bool is_attached = false;
  std::atomic<MPI_Count> used{0};
  std::vector<Request*> flushes;  // that end when nothing is used any more; under flush_mutex
};

/// Of all buffers: who gives the last room back may do so while the program detaches the buffer.
extern std::mutex flush_mutex;

/// The buffer of the process, for communicators that have none, nor comes their group from a session with
/// one.
extern const std::shared_ptr<SendBuffer> process_buffer;

/// Sends a copy; fails with MPI_ERR_BUFFER where there is no room. The request is not used any more when it
/// returns.
void post_buffered(Request& request, const void* buffer, MPI_Count count, Datatype& type, int peer, int tag,
                   std::uint32_t context);
/// Progresses until all messages of the buffer have left.
void flush(SendBuffer& buffer) noexcept;

}  // namespace weft::mpi
