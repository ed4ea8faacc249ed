// The interface to a stream of an accelerator: what weft needs of it to enqueue communication there.
#pragma once

#include <weft/detail/export.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace weft {

/// One operation of a stream on a word of host memory that stream and host both see.
struct WordOperation {
  enum class Kind : std::uint8_t {
    write,  ///< the word becomes `value`, visible to the host with everything that the stream did before
    wait,   ///< the stream goes on when the word has reached `value`: std::int64_t(word - value) >= 0
  };
  Kind kind = Kind::write;
  std::uint64_t* word = nullptr;  ///< of AcceleratorStream::allocate_words()
  std::uint64_t value = 0;
};

/// Copies between host and device memory that a thread of the host makes meanwhile: a queue of its own, which
/// no stream of the program waits for. One thread at a time.
class WEFT_API AcceleratorCopies {
 public:
  virtual ~AcceleratorCopies() = default;
  /// Begins a copy; copies end in the order of their begins. Returns its number, from 1 on. Throws
  /// weft::Error.
  virtual std::uint64_t begin(void* to, const void* from, std::size_t size) = 0;
  /// Whether the copy of this number, and all before it, have ended. Never waits. Throws weft::Error when a
  /// copy has failed.
  [[nodiscard]] virtual bool has_ended(std::uint64_t number) = 0;
};

/// A stream of an accelerator, in which operations are carried out in the order in which they were enqueued.
/// Unless said otherwise, one thread at a time calls. All calls throw weft::Error when the device refuses.
/// Derive from it to use weft with an accelerator that it does not know; FakeStream is an example that runs
/// everywhere, CudaStream borrows a stream of CUDA.
class WEFT_API AcceleratorStream {
 public:
  virtual ~AcceleratorStream() = default;
  /// A word for error texts: "cuda", "fake".
  [[nodiscard]] virtual const char* kind() const noexcept = 0;
  /// Enqueues the operations in their order. Never waits.
  virtual void enqueue(std::span<const WordOperation> operations) = 0;
  /// Whether what is enqueued now is recorded into a graph instead of carried out: then it may be carried out
  /// any number of times later, and so may not depend on how often it has been.
  [[nodiscard]] virtual bool is_capturing() const = 0;
  /// While capturing: keeps `token` as long as the graph can be launched or is being carried out, so that its
  /// end tells that nothing of the graph will come any more. Returns false, without effect, where the
  /// accelerator has no such means. Called by the thread that enqueues; any thread may drop the token.
  [[nodiscard]] virtual bool keep_with_graph(const std::shared_ptr<void>& token) {
    static_cast<void>(token);
    return false;
  }
  /// Waits until everything that was enqueued has been carried out.
  virtual void synchronize() = 0;
  /// Words of host memory, zero, for the operations above; free_words() gives them back. Any thread.
  [[nodiscard]] virtual std::uint64_t* allocate_words(std::size_t count) = 0;
  virtual void free_words(std::uint64_t* words) noexcept = 0;
  /// Whether only the device can access the memory. Any thread.
  [[nodiscard]] virtual bool is_device_memory(const void* address) const = 0;
  /// Host memory that the device copies to and from at full speed. Any thread.
  [[nodiscard]] virtual std::byte* allocate_pinned(std::size_t size) = 0;
  virtual void free_pinned(std::byte* memory) noexcept = 0;
  [[nodiscard]] virtual std::unique_ptr<AcceleratorCopies> make_copies() = 0;
};

}  // namespace weft
