// Operations that are prepared once and started many times.
#pragma once

#include <weft/completion/completion.hpp>
#include <weft/detail/copy.hpp>
#include <weft/detail/device_path.hpp>
#include <weft/detail/direct_window.hpp>
#include <weft/detail/end_in_post.hpp>
#include <weft/detail/export.hpp>
#include <weft/detail/lane.hpp>
#include <weft/endpoint/matched.hpp>
#include <weft/endpoint/one_sided.hpp>
#include <weft/message.hpp>
#include <weft/options.hpp>
#include <weft/remote_region.hpp>
#include <weft/status.hpp>
#include <weft/types.hpp>

#include <atomic>
#include <cassert>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

namespace weft {

namespace core {
class MatchingEngine;
}

namespace detail {

template <class Locking>
struct EndpointCalls;

/// The lane of a prepared operation: kept where one thread has the device for itself; elsewhere it depends on
/// the thread that starts the operation. `uses`: whether the operation can be written into a lane at all.
template <class Locking>
class PreparedLane {
 public:
  [[nodiscard, gnu::always_inline]] SendLane* get(bool uses, const DevicePath& path, int peer,
                                                  std::uint8_t device) const noexcept {
    if constexpr (Locking::kExclusive)
      return kept_;
    else
      return uses ? path.lane(peer, device, column_of_post<Locking>()) : nullptr;
  }
  /// Looks for the one to be kept, which the first contact makes.
  void renew(bool uses, const DevicePath& path, int peer, std::uint8_t device) noexcept {
    if constexpr (Locking::kExclusive)
      if (uses && kept_ == nullptr) kept_ = path.lane(peer, device);
  }

 private:
  SendLane* kept_ = nullptr;
};

/// A receive with what its posts would look up each time.
struct PreparedMatch {
  const std::atomic<core::MatchingEngine*>* engine = nullptr;  // where the runtime keeps it; never null there
  int source = 0;
  std::uint64_t tag = 0;
  std::span<std::byte> buffer;
  ReceiveOptions options;
  bool is_usual = false;  // no timeout, and an unordered engine that compares rank and tag
};

/// What posts check each time. All throw weft::Error.
struct Preparation {
  WEFT_API static void check_active_message(DeviceState& device, int peer, RemoteCompletion remote,
                                            MessageClass message_class);
  WEFT_API static void check_send(DeviceState& device, int peer, const SendOptions& options);
  [[nodiscard]] WEFT_API static PreparedMatch prepare_receive(DeviceState& device, int source,
                                                              std::uint64_t tag, std::span<std::byte> buffer,
                                                              const ReceiveOptions& options);
  WEFT_API static Status start_receive(DeviceState& device, const PreparedMatch& match);
  WEFT_API static void check_access(DeviceState& device, Operation operation, int peer,
                                    const RemoteAddress& where);
  /// Destroys the object when the runtime ends, and nothing can signal it any more.
  WEFT_API static void destroy_at_end(DeviceState& device, std::unique_ptr<Completion> completion) noexcept;
};

}  // namespace detail

/// What prepared operations have in common. They are made by an endpoint's prepare calls, are moved and not
/// copied, are started by one thread at a time, and must be destroyed before their endpoint. start() is the
/// post that was prepared: same answers, same signals. Buffers are looked at when it is started: what a put
/// or send takes is what lies there then.
class PreparedOperation {
 public:
  PreparedOperation(const PreparedOperation&) = delete;
  PreparedOperation& operator=(const PreparedOperation&) = delete;

 protected:
  PreparedOperation() noexcept = default;
  PreparedOperation(PreparedOperation&&) noexcept = default;
  PreparedOperation& operator=(PreparedOperation&&) noexcept = default;
  ~PreparedOperation() = default;
};

/// A put or a get. It may be started again while earlier starts are under way: each is an access by itself.
template <class Locking, Operation kOperation>
class PreparedAccess : public PreparedOperation {
  static constexpr bool kIsPut = kOperation == Operation::put;

 public:
  using Buffer = std::conditional_t<kIsPut, Bytes, std::span<std::byte>>;

  PreparedAccess(detail::DeviceState& device, const detail::DevicePath& path, int peer,
                 const RemoteAddress& where, Buffer buffer, const AccessOptions& options)
      : buffer_(buffer), device_(&device), path_(&path), where_(where), options_(options) {
    detail::Preparation::check_access(device, kOperation, peer, where);
    const detail::DirectWindow* window = where.window;
    if (window == nullptr || where.offset > window->size || buffer.size() > window->size - where.offset)
      return;
    signals_ = options.signal != RemoteCompletion();
    if (signals_ && buffer.size() > detail::kCopiedInLane) return;
    if (!signals_)
      way_ = detail::tells(options) ? Way::told_copy : buffer.size() == 8 ? Way::eight_bytes : Way::copy;
    there_ = window->base + where.offset;
    generation_there_ = window->generation_there;
    generation_ = window->generation;
  }

  Status start() {
    // What is not mapped, or not here to be copied at once, is never open.
    if (generation_there_->load(std::memory_order_relaxed) == generation_) [[likely]] {
      if (way_ == Way::eight_bytes) [[likely]] {
        copy(8);
        return Status::done();
      }
      if (way_ == Way::copy) {
        copy(buffer_.size());
        return Status::done();
      }
      if (way_ == Way::told_copy)
        copy(buffer_.size());
      else if (!copy_and_signal()) [[unlikely]]
        return start_otherwise();
      return detail::end_in_post(*device_, kOperation, where_.region.rank, options_.tag, buffer_, options_);
    }
    return start_otherwise();
  }

 private:
  enum class Way : std::uint8_t { eight_bytes, copy, told_copy, signal };

  [[gnu::always_inline]] void copy(std::size_t size) const noexcept {
    if constexpr (kIsPut)
      detail::copy_access(there_, buffer_.data(), size);
    else
      detail::copy_access(buffer_.data(), there_, size);
  }
  [[nodiscard]] bool copy_and_signal() const noexcept {
    detail::SendLane* lane = lane_.get(signals_, *path_, where_.region.rank, options_.signal.device());
    return lane != nullptr &&
           detail::post_slot_after<Locking>(*lane, options_.signal, options_.tag,
                                            kIsPut ? detail::kPutSignalChannel : detail::kGetSignalChannel,
                                            [&] { copy(buffer_.size()); });
  }
  [[gnu::cold, gnu::noinline]] Status start_otherwise() {
    lane_.renew(signals_, *path_, where_.region.rank, options_.signal.device());
    if constexpr (kIsPut)
      return detail::OneSidedCalls<Locking>::post_put(*device_, where_.region.rank, where_, buffer_,
                                                      options_);
    else
      return detail::OneSidedCalls<Locking>::post_get(*device_, where_.region.rank, where_, buffer_,
                                                      options_);
  }

  std::byte* there_ = nullptr;
  const std::atomic<std::uint32_t>* generation_there_ = &detail::kNeverOpen;
  std::uint32_t generation_ = 1;
  Way way_ = Way::signal;  // what an access that is open does
  bool signals_ = false;   // from here, after a copy
  Buffer buffer_;
  detail::PreparedLane<Locking> lane_;  // to the signal's home device
  detail::DeviceState* device_;
  const detail::DevicePath* path_;
  RemoteAddress where_;
  AccessOptions options_;
};

template <class Locking>
using PreparedPut = PreparedAccess<Locking, Operation::put>;
template <class Locking>
using PreparedGet = PreparedAccess<Locking, Operation::get>;

/// An active message. It may be started again while earlier starts are under way.
template <class Locking>
class PreparedActiveMessage : public PreparedOperation {
 public:
  PreparedActiveMessage(detail::DeviceState& device, const detail::DevicePath& path, int peer,
                        RemoteCompletion remote, Bytes bytes, const ActiveMessageOptions& options)
      : remote_(remote),
        bytes_(bytes),
        options_(options),
        is_usual_(options.message_class == MessageClass::normal),
        fits_(is_usual_ && bytes.size() <= detail::kSlotPayload),
        tells_(detail::tells(options)),
        peer_(peer),
        device_(&device),
        path_(&path) {
    detail::Preparation::check_active_message(device, peer, remote, options.message_class);
    renew_lane();
  }

  Status start() {
    detail::SendLane* lane = lane_.get(fits_, *path_, peer_, remote_.device());
    if (lane != nullptr && detail::post_slot<Locking>(*lane, remote_, options_.tag, bytes_,
                                                      detail::kActiveMessageChannel)) [[likely]]
      return ended();
    return start_otherwise();
  }

 private:
  [[nodiscard]] Status ended() const noexcept {
    if (!tells_) [[likely]]
      return Status::done();
    return detail::end_in_post(*device_, Operation::active_message_sent, peer_, options_.tag, bytes_,
                               options_);
  }
  void renew_lane() noexcept { lane_.renew(fits_, *path_, peer_, remote_.device()); }
  [[gnu::cold, gnu::noinline]] Status start_otherwise() {
    using Calls = detail::EndpointCalls<Locking>;
    if (is_usual_ && !fits_ &&
        Calls::post_wide_am(*device_, peer_, remote_, bytes_.data(), bytes_.size(), options_.tag))
      return ended();
    const Status status = Calls::post_am(*device_, peer_, remote_, bytes_, options_);
    renew_lane();
    return status;
  }

  detail::PreparedLane<Locking> lane_;  // what fits into a slot goes here
  RemoteCompletion remote_;
  Bytes bytes_;
  ActiveMessageOptions options_;
  bool is_usual_;  // its class
  bool fits_;
  bool tells_;  // its completion object, also where it ends in the post
  int peer_;
  detail::DeviceState* device_;
  const detail::DevicePath* path_;
};

/// A send. It may be started again while earlier starts are under way.
template <class Locking>
class PreparedSend : public PreparedOperation {
 public:
  PreparedSend(detail::DeviceState& device, const detail::DevicePath& path, int peer, std::uint64_t tag,
               Bytes bytes, const SendOptions& options)
      : tag_(tag),
        bytes_(bytes),
        trailer_(detail::match_trailer(options.engine, static_cast<std::uint8_t>(options.policy),
                                       path.own_device)),
        options_(options),
        is_usual_(options.policy != MatchingPolicy::user && options.engine < kMatchingEngines &&
                  options.message_class == MessageClass::normal),
        fits_(is_usual_ && bytes.size() <= detail::kSlotPayload - detail::kMatchTrailer),
        tells_(detail::tells(options)),
        peer_(peer),
        device_(&device),
        path_(&path) {
    detail::Preparation::check_send(device, peer, options);
    renew_lane();
  }

  Status start() {
    detail::SendLane* lane = lane_.get(fits_, *path_, peer_, options_.device);
    if (lane != nullptr && detail::post_matched_slot<Locking>(*lane, tag_, bytes_, trailer_)) [[likely]]
      return ended();
    return start_otherwise();
  }

 private:
  [[nodiscard]] Status ended() const noexcept {
    if (!tells_) [[likely]]
      return Status::done();
    return detail::end_in_post(*device_, Operation::send, peer_, tag_, bytes_, options_);
  }
  void renew_lane() noexcept { lane_.renew(fits_, *path_, peer_, options_.device); }
  [[gnu::cold, gnu::noinline]] Status start_otherwise() {
    using Calls = detail::MatchedCalls<Locking>;
    if (is_usual_ && !fits_ &&
        Calls::post_wide_send(*device_, detail::peer_and_device(peer_, options_.device), tag_, bytes_.data(),
                              bytes_.size(), trailer_))
      return ended();
    const Status status = Calls::post_send(*device_, peer_, tag_, bytes_, options_);
    renew_lane();
    return status;
  }

  detail::PreparedLane<Locking> lane_;
  std::uint64_t tag_;
  Bytes bytes_;
  std::uint64_t trailer_;
  SendOptions options_;
  bool is_usual_;
  bool fits_;
  bool tells_;  // as in PreparedActiveMessage
  int peer_;
  detail::DeviceState* device_;
  const detail::DevicePath* path_;
};

/// A receive; a completion object is needed. Its buffer has room for one message: started again before it has
/// ended, it answers retry(in_flight). It has ended just before its completion object is signalled, so that a
/// handler may start it again. A receive that is destroyed in flight ends all the same, as if it had not been
/// prepared.
template <class Locking>
class PreparedReceive : public PreparedOperation {
 public:
  PreparedReceive(detail::DeviceState& device, int source, std::uint64_t tag, std::span<std::byte> buffer,
                  const ReceiveOptions& options)
      : match_(detail::Preparation::prepare_receive(device, source, tag, buffer, options)),
        device_(&device),
        ending_(std::make_unique<Ending>(*options.completion)) {
    match_.options.completion = ending_.get();
  }
  PreparedReceive(PreparedReceive&&) noexcept = default;
  PreparedReceive& operator=(PreparedReceive&& other) noexcept {
    const PreparedReceive ended(std::move(*this));
    match_ = other.match_;
    device_ = other.device_;
    ending_ = std::move(other.ending_);
    return *this;
  }
  ~PreparedReceive() {
    if (ending_ != nullptr && ending_->is_in_flight.load(std::memory_order_acquire))
      detail::Preparation::destroy_at_end(*device_, std::move(ending_));
  }

  Status start() {
    assert(ending_ != nullptr && "a receive that has been moved from");
    // Pairs with the release in signal(): the buffer is not written any more.
    if (ending_->is_in_flight.load(std::memory_order_acquire)) [[unlikely]]
      return Status::retry(Reason::in_flight);
    // Before the post: its message may end it at once.
    ending_->is_in_flight.store(true, std::memory_order_relaxed);
    const Status status = detail::Preparation::start_receive(*device_, match_);
    if (!status.is_posted()) [[unlikely]]
      ending_->is_in_flight.store(false, std::memory_order_relaxed);
    return status;
  }

  /// Whether a start has not ended.
  [[nodiscard]] bool is_in_flight() const noexcept {
    return ending_ != nullptr && ending_->is_in_flight.load(std::memory_order_acquire);
  }

 private:
  /// Notes that the receive has ended, and tells whom it was told to tell.
  struct Ending final : Completion {
    explicit Ending(Completion& to) noexcept : next(to) {}
    void signal(Message& message) noexcept override {
      Completion& to = next;
      // From here on the operation may be started again, or destroyed together with this.
      is_in_flight.store(false, std::memory_order_release);
      to.signal(message);
    }
    [[nodiscard]] bool ready() const noexcept override { return next.ready(); }
    Completion& next;
    std::atomic<bool> is_in_flight{false};
  };

  detail::PreparedMatch match_;
  detail::DeviceState* device_;
  std::unique_ptr<Ending> ending_;
};

}  // namespace weft
