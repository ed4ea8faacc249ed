// Communication that is enqueued on a stream of an accelerator, in the order of its kernels and copies.
#pragma once

#include <weft/accelerator/accelerator_stream.hpp>
#include <weft/collective/operators.hpp>
#include <weft/memory.hpp>
#include <weft/stream/stream_group.hpp>
#include <weft/types.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace weft {

namespace stream {
class EnqueueEngine;
}

/// A send or receive that was started on a StreamQueue, for wait(). A copy names the same operation; harmless
/// once that has been waited for.
struct StreamRequest {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::uint32_t index = kNone;
  std::uint32_t generation = 0;
  std::uint64_t queue = 0;  // numbers the queues of the process
};

/// What has become of an operation of a StreamQueue. An object of the program, in host memory, that the queue
/// fills before what follows the operation on the accelerator's stream begins: kernels may read it there, the
/// host after wait_ended(). Borrowed as the operation's buffer is.
struct StreamStatus {
  Outcome outcome = Outcome::ok;
  /// Of a receive: who has sent the message, and its tag; unchanged when none was received.
  StreamAddress source{};
  std::uint32_t tag = 0;
  /// Bytes of the message. Of a receive: as it was sent, which is more than the buffer has when the outcome
  /// is truncated.
  std::size_t length = 0;
};

/// An operation of a StreamQueue that has failed.
struct StreamFailure {
  std::uint64_t operation = 0;  ///< counted from 1; of captured ones: among those
  bool is_captured = false;
  Outcome outcome = Outcome::ok;
  std::string text;  ///< one line
};

/// Options of a StreamQueue.
struct StreamQueueOptions {
  /// Bytes of host memory in which messages of device memory are staged at a time, at least; a longer message
  /// has memory for itself. Kept until the queue is destroyed.
  std::size_t staging = std::size_t{4} << 20;
};

/// Operations of one stream of a group that are carried out in the order of an accelerator's stream: each
/// begins when everything that was enqueued before it on that stream has ended, and what is enqueued after it
/// begins when it has ended. The calls enqueue and return; a thread of the queue communicates. The paper's
/// MPIX_Send_enqueue and its kin.
///
/// The accelerator's stream triggers by writing a word of host memory, and waits for another one. While it
/// captures a graph, the operations become part of it, as often as the graph is launched; their buffers must
/// live as long as the graph, and the queue, too.
///
/// Buffers lie in host or device memory and are borrowed until their operation has ended in the stream.
/// An operation that fails (a peer that fails, a message that is longer than its buffer) ends the wait of the
/// accelerator's stream as any other does; its StreamStatus, outcome(), error() and take_failures() tell. A
/// buffer gets the bytes that arrive and no others: of a message that is shorter the rest of the buffer
/// stays, in device memory all of it when the operation fails, but for the beginning of a message that is
/// longer.
///
/// One thread at a time enqueues. While operations have not ended (those of graphs: while they are carried
/// out) the stream of the group belongs to the queue's thread, and other threads that use it get weft::Error.
class WEFT_API StreamQueue {
 public:
  /// Group and accelerator stream must outlive the queue. Throws weft::Error when the group has no own stream
  /// of this index, and when that stream has a queue already (the null stream: in this group).
  StreamQueue(StreamGroup& group, std::uint32_t index, AcceleratorStream& accelerator,
              const StreamQueueOptions& options = {});
  /// Waits until everything that was enqueued has ended, but for graphs that are launched later. After a
  /// second it says in the log what it waits for, and cancels receives that no message has matched.
  ~StreamQueue();
  StreamQueue(const StreamQueue&) = delete;
  StreamQueue& operator=(const StreamQueue&) = delete;

  // Each call throws weft::Error when a thread is inside the stream of the group, or `status` is device
  // memory.

  /// Enqueues a send of `size` bytes; see GroupStream::send().
  void post_send(StreamAddress to, std::uint32_t tag, const void* data, std::size_t size,
                 StreamStatus* status = nullptr);
  /// Enqueues a receive into `size` bytes; see GroupStream::receive().
  void post_receive(StreamAddress from, std::uint32_t tag, void* data, std::size_t size,
                    StreamStatus* status = nullptr);
  void post_receive(StreamAddress from, AnyTag, void* data, std::size_t size, StreamStatus* status = nullptr);
  /// post_send() and post_receive() that what follows on the stream does not wait for; wait() does.
  [[nodiscard]] StreamRequest start_send(StreamAddress to, std::uint32_t tag, const void* data,
                                         std::size_t size);
  [[nodiscard]] StreamRequest start_receive(StreamAddress from, std::uint32_t tag, void* data,
                                            std::size_t size);
  [[nodiscard]] StreamRequest start_receive(StreamAddress from, AnyTag, void* data, std::size_t size);
  /// Enqueues waits for operations that were started. Each is waited for once, in the same graph if it was
  /// started in one. Throws weft::Error for a request that has been waited for, or is of another queue.
  void wait(StreamRequest request, StreamStatus* status = nullptr);
  /// `statuses`: one for each request, or none.
  void wait_all(std::span<const StreamRequest> requests, std::span<StreamStatus> statuses = {});

  /// Enqueues a put into the memory of a peer, which has its bytes when the put ends, and then, unless
  /// `signal` is empty, signals its object; see OneSidedOperations::post_put().
  void post_put(int peer, const RemoteAddress& to, const void* data, std::size_t size,
                RemoteCompletion signal = {}, StreamStatus* status = nullptr);
  /// Enqueues an active message; see BasicEndpoint::post_am().
  void post_am(int peer, RemoteCompletion remote, const void* data, std::size_t size, std::uint32_t tag = 0,
               StreamStatus* status = nullptr);

  // Collectives of the group, whose collective stream (StreamGroupOptions) must be this queue's; weft::Error
  // otherwise.

  void barrier(StreamStatus* status = nullptr);
  void broadcast(void* data, std::size_t size, int root, StreamStatus* status = nullptr);
  /// `from` and `to` have `count` elements, and are the same or do not overlap.
  template <class T, class Op>
  void allreduce(const T* from, T* to, std::size_t count, const Op& op, StreamStatus* status = nullptr) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 16,
                  "elements are trivially copyable and aligned to at most 16 bytes");
    allreduce_any(from, to, count, detail::reduction_of<T>(op), status);
  }

  /// Waits until everything that was enqueued on the accelerator's stream has ended. Returns outcome().
  Outcome wait_ended();
  /// The outcome of the first operation that has failed since take_failures(); ok: none has. Any thread.
  [[nodiscard]] Outcome outcome() const noexcept;
  /// One line about that operation; empty: none has failed. Any thread.
  [[nodiscard]] std::string error() const;
  /// The operations that have failed since the last call, in the order of their ends: the first 64, of which
  /// the last one's text says how many more there were. outcome() is ok afterwards. Any thread.
  [[nodiscard]] std::vector<StreamFailure> take_failures();
  /// The number of operations that have ended. Any thread.
  [[nodiscard]] std::uint64_t ended() const noexcept;
  /// The number of captured operations whose graphs may still be launched; those of a graph that was
  /// destroyed are forgotten soon after, where the accelerator tells (AcceleratorStream::keep_with_graph).
  /// Any thread.
  [[nodiscard]] std::size_t captured() const noexcept;

 private:
  void allreduce_any(const void* from, void* to, std::size_t count, const detail::Reduction& reduction,
                     StreamStatus* status);
  std::unique_ptr<stream::EnqueueEngine> engine_;
};

}  // namespace weft
