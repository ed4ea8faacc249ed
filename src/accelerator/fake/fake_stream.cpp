#include <weft/testing/fake_stream.hpp>

#include <weft/error.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "accelerator/fake/device_memory.hpp"
#include "accelerator/fake/work_queue.hpp"

namespace weft {

namespace {

// Empty looks at a word before the thread gives way, and before it sleeps in between.
constexpr int kSpins = 100;
constexpr int kYields = 1000;
constexpr auto kNap = std::chrono::microseconds(20);

void copy_views(void* to, const void* from, std::size_t size) {
  if (size != 0) std::memcpy(FakeStream::view(to), FakeStream::view(from), size);
}

/// Copies in a thread of their own.
class FakeCopies final : public AcceleratorCopies {
 public:
  FakeCopies(std::uint64_t seed, std::uint64_t longest_delay_ns) : queue_(seed, longest_delay_ns) {}
  std::uint64_t begin(void* to, const void* from, std::size_t size) override {
    return queue_.push([=] { copy_views(to, from, size); });
  }
  [[nodiscard]] bool has_ended(std::uint64_t number) override { return queue_.has_ended(number); }

 private:
  accelerator::WorkQueue queue_;
};

}  // namespace

struct FakeGraph::Steps {
  std::vector<std::function<void(FakeStream&)>> all;
  std::vector<std::shared_ptr<void>> kept;
};

FakeGraph::FakeGraph() noexcept = default;
FakeGraph::~FakeGraph() = default;
FakeGraph::FakeGraph(FakeGraph&&) noexcept = default;
FakeGraph& FakeGraph::operator=(FakeGraph&&) noexcept = default;

void FakeGraph::launch(FakeStream& stream) const {
  if (steps_ == nullptr) throw Error("a FakeGraph is launched that nothing was captured into");
  if (stream.is_capturing()) throw Error("a FakeGraph is launched on a stream that captures");
  for (const auto& step : steps_->all) step(stream);
  // What is kept with the graph is needed until the launch has ended.
  if (!steps_->kept.empty()) stream.launch([steps = steps_] {});
}

struct FakeStream::State {
  explicit State(const FakeStreamOptions& given)
      : options(given), queue(given.seed, given.longest_delay_ns) {}

  /// Waits for the word; ends early when the stream is abandoned.
  void wait_for(const WordOperation& operation) const {
    const std::atomic_ref<std::uint64_t> word(*operation.word);
    for (int looks = 0; static_cast<std::int64_t>(word.load(std::memory_order_acquire) - operation.value) < 0;
         ++looks) {
      if (is_abandoned.load(std::memory_order_acquire)) return;
      if (looks >= kSpins + kYields)
        std::this_thread::sleep_for(kNap);
      else if (looks >= kSpins)
        std::this_thread::yield();
    }
  }
  void carry_out(const WordOperation& operation) const {
    if (operation.kind == WordOperation::Kind::write)
      std::atomic_ref(*operation.word).store(operation.value, std::memory_order_release);
    else
      wait_for(operation);
  }

  const FakeStreamOptions options;
  std::atomic<bool> is_abandoned{false};
  std::unique_ptr<FakeGraph::Steps> capture;  // of the thread that enqueues
  accelerator::WorkQueue queue;               // its thread uses the above
};

FakeStream::FakeStream(const FakeStreamOptions& options) : state_(std::make_unique<State>(options)) {}
FakeStream::~FakeStream() = default;

void FakeStream::launch(std::function<void()> kernel) {
  if (state_->capture != nullptr) {
    state_->capture->all.push_back(
        [kernel = std::move(kernel)](FakeStream& stream) { stream.launch(kernel); });
    return;
  }
  state_->queue.push(std::move(kernel));
}

void FakeStream::copy(void* to, const void* from, std::size_t size) {
  launch([=] { copy_views(to, from, size); });
}

void FakeStream::enqueue(std::span<const WordOperation> operations) {
  for (const WordOperation operation : operations) {
    if (state_->capture != nullptr)
      state_->capture->all.push_back([operation](FakeStream& stream) { stream.enqueue({&operation, 1}); });
    else
      state_->queue.push([state = state_.get(), operation] { state->carry_out(operation); });
  }
}

void FakeStream::begin_capture() {
  if (state_->capture != nullptr) throw Error("the FakeStream captures already");
  state_->capture = std::make_unique<FakeGraph::Steps>();
}

FakeGraph FakeStream::end_capture() {
  if (state_->capture == nullptr) throw Error("the FakeStream does not capture: call begin_capture() first");
  FakeGraph graph;
  graph.steps_ = std::move(state_->capture);
  return graph;
}

void FakeStream::abandon() noexcept {
  state_->queue.drop();  // first: what waits behind a word must not begin
  state_->is_abandoned.store(true, std::memory_order_release);
}

bool FakeStream::is_capturing() const { return state_->capture != nullptr; }

bool FakeStream::keep_with_graph(const std::shared_ptr<void>& token) {
  if (state_->capture == nullptr) return false;
  state_->capture->kept.push_back(token);
  return true;
}

void FakeStream::synchronize() {
  if (state_->capture != nullptr) throw Error("synchronize() of a FakeStream that captures would never end");
  state_->queue.wait_until_empty();
}

std::uint64_t* FakeStream::allocate_words(std::size_t count) {
  constexpr std::size_t kLine = 64;
  const std::size_t size = (count * sizeof(std::uint64_t) + kLine - 1) / kLine * kLine;
  void* const memory = std::aligned_alloc(kLine, size);
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 0, size);
  return static_cast<std::uint64_t*>(memory);
}
void FakeStream::free_words(std::uint64_t* words) noexcept { std::free(words); }

std::byte* FakeStream::allocate_pinned(std::size_t size) {
  void* const memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}
void FakeStream::free_pinned(std::byte* memory) noexcept { std::free(memory); }

bool FakeStream::is_device_memory(const void* address) const {
  return accelerator::view_of(address) != nullptr;
}
void* FakeStream::allocate_device(std::size_t size) { return accelerator::allocate_inaccessible(size); }
void FakeStream::free_device(void* memory) noexcept { accelerator::free_inaccessible(memory); }
void* FakeStream::view(const void* address) noexcept {
  void* const seen = accelerator::view_of(address);
  return seen != nullptr ? seen : const_cast<void*>(address);
}

std::unique_ptr<AcceleratorCopies> FakeStream::make_copies() {
  return std::make_unique<FakeCopies>(state_->options.seed + 1, state_->options.longest_delay_ns);
}

}  // namespace weft
