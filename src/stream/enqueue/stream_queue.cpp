#include <weft/stream/stream_queue.hpp>

#include <weft/error.hpp>

#include <string>

#include "stream/enqueue/enqueue_engine.hpp"

namespace weft {

using stream::EnqueuedKind;
using stream::EnqueuedOperation;

StreamQueue::StreamQueue(StreamGroup& group, std::uint32_t index, AcceleratorStream& accelerator,
                         const StreamQueueOptions& options)
    : engine_(std::make_unique<stream::EnqueueEngine>(group, index, accelerator, options)) {}

StreamQueue::~StreamQueue() = default;

namespace {

EnqueuedOperation send_of(StreamAddress to, std::uint32_t tag, const void* data, std::size_t size,
                          StreamStatus* status = nullptr) {
  EnqueuedOperation operation;
  operation.status = status;
  operation.kind = EnqueuedKind::send;
  operation.address = to;
  operation.tag = tag;
  operation.from = data;
  operation.size = size;
  return operation;
}

EnqueuedOperation receive_of(StreamAddress from, std::uint32_t tag, void* data, std::size_t size,
                             StreamStatus* status = nullptr) {
  EnqueuedOperation operation;
  operation.status = status;
  operation.kind = EnqueuedKind::receive;
  operation.address = from;
  operation.tag = tag;
  operation.to = data;
  operation.size = size;
  return operation;
}

EnqueuedOperation with_any_tag(EnqueuedOperation receive) {
  receive.has_any_tag = true;
  return receive;
}

}  // namespace

void StreamQueue::post_send(StreamAddress to, std::uint32_t tag, const void* data, std::size_t size,
                            StreamStatus* status) {
  engine_->check_address(to, false);
  engine_->enqueue(send_of(to, tag, data, size, status));
}

void StreamQueue::post_receive(StreamAddress from, std::uint32_t tag, void* data, std::size_t size,
                               StreamStatus* status) {
  engine_->check_address(from, true);
  engine_->enqueue(receive_of(from, tag, data, size, status));
}

void StreamQueue::post_receive(StreamAddress from, AnyTag, void* data, std::size_t size,
                               StreamStatus* status) {
  engine_->check_address(from, true);
  engine_->enqueue(with_any_tag(receive_of(from, 0, data, size, status)));
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

StreamRequest StreamQueue::start_receive(StreamAddress from, AnyTag, void* data, std::size_t size) {
  engine_->check_address(from, true);
  return engine_->start(with_any_tag(receive_of(from, 0, data, size)));
}

void StreamQueue::wait(StreamRequest request, StreamStatus* status) { engine_->wait(request, status); }

void StreamQueue::wait_all(std::span<const StreamRequest> requests, std::span<StreamStatus> statuses) {
  if (!statuses.empty() && statuses.size() != requests.size())
    throw Error("wait_all: there are " + std::to_string(statuses.size()) + " statuses for " +
                std::to_string(requests.size()) + " requests: give one for each, or none");
  for (std::size_t index = 0; index < requests.size(); ++index)
    engine_->wait(requests[index], statuses.empty() ? nullptr : &statuses[index]);
}

void StreamQueue::post_put(int peer, const RemoteAddress& to, const void* data, std::size_t size,
                           RemoteCompletion signal, StreamStatus* status) {
  engine_->check_rank(peer, "post_put");
  EnqueuedOperation operation;
  operation.kind = EnqueuedKind::put;
  operation.address.rank = peer;
  operation.region = to;
  operation.from = data;
  operation.size = size;
  operation.remote = signal;
  operation.status = status;
  engine_->enqueue(operation);
}

void StreamQueue::post_am(int peer, RemoteCompletion remote, const void* data, std::size_t size,
                          std::uint32_t tag, StreamStatus* status) {
  engine_->check_rank(peer, "post_am");
  EnqueuedOperation operation;
  operation.status = status;
  operation.kind = EnqueuedKind::active_message;
  operation.address.rank = peer;
  operation.remote = remote;
  operation.from = data;
  operation.size = size;
  operation.tag = tag;
  engine_->enqueue(operation);
}

void StreamQueue::barrier(StreamStatus* status) {
  engine_->check_collective("barrier");
  EnqueuedOperation operation;
  operation.status = status;
  engine_->enqueue(operation);
}

void StreamQueue::broadcast(void* data, std::size_t size, int root, StreamStatus* status) {
  engine_->check_collective("broadcast");
  engine_->check_rank(root, "broadcast");
  EnqueuedOperation operation;
  operation.kind = EnqueuedKind::broadcast;
  operation.status = status;
  operation.from = data;
  operation.to = data;
  operation.size = size;
  operation.root = root;
  engine_->enqueue(operation);
}

void StreamQueue::allreduce_any(const void* from, void* to, std::size_t count,
                                const detail::Reduction& reduction, StreamStatus* status) {
  engine_->check_collective("allreduce");
  EnqueuedOperation operation;
  operation.status = status;
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
std::vector<StreamFailure> StreamQueue::take_failures() { return engine_->proxy().take_failures(); }
std::uint64_t StreamQueue::ended() const noexcept { return engine_->proxy().ended(); }
std::size_t StreamQueue::captured() const noexcept { return engine_->proxy().captured(); }

}  // namespace weft
