#include <weft/parcel/accelerator.hpp>
#include <weft/parcel/waiter.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>

namespace weft::parcel {

namespace {

constexpr std::chrono::microseconds kFirstPause{5};
constexpr std::chrono::microseconds kLongestPause{200};

/// A word that the stream writes when it comes to it.
class Mark {
 public:
  explicit Mark(AcceleratorStream& stream) : stream_(stream), word_(stream.allocate_words(1)) {}
  ~Mark() { stream_.free_words(word_); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  void enqueue() {
    const WordOperation write{WordOperation::Kind::write, word_, 1};
    stream_.enqueue({&write, 1});
  }
  [[nodiscard]] bool is_reached() const noexcept {
    return std::atomic_ref(*word_).load(std::memory_order_acquire) != 0;
  }

 private:
  AcceleratorStream& stream_;
  std::uint64_t* word_;
};

}  // namespace

Future<void> carried_out(Runtime& runtime, AcceleratorStream& stream) {
  if (stream.is_capturing())
    throw Error(std::string("a future of a stream of kind ") + stream.kind() +
                " was asked for while it captures a graph: ask after the launch");
  auto mark = std::make_shared<Mark>(stream);
  mark->enqueue();
  return runtime.spawn([mark = std::move(mark)] {
    auto pause = kFirstPause;
    while (!mark->is_reached()) {
      Waiter waiter({"an accelerator's stream", mark.get()});
      static_cast<void>(waiter.wait_until(Waiter::Clock::now() + pause));
      pause = std::min(2 * pause, kLongestPause);
    }
  });
}

}  // namespace weft::parcel
