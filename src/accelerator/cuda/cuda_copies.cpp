#include "accelerator/cuda/cuda_copies.hpp"

#include <new>

#include "accelerator/cuda/in_context.hpp"

namespace weft::accelerator::cuda {

CudaCopies::CudaCopies(const Driver& driver, Context context) : driver_(driver), context_(context) {
  const InContext in(driver_, context_);
  driver_.check(driver_.create_stream(&stream_, kNonBlocking), "cuStreamCreate");
}

CudaCopies::~CudaCopies() {
  const InContext in(driver_, context_, std::nothrow);
  static_cast<void>(driver_.synchronize(stream_));
  for (const Event event : under_way_) static_cast<void>(driver_.destroy_event(event));
  for (const Event event : free_) static_cast<void>(driver_.destroy_event(event));
  static_cast<void>(driver_.destroy_stream(stream_));
}

std::uint64_t CudaCopies::begin(void* to, const void* from, std::size_t size) {
  const InContext in(driver_, context_);
  // What may fail comes before the copy: a copy that has begun has a number.
  if (free_.empty()) {
    free_.reserve(under_way_.size() + 1);
    Event made = nullptr;
    driver_.check(driver_.create_event(&made, kWithoutTiming), "cuEventCreate");
    free_.push_back(made);
  }
  const Event event = free_.back();
  under_way_.push_back(event);
  free_.pop_back();
  Result result = driver_.copy(address_of(to), address_of(from), size, stream_);
  const bool has_begun = result == kSuccess;
  if (has_begun) result = driver_.record_event(event, stream_);
  if (result == kSuccess) return ended_ + under_way_.size();
  under_way_.pop_back();
  free_.push_back(event);
  // Nobody could ask for the end of this one.
  if (has_begun) static_cast<void>(driver_.synchronize(stream_));
  driver_.check(result, has_begun ? "cuEventRecord" : "cuMemcpyAsync");
  return 0;
}

bool CudaCopies::has_ended(std::uint64_t number) {
  if (ended_ >= number) return true;
  const InContext in(driver_, context_);
  for (; ended_ < number && !under_way_.empty(); ++ended_) {
    const Result result = driver_.query_event(under_way_.front());
    if (result == kNotReady) return false;
    driver_.check(result, "cuEventQuery");
    free_.push_back(under_way_.front());
    under_way_.pop_front();
  }
  return ended_ >= number;
}

}  // namespace weft::accelerator::cuda
