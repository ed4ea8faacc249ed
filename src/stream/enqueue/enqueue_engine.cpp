#include "stream/enqueue/enqueue_engine.hpp"

#include <weft/error.hpp>

#include <array>
#include <string>

namespace weft::stream {

TurnWords AcceleratorWords::take() {
  if (used_ == kTurns) {
    blocks_.push_back(accelerator_.allocate_words(kTurns * 2 * kLine));
    used_ = 0;
  }
  std::uint64_t* const first = blocks_.back() + used_++ * 2 * kLine;
  return {first, first + kLine};
}

EnqueueEngine::EnqueueEngine(StreamGroup& group, std::uint32_t index, AcceleratorStream& accelerator,
                             const StreamQueueOptions& options)
    : group_(group),
      index_(index),
      accelerator_(accelerator),
      all_words_(accelerator),
      words_(all_words_.take()),
      proxy_(group, group.member(index), accelerator, words_, options.staging),
      user_(group.runtime(),
            "StreamQueue (device " + std::to_string(group.member(index).stream().index()) + ")",
            static_cast<int>(group.member(index).stream().index())) {}

EnqueueEngine::~EnqueueEngine() {
  try {
    if (!accelerator_.is_capturing()) accelerator_.synchronize();
  } catch (const std::exception&) {  // the device has failed: nothing will be triggered any more
  }
}

void EnqueueEngine::enqueue(EnqueuedOperation operation) {
  if (!has_device_memory_ && operation.size != 0 &&
      (accelerator_.is_device_memory(operation.from) || accelerator_.is_device_memory(operation.to))) {
    proxy_.prepare_for_device_memory();
    has_device_memory_ = true;
  }
  if (accelerator_.is_capturing()) {
    operation.number = ++captured_;
    const TurnWords words = all_words_.take();
    proxy_.push({operation, true, words});
    // The stream waits for the beginning of operations that are started, too, so that the next launch does
    // not trigger them while they have not been taken; and takes back `done` for that launch.
    const std::array<WordOperation, 3> steps{{{WordOperation::Kind::write, words.trigger, 1},
                                              {WordOperation::Kind::wait, words.done, 1},
                                              {WordOperation::Kind::write, words.done, 0}}};
    accelerator_.enqueue(steps);
    return;
  }
  operation.number = ++number_;
  proxy_.push({operation, false, {}});
  const std::array<WordOperation, 2> steps{{{WordOperation::Kind::write, words_.trigger, operation.number},
                                            {WordOperation::Kind::wait, words_.done, operation.number}}};
  accelerator_.enqueue(std::span(steps).first(operation.is_started ? 1 : 2));
}

StreamRequest EnqueueEngine::start(EnqueuedOperation operation) {
  const bool is_captured = accelerator_.is_capturing();
  StreamRequest request;
  if (is_captured || free_requests_.empty()) {
    request.index = static_cast<std::uint32_t>(requests_.size());
    requests_.push_back({});
  } else {
    request.index = free_requests_.back();
    free_requests_.pop_back();
  }
  requests_[request.index] = {true, is_captured};
  operation.is_started = true;
  operation.request = request.index;
  enqueue(operation);
  return request;
}

void EnqueueEngine::wait(StreamRequest request) {
  if (request.index >= requests_.size() || !requests_[request.index].is_open)
    throw Error("request " + std::to_string(request.index) +
                " of a stream queue has been waited for already, or is of another queue");
  Request& known = requests_[request.index];
  if (known.is_captured != accelerator_.is_capturing())
    throw Error("request " + std::to_string(request.index) + " of a stream queue was started " +
                (known.is_captured ? "in a graph: wait for it in the same graph"
                                   : "outside of a graph: wait for it outside"));
  known.is_open = false;
  EnqueuedOperation operation;
  operation.kind = EnqueuedKind::wait;
  operation.request = request.index;
  enqueue(operation);
  if (!known.is_captured) free_requests_.push_back(request.index);
}

void EnqueueEngine::check_collective(const char* what) const {
  if (group_.collective_index() != index_)
    throw Error(std::string(what) + " on the queue of stream " + std::to_string(index_) +
                ": the collectives of its group are those of stream " +
                std::to_string(group_.collective_index()) + " (collective_index)");
}

void EnqueueEngine::check_rank(int rank, const char* what) const {
  if (rank < 0 || rank >= group_.size())
    throw Error(std::string(what) + ": rank " + std::to_string(rank) + " is out of range: 0 to " +
                std::to_string(group_.size() - 1));
}

void EnqueueEngine::check_address(StreamAddress address, bool is_receive) const {
  if (is_receive && address.rank == any_source) return;
  const std::uint32_t count = group_.streams_of(address.rank);
  if (is_receive && address.index == any_index) return;
  if (address.index >= count)
    throw Error("stream " + std::to_string(address.index) + " of rank " + std::to_string(address.rank) +
                " is not in the stream group: rank " + std::to_string(address.rank) + " has " +
                std::to_string(count) + " streams there");
}

Outcome EnqueueEngine::wait_ended() {
  accelerator_.synchronize();
  proxy_.wait_settled();
  return proxy_.outcome();
}

}  // namespace weft::stream
