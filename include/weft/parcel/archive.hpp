// Archives: how the arguments and results of actions become bytes, and arrays that travel without a copy.
//
// A type of the program is serialized by one function for both directions, a member or found by its argument:
//
//     template <class Archive> void serialize(Archive& archive, Particle& particle) {
//       archive(particle.position, particle.name, particle.neighbours);
//     }
//
// Trivially copyable types need none. Standard strings, containers, pairs, tuples, optionals, variants,
// unique and shared pointers are known (shared objects are not recognised as shared). Pointers and views do
// not compile.
//
// The elements of an Array, a std::vector or a std::basic_string of trivially copyable elements are not
// copied from Writer's threshold on: they become a zero-copy chunk, which goes from the sender's memory to
// where the receiver has decoded the vector. They come after serialize() has returned: a function that looks
// at what it has read reads it within Unchunked.
#pragma once

#include <weft/bytes.hpp>
#include <weft/detail/export.hpp>
#include <weft/error.hpp>
#include <weft/parcel/array.hpp>
#include <weft/parcel/detail/byte_buffer.hpp>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft::parcel {

/// Bytes that no Writer has written: a parcel that names more than it has. what() says what was wrong.
class WEFT_API MalformedParcel : public Error {
 public:
  using Error::Error;
};

class Writer;
class Reader;

namespace detail {
/// Serializes one value; specialized by type in codecs.hpp.
template <class T>
void write_value(Writer& writer, const T& value);
template <class T>
void read_value(Reader& reader, T& value);

/// The mark of an array that travels as a chunk, in the word that holds its length.
inline constexpr std::uint64_t kChunkMark = std::uint64_t{1} << 63;
}  // namespace detail

/// Turns values into bytes. One thread.
class Writer {
 public:
  static constexpr bool is_writer = true;

  /// `threshold`: arrays of at least so many bytes become chunks.
  explicit Writer(std::size_t threshold) noexcept : threshold_(threshold) {}

  /// Writes the values one after the other.
  template <class... Values>
  void operator()(const Values&... values) {
    (detail::write_value(*this, values), ...);
  }

  /// Copies `size` bytes.
  void bytes(const void* from, std::size_t size) { std::memcpy(buffer_.grow(size), from, size); }
  /// Writes the length and the elements of an array in memory that stays where it is for as long as the
  /// object that holds it lives, even if that is moved.
  template <class T>
  void array(const T* elements, std::size_t count) {
    const std::size_t size = count * sizeof(T);
    const bool is_chunk = size >= threshold_ && unchunked_ == 0 && size != 0;
    const std::uint64_t length = count | (is_chunk ? detail::kChunkMark : 0);
    bytes(&length, sizeof length);
    if (is_chunk)
      chunks_.emplace_back(reinterpret_cast<const std::byte*>(elements), size);
    else if (size != 0)
      bytes(elements, size);
  }

  [[nodiscard]] Bytes written() const noexcept { return buffer_.bytes(); }
  [[nodiscard]] detail::ByteBuffer& buffer() noexcept { return buffer_; }
  /// The chunks, in the order in which a Reader meets them. They lie in the values that were written.
  [[nodiscard]] std::vector<Bytes>& chunks() noexcept { return chunks_; }
  void enter_unchunked(int change) noexcept { unchunked_ += change; }
  void clear() noexcept {
    buffer_.clear();
    chunks_.clear();
  }

 private:
  detail::ByteBuffer buffer_;
  std::vector<Bytes> chunks_;
  std::size_t threshold_;
  int unchunked_ = 0;
};

/// Turns bytes into values. Any bytes: what cannot be right throws MalformedParcel, and no more memory is
/// used than what the bytes and the chunks hold by their own account. One thread.
class Reader {
 public:
  static constexpr bool is_writer = false;

  /// `chunk_sizes`: of the chunks that come with the bytes. `chunk_addresses`: where they lie, if they have
  /// come already; then they are copied from there, or kept there by `keeper`, and have no landings.
  explicit Reader(Bytes bytes, std::span<const std::uint64_t> chunk_sizes = {},
                  std::span<const std::byte* const> chunk_addresses = {},
                  detail::ChunkKeeper* keeper = nullptr) noexcept
      : at_(bytes.data()),
        end_(bytes.data() + bytes.size()),
        chunk_sizes_(chunk_sizes),
        chunk_addresses_(chunk_addresses),
        keeper_(keeper) {}

  template <class... Values>
  void operator()(Values&... values) {
    (detail::read_value(*this, values), ...);
  }

  void bytes(void* to, std::size_t size) {
    if (size > remaining()) malformed("the parcel ends inside a value");
    if (size != 0) std::memcpy(to, at_, size);
    at_ += size;
  }
  [[nodiscard]] std::size_t remaining() const noexcept { return static_cast<std::size_t>(end_ - at_); }
  [[nodiscard]] const std::byte* position() const noexcept { return at_; }
  void skip(std::size_t size) {
    if (size > remaining()) malformed("the parcel ends inside a value");
    at_ += size;
  }

  /// Reads what Writer::array() has written into an Array, or a container with resize() and data() whose
  /// elements stay where they are when it is moved.
  template <class Container>
  void array(Container& container) {
    using Element = typename Container::value_type;
    std::uint64_t length = 0;
    bytes(&length, sizeof length);
    const bool is_chunk = (length & detail::kChunkMark) != 0;
    length &= ~detail::kChunkMark;
    const std::uint64_t available = is_chunk ? next_chunk() : remaining();
    if (length > available / sizeof(Element)) malformed("an array is longer than its parcel");
    if (is_chunk && length * sizeof(Element) != available) malformed("an array is not as long as its chunk");
    if (!is_chunk) {
      assign(container, at_, length);
      at_ += length * sizeof(Element);
    } else if (!chunk_addresses_.empty()) {
      take_arrived(container, chunk_addresses_[landings_.size()], length);
      landings_.emplace_back();
    } else {
      make_room(container, length);
      landings_.emplace_back(reinterpret_cast<std::byte*>(container.data()), available);
    }
  }
  /// Reads the number of elements of a list; each takes at least one byte.
  [[nodiscard]] std::size_t count() {
    std::uint64_t number = 0;
    bytes(&number, sizeof number);
    if (number > remaining()) malformed("a list has more elements than its parcel has bytes");
    return number;
  }

  /// Where the chunks belong, in their order; empty for those that need no copying.
  [[nodiscard]] std::vector<MutableBytes>& landings() noexcept { return landings_; }
  void enter_unchunked(int) noexcept {}
  [[noreturn]] WEFT_API static void malformed(const char* what);
  /// Throws MalformedParcel unless all bytes and all chunks have been read.
  void finish() const {
    if (at_ != end_) malformed("the parcel is longer than its values");
    if (landings_.size() != chunk_sizes_.size()) malformed("the parcel has more chunks than arrays");
  }

 private:
  template <class T>
  static void make_room(Array<T>& array, std::size_t count) {
    array = Array<T>(count);
  }
  template <class Container>
  static void make_room(Container& container, std::size_t count) {
    container.resize(count);
  }
  /// Copies elements from anywhere; memory that is overwritten is not cleared before, where that can be had.
  template <class Container>
  static void assign(Container& container, const std::byte* from, std::size_t count) {
    using Element = typename Container::value_type;
    if constexpr (std::is_copy_constructible_v<Element> && std::is_copy_assignable_v<Element> &&
                  requires(const Element* first) { container.assign(first, first); })
      if (reinterpret_cast<std::uintptr_t>(from) % alignof(Element) == 0) {
        const auto* const first = reinterpret_cast<const Element*>(from);
        container.assign(first, first + count);
        return;
      }
    make_room(container, count);
    if (count != 0) std::memcpy(static_cast<void*>(container.data()), from, count * sizeof(Element));
  }
  template <class T>
  void take_arrived(Array<T>& array, const std::byte* from, std::size_t count) {
    const bool may_stay = keeper_ != nullptr && reinterpret_cast<std::uintptr_t>(from) % alignof(T) == 0;
    detail::ArrayBlock* const block = may_stay ? keeper_->keep(from) : nullptr;
    if (block != nullptr)
      array = Array<T>(block, count);
    else
      assign(array, from, count);
  }
  template <class Container>
  void take_arrived(Container& container, const std::byte* from, std::size_t count) {
    assign(container, from, count);
  }
  std::uint64_t next_chunk() {
    if (landings_.size() == chunk_sizes_.size()) malformed("the parcel has fewer chunks than arrays");
    return chunk_sizes_[landings_.size()];
  }

  const std::byte* at_;
  const std::byte* end_;
  std::span<const std::uint64_t> chunk_sizes_;
  std::span<const std::byte* const> chunk_addresses_;
  detail::ChunkKeeper* keeper_;
  std::vector<MutableBytes> landings_;
};

/// While it lives, arrays of any length are copied: for keys, and for functions that look at what they read.
template <class Archive>
class Unchunked {
 public:
  explicit Unchunked(Archive& archive) noexcept : archive_(archive) { archive_.enter_unchunked(1); }
  ~Unchunked() { archive_.enter_unchunked(-1); }
  Unchunked(const Unchunked&) = delete;
  Unchunked& operator=(const Unchunked&) = delete;

 private:
  Archive& archive_;
};

}  // namespace weft::parcel

#include <weft/parcel/detail/codecs.hpp>
