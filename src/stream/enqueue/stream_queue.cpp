#include <weft/stream/stream_queue.hpp>

#include "stream/enqueue/enqueue_engine.hpp"

namespace weft {

using stream::EnqueuedKind;
using stream::EnqueuedOperation;

StreamQueue::StreamQueue(StreamGroup& group, std::uint32_t index, AcceleratorStream& accelerator,
                         const StreamQueueOptions& options)
    : engine_(std::make_unique<stream::EnqueueEngine>(group, index, accelerator, options)) {}

StreamQueue::~StreamQueue() = default;

namespace {

EnqueuedOperation send_of(StreamAddress to, std::uint32_t tag, const void* data, std::size_t size) {
  EnqueuedOperation operation;
  operation.kind = EnqueuedKind::send;
  operation.address = to;
  operation.tag = tag;
  operation.from = data;
  operation.size = size;
  return operation;
}

EnqueuedOperation receive_of(StreamAddress from, std::uint32_t tag, void* data, std::size_t size) {
  EnqueuedOperation operation;
  operation.kind = EnqueuedKind::receive;
  operation.address = from;
  operation.tag = tag;
  operation.to = data;
  operation.size = size;
  return operation;
}

}  // namespace

void StreamQueue::send(StreamAddress to, std::uint32_t tag, const void* data, std::size_t size) {
  engine_->check_address(to, false);
  engine_->enqueue(send_of(to, tag, data, size));
}

void StreamQueue::receive(StreamAddress from, std::uint32_t tag, void* data, std::size_t size) {
  engine_->check_address(from, true);
  engine_->enqueue(receive_of(from, tag, data, size));
}

StreamRequest StreamQueue::start_send(StreamAddress to, std::uint32_t tag, const void* data,
                                      std::size_t size) {
  engine_->check_address(to, false);
  return engine_->start(send_of(to, tag, data, size));
}

StreamRequest StreamQueue::start_receive(StreamAddress from, std::uint32_t tag, void* data,
                                         std::size_t size) {
  engine_->check_address(from, true);
  return engine_->start(receive_of(from, tag, data, size));
}

void StreamQueue::wait(StreamRequest request) { engine_->wait(request); }

void StreamQueue::wait_all(std::span<const StreamRequest> requests) {
  for (const StreamRequest request : requests) engine_->wait(request);
}

void StreamQueue::put(int peer, const RemoteAddress& to, const void* data, std::size_t size,
                      RemoteCompletion signal) {
  engine_->check_rank(peer, "put");
  EnqueuedOperation operation;
  operation.kind = EnqueuedKind::put;
  operation.address.rank = peer;
  operation.region = to;
  operation.from = data;
  operation.size = size;
  operation.remote = signal;
  engine_->enqueue(operation);
}

void StreamQueue::active_message(int peer, RemoteCompletion remote, const void* data, std::size_t size,
                                 std::uint32_t tag) {
  engine_->check_rank(peer, "active_message");
  EnqueuedOperation operation;
  operation.kind = EnqueuedKind::active_message;
  operation.address.rank = peer;
  operation.remote = remote;
  operation.from = data;
  operation.size = size;
  operation.tag = tag;
  engine_->enqueue(operation);
}

void StreamQueue::barrier() {
  engine_->check_collective("barrier");
  engine_->enqueue({});
}

void StreamQueue::broadcast(void* data, std::size_t size, int root) {
  engine_->check_collective("broadcast");
  engine_->check_rank(root, "broadcast");
  EnqueuedOperation operation;
  operation.kind = EnqueuedKind::broadcast;
  operation.from = data;
  operation.to = data;
  operation.size = size;
  operation.root = root;
  engine_->enqueue(operation);
}

void StreamQueue::allreduce_any(const void* from, void* to, std::size_t count,
                                const detail::Reduction& reduction) {
  engine_->check_collective("allreduce");
  EnqueuedOperation operation;
  operation.kind = EnqueuedKind::allreduce;
  operation.from = from;
  operation.to = to;
  operation.size = count * reduction.element;
  operation.reduction = reduction;
  engine_->enqueue(operation);
}

Outcome StreamQueue::wait_ended() { return engine_->wait_ended(); }
Outcome StreamQueue::outcome() const noexcept { return engine_->proxy().outcome(); }
std::string StreamQueue::error() const { return engine_->proxy().error(); }
std::uint64_t StreamQueue::ended() const noexcept { return engine_->proxy().ended(); }

}  // namespace weft
