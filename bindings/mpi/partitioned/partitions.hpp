// Both sides of a message whose parts threads make ready one by one.
//
// The sender takes a context of its own and says so, and how the message is cut on its side, in a first
// message on the communicator's context of such messages: these match in the order of the calls that prepare
// the requests, also where one of both is freed. Each partition then is a message of that context, with its
// number as the tag, whatever the partitions of the receiver are.
#pragma once

#include "bindings/mpi/collectives/exchange.hpp"

#include <atomic>
#include <memory>

namespace weft::mpi {

/// What one side has said about the message.
struct Partitioning {
  void* buffer;
  int partitions;
  MPI_Count count;  // elements of a partition
  Held<Datatype> type;
  int peer;
  int tag;

  [[nodiscard]] MPI_Count bytes() const noexcept { return count * type->size; }  // of a partition
};

/// The first message.
struct PartitionedHeader {
  std::uint32_t context;
  std::int32_t partitions;
  std::int64_t bytes;  // of a partition
};

/// Contexts of partitioned messages are no communicator's: the highest bit is set in them. Their receivers
/// wait for one source, so that a number of this process is enough, and may come again when all others have
/// been used.
[[nodiscard]] std::uint32_t new_partitioned_context() noexcept;

/// The tag of the first message: apart from all tags by which communicators are made on the same context.
[[nodiscard]] constexpr int header_tag(int tag) noexcept {
  return static_cast<int>(static_cast<std::uint32_t>(tag) | 0x80000000U);
}

class PartitionedSend final : public RequestWork, RequestOwner {
 public:
  PartitionedSend(Request& request, const Partitioning& what);
  void start(Request&) override;
  int complete(Request& request, MPI_Status&) override { return request.status.MPI_ERROR; }
  /// Sends a partition. Any thread.
  void make_ready(int partition);

 private:
  void finish(Request& part) noexcept override;
  void end_one() noexcept;

  Request& whole_;
  const Partitioning what_;
  const std::uint32_t context_;
  const std::unique_ptr<std::atomic<bool>[]> is_ready_;
  std::atomic<int> pending_{0};
  std::atomic<int> error_{MPI_SUCCESS};
};

class PartitionedReceive;

/// Learns of the first message. It is that of one call alone: where the request is freed before it has come,
/// this goes on waiting for it, so that no other receive gets it.
struct PartitionedHead final : RequestOwner {
  enum State : int { kWaiting, kAbandoned, kTelling, kEnded };
  void finish(Request& request) noexcept override;
  PartitionedReceive* receive = nullptr;
  PartitionedHeader header{};
  int error = MPI_SUCCESS;
  ReceiveHandle handle{};
  std::atomic<int> state{kWaiting};
};
/// Ends those that wait for first messages of requests that have been freed: none can come any more.
void end_abandoned_heads() noexcept;

class PartitionedReceive final : public RequestWork, RequestOwner {
 public:
  PartitionedReceive(Request& request, const Partitioning& what);
  ~PartitionedReceive() override;
  void start(Request&) override;
  int complete(Request& request, MPI_Status&) override { return request.status.MPI_ERROR; }
  [[nodiscard]] bool has_arrived(int partition);

 private:
  friend struct PartitionedHead;
  /// What is wrong with the first message, which has come; or MPI_SUCCESS.
  [[nodiscard]] int error_of_header() const noexcept;
  void post() noexcept;
  void finish(Request& part) noexcept override;
  void end_one() noexcept;
  [[nodiscard]] MPI_Count room() const noexcept { return what_.bytes() * what_.partitions; }
  /// Of the message; it may be shorter than the room.
  [[nodiscard]] MPI_Count total() const noexcept { return head_->header.bytes * head_->header.partitions; }

  Request& whole_;
  const Partitioning what_;
  PartitionedHead* head_ = nullptr;  // deletes itself where it is abandoned; nullptr: no message comes
  std::atomic<int> met_{0};  // the first start, and the first message: what comes second posts the receives
  std::atomic<bool> is_bound_{false};  // the sender's partitions are known, and receives have been posted
  std::unique_ptr<std::atomic<bool>[]> arrived_;
  std::unique_ptr<std::byte[]> staging_;  // where partitions of the sender cut elements of this side
  std::atomic<int> pending_{0};
  std::atomic<int> error_{MPI_SUCCESS};
};

}  // namespace weft::mpi
