#include "stream/enqueue/enqueue_engine.hpp"

#include <weft/error.hpp>

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include "core/runtime/runtime_state.hpp"
#include "stream/enqueue/end_watch.hpp"
#include "stream/stream_registry.hpp"

namespace weft::stream {

namespace {

std::atomic<std::uint64_t> queues{1};

}  // namespace

TurnWords AcceleratorWords::take() {
  if (used_ == kTurns) {
    blocks_.push_back(accelerator_.allocate_words(kTurns * 2 * kLine));
    used_ = 0;
  }
  std::uint64_t* const first = blocks_.back() + used_++ * 2 * kLine;
  return {first, first + kLine};
}

EnqueueEngine::Claim::Claim(StreamGroup& group, std::uint32_t index) : group_(group), index_(index) {
  const Stream& stream = group.member(index).stream();
  bool has_claimed = false;
  if (stream.is_null()) {
    has_claimed = group.claim_null(index);
  } else {
    state_ = StreamRegistry::of(group.runtime().state()).find(stream.index());
    has_claimed = state_->turn.claim();
  }
  if (!has_claimed)
    throw Error("stream " + std::to_string(stream.index()) + " has a StreamQueue already" +
                (stream.is_null() ? " at index " + std::to_string(index) + " of the group" : "") +
                ": one queue at a time uses a stream; give this one a stream of its own");
}

EnqueueEngine::Claim::~Claim() {
  if (state_ != nullptr)
    state_->turn.unclaim();
  else
    group_.release_null(index_);
}

EnqueueEngine::EnqueueEngine(StreamGroup& group, std::uint32_t index, AcceleratorStream& accelerator,
                             const StreamQueueOptions& options)
    : group_(group),
      index_(index),
      accelerator_(accelerator),
      claim_(group, index),
      queue_(queues.fetch_add(1, std::memory_order_relaxed)),
      all_words_(accelerator),
      words_(all_words_.take()),
      proxy_(std::make_unique<EnqueueProxy>(
          group, group.member_of_queue(index), claim_.state() != nullptr ? &claim_.state()->turn : nullptr,
          claim_.state() != nullptr ? &claim_.state()->gate : nullptr, accelerator, words_, options.staging)),
      user_(group.runtime(),
            "StreamQueue (device " + std::to_string(group.member(index).stream().index()) + ")",
            static_cast<int>(group.member(index).stream().index())) {}

EnqueueEngine::~EnqueueEngine() {
  const EndWatch watch(*proxy_, group_.runtime().state().log(), group_.member(index_).stream().index());
  bool nothing_comes = false;
  try {
    if (!accelerator_.is_capturing()) {
      accelerator_.synchronize();
      nothing_comes = true;
    }
  } catch (const std::exception&) {  // the device has failed: nothing will be triggered any more
    nothing_comes = true;
  }
  proxy_->stop(nothing_comes);
}

TurnWords EnqueueEngine::take_words() {
  if (free_words_.empty()) return all_words_.take();
  const TurnWords words = free_words_.back();
  free_words_.pop_back();
  return words;
}

void EnqueueEngine::take_forgotten() {
  while (const std::optional<ForgottenItem> item = proxy_->take_forgotten()) {
    // A graph that ended in the middle of a launch may have left them so.
    std::atomic_ref(*item->words.trigger).store(0, std::memory_order_relaxed);
    std::atomic_ref(*item->words.done).store(0, std::memory_order_relaxed);
    free_words_.push_back(item->words);
    if (item->request == StreamRequest::kNone) continue;
    requests_[item->request].is_open = false;
    free_requests_.push_back(item->request);
  }
}

void EnqueueEngine::enqueue(EnqueuedOperation operation) {
  if (operation.status != nullptr && accelerator_.is_device_memory(operation.status))
    throw Error(describe(operation) + ": its StreamStatus lies in device memory; it must be in host memory");
  if (!has_device_memory_ && operation.size != 0 &&
      (accelerator_.is_device_memory(operation.from) || accelerator_.is_device_memory(operation.to))) {
    proxy_->prepare_for_device_memory();
    has_device_memory_ = true;
  }
  if (accelerator_.is_capturing()) {
    take_forgotten();
    operation.number = ++captured_;
    operation.is_captured = true;
    EnqueuedItem item{operation, true, take_words(), false, {}};
    const TurnWords words = item.words;
    const std::shared_ptr<void> token = std::make_shared<char>();
    item.has_end = accelerator_.keep_with_graph(token);
    item.graph = token;
    proxy_->push(std::move(item));
    // The stream waits for the beginning of operations that are started, too, so that the next launch does
    // not trigger them while they have not been taken; and takes back `done` for that launch.
    const std::array<WordOperation, 3> steps{{{WordOperation::Kind::write, words.trigger, 1},
                                              {WordOperation::Kind::wait, words.done, 1},
                                              {WordOperation::Kind::write, words.done, 0}}};
    accelerator_.enqueue(steps);
    return;
  }
  operation.number = number_ + 1;
  proxy_->push({operation, false, {}, false, {}});
  ++number_;
  const std::array<WordOperation, 2> steps{{{WordOperation::Kind::write, words_.trigger, operation.number},
                                            {WordOperation::Kind::wait, words_.done, operation.number}}};
  accelerator_.enqueue(std::span(steps).first(operation.is_started ? 1 : 2));
}

StreamRequest EnqueueEngine::start(EnqueuedOperation operation) {
  const bool is_captured = accelerator_.is_capturing();
  take_forgotten();
  StreamRequest request;
  request.queue = queue_;
  if (free_requests_.empty()) {
    request.index = static_cast<std::uint32_t>(requests_.size());
    requests_.push_back({});
  } else {
    request.index = free_requests_.back();
    free_requests_.pop_back();
  }
  Request& known = requests_[request.index];
  request.generation = ++known.generation;
  operation.is_started = true;
  operation.request = request.index;
  try {
    enqueue(operation);
  } catch (...) {
    free_requests_.push_back(request.index);
    throw;
  }
  known.is_open = true;
  known.is_captured = is_captured;
  return request;
}

void EnqueueEngine::wait(StreamRequest request, StreamStatus* status) {
  const std::string name = "request " + std::to_string(request.index) + " of a stream queue ";
  if (request.index != StreamRequest::kNone && request.queue != queue_)
    throw Error(name + "is of another queue");
  if (request.index >= requests_.size() || !requests_[request.index].is_open ||
      requests_[request.index].generation != request.generation)
    throw Error(name + (request.index == StreamRequest::kNone ? "names no operation"
                                                              : "has been waited for already"));
  Request& known = requests_[request.index];
  if (known.is_captured != accelerator_.is_capturing())
    throw Error(name + "was started " +
                (known.is_captured ? "in a graph: wait for it in the same graph"
                                   : "outside of a graph: wait for it outside"));
  EnqueuedOperation operation;
  operation.kind = EnqueuedKind::wait;
  operation.request = request.index;
  operation.status = status;
  enqueue(operation);
  known.is_open = false;
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
  proxy_->wait_settled();
  return proxy_->outcome();
}

}  // namespace weft::stream
