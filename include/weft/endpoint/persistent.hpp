// Persistent operations (MPI's word): prepared once, started many times; and the calls of an endpoint that
// prepare them.
#pragma once

#include <weft/completion/completion.hpp>
#include <weft/detail/completion_link.hpp>
#include <weft/detail/copy.hpp>
#include <weft/detail/device_path.hpp>
#include <weft/detail/direct_window.hpp>
#include <weft/detail/endpoint_entry.hpp>
#include <weft/detail/export.hpp>
#include <weft/detail/immediate_completion.hpp>
#include <weft/detail/lane.hpp>
#include <weft/detail/preparation.hpp>
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

namespace detail {
template <class Locking>
struct EndpointCalls;
}  // namespace detail

/// Base of all persistent operations. They are made by an endpoint's prepare calls, are moved and not copied,
/// are started by one thread at a time, and must be destroyed before their endpoint. start() is the post that
/// was prepared, with the same answers and signals. Buffers are read when it is started: a put or send
/// transfers the bytes that lie there then.
class PersistentOperation {
 public:
  PersistentOperation(const PersistentOperation&) = delete;
  PersistentOperation& operator=(const PersistentOperation&) = delete;

 protected:
  PersistentOperation() noexcept = default;
  PersistentOperation(PersistentOperation&&) noexcept = default;
  PersistentOperation& operator=(PersistentOperation&&) noexcept = default;
  ~PersistentOperation() = default;
};

/// A persistent put or get. It may be started again while earlier starts are under way: each is an access by
/// itself.
template <class Locking, Operation kOperation>
class PersistentAccess : public PersistentOperation {
  static constexpr bool kIsPut = kOperation == Operation::put;

 public:
  using Buffer = std::conditional_t<kIsPut, Bytes, std::span<std::byte>>;

  PersistentAccess(detail::DeviceState& device, const detail::DevicePath& path, int peer,
                   const RemoteAddress& where, Buffer buffer, const AccessOptions& options)
      : buffer_(buffer), device_(&device), path_(&path), where_(where), options_(options) {
    detail::Preparation::check_access(device, kOperation, peer, where, buffer, options.region);
    if (!where.is_mapped) return;
    const detail::DirectWindow window = detail::Preparation::window_of(device, where.region);
    if (where.offset > window.size || buffer.size() > window.size - where.offset) return;
    signals_ = options.signal != RemoteCompletion();
    if (signals_ && buffer.size() > detail::kCopiedInLane) return;
    if (!signals_)
      way_ = detail::needs_signal(options) ? Way::signalled_copy
             : buffer.size() == 8          ? Way::eight_bytes
                                           : Way::copy;
    there_ = window.base + where.offset;
    generation_there_ = window.generation_there;
    generation_ = window.generation;
  }

  Status start() {
    const detail::EndpointEntry<Locking> entry(*device_, "start");
    // A window that is not mapped, or whose access cannot be copied at once, is never open.
    if (generation_there_->load(std::memory_order_relaxed) == generation_) [[likely]] {
      if (way_ == Way::eight_bytes) [[likely]] {
        copy(8);
        return Status::done();
      }
      if (way_ == Way::copy) {
        copy(buffer_.size());
        return Status::done();
      }
      if (way_ == Way::signalled_copy)
        copy(buffer_.size());
      else if (!copy_and_signal()) [[unlikely]]
        return start_slow();
      return detail::complete_immediately(*device_, kOperation, where_.region.rank, options_.tag, buffer_,
                                          options_);
    }
    return start_slow();
  }

 private:
  enum class Way : std::uint8_t { eight_bytes, copy, signalled_copy, signal };

  [[gnu::always_inline]] void copy(std::size_t size) const noexcept {
    if constexpr (kIsPut)
      detail::copy_access(there_, buffer_.data(), size);
    else
      detail::copy_access(buffer_.data(), there_, size);
  }
  [[nodiscard]] bool copy_and_signal() const noexcept {
    detail::SendLane* lane = lane_.get(signals_, *path_, where_.region.rank, options_.signal.device());
    return lane != nullptr &&
           detail::try_post_slot_after<Locking>(
               *lane, options_.signal, options_.tag,
               kIsPut ? detail::kPutSignalChannel : detail::kGetSignalChannel, [&] { copy(buffer_.size()); });
  }
  [[gnu::cold, gnu::noinline]] Status start_slow() {
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
  Way way_ = Way::signal;  // how an access to an open window is carried out
  bool signals_ = false;   // sends the signal itself, after a copy
  Buffer buffer_;
  detail::PreparedLane<Locking> lane_;  // to the signal's home device
  detail::DeviceState* device_;
  const detail::DevicePath* path_;
  RemoteAddress where_;
  AccessOptions options_;
};

template <class Locking>
using PersistentPut = PersistentAccess<Locking, Operation::put>;
template <class Locking>
using PersistentGet = PersistentAccess<Locking, Operation::get>;

/// A persistent active message. It may be started again while earlier starts are under way.
template <class Locking>
class PersistentActiveMessage : public PersistentOperation {
 public:
  PersistentActiveMessage(detail::DeviceState& device, const detail::DevicePath& path, int peer,
                          RemoteCompletion remote, Bytes bytes, const ActiveMessageOptions& options)
      : remote_(remote),
        bytes_(bytes),
        options_(options),
        fits_fast_path_(options.message_class == MessageClass::normal),
        fits_(fits_fast_path_ && bytes.size() <= detail::kSlotPayload),
        needs_signal_(detail::needs_signal(options)),
        peer_(peer),
        device_(&device),
        path_(&path) {
    detail::Preparation::check_active_message(device, peer, remote, bytes, options);
    renew_lane();
  }

  Status start() {
    const detail::EndpointEntry<Locking> entry(*device_, "start");
    detail::SendLane* lane = lane_.get(fits_, *path_, peer_, remote_.device());
    if (lane != nullptr && detail::try_post_slot<Locking>(*lane, remote_, options_.tag, bytes_,
                                                          detail::kActiveMessageChannel)) [[likely]]
      return ended();
    return start_slow();
  }

 private:
  [[nodiscard]] Status ended() const noexcept {
    if (!needs_signal_) [[likely]]
      return Status::done();
    return detail::complete_immediately(*device_, Operation::active_message_sent, peer_, options_.tag, bytes_,
                                        options_);
  }
  void renew_lane() noexcept { lane_.renew(fits_, *path_, peer_, remote_.device()); }
  [[gnu::cold, gnu::noinline]] Status start_slow() {
    using Calls = detail::EndpointCalls<Locking>;
    if (fits_fast_path_ && !fits_ &&
        Calls::post_multi_slot_am(*device_, peer_, remote_, bytes_.data(), bytes_.size(), options_.tag))
      return ended();
    const Status status = Calls::post_am(*device_, peer_, remote_, bytes_, options_);
    renew_lane();
    return status;
  }

  detail::PreparedLane<Locking> lane_;  // for payloads that fit into a slot
  RemoteCompletion remote_;
  Bytes bytes_;
  ActiveMessageOptions options_;
  bool fits_fast_path_;  // the message class permits the fast path
  bool fits_;
  bool needs_signal_;  // the completion object is signalled even when the operation ends during the post
  int peer_;
  detail::DeviceState* device_;
  const detail::DevicePath* path_;
};

/// A persistent send. It may be started again while earlier starts are under way.
template <class Locking>
class PersistentSend : public PersistentOperation {
 public:
  PersistentSend(detail::DeviceState& device, const detail::DevicePath& path, int peer, std::uint64_t tag,
                 Bytes bytes, const SendOptions& options)
      : tag_(tag),
        bytes_(bytes),
        trailer_(detail::match_trailer(options.engine, static_cast<std::uint8_t>(options.policy),
                                       path.own_device)),
        options_(options),
        fits_fast_path_(options.policy != MatchingPolicy::user && options.engine < kMatchingEngines &&
                        options.message_class == MessageClass::normal && !options.synchronous &&
                        options.handle == nullptr),
        fits_(fits_fast_path_ && bytes.size() <= detail::kSlotPayload - detail::kMatchTrailer),
        fits_in_order_(options.engine >= kMatchingEngines && tag != any_tag &&
                       options.policy == MatchingPolicy::rank_and_tag &&
                       options.message_class == MessageClass::normal && !options.synchronous &&
                       options.handle == nullptr),
        needs_signal_(detail::needs_signal(options)),
        peer_(peer),
        device_(&device),
        path_(&path) {
    detail::Preparation::check_send(device, peer, bytes, options);
    renew_lane();
  }

  Status start() {
    const detail::EndpointEntry<Locking> entry(*device_, "start");
    detail::SendLane* lane = lane_.get(fits_, *path_, peer_, options_.device);
    if (lane != nullptr && detail::try_post_matched_slot<Locking>(*lane, tag_, bytes_, trailer_)) [[likely]]
      return ended();
    return start_slow();
  }

 private:
  [[nodiscard]] Status ended() const noexcept {
    if (!needs_signal_) [[likely]]
      return Status::done();
    return detail::complete_immediately(*device_, Operation::send, peer_, tag_, bytes_, options_);
  }
  void renew_lane() noexcept { lane_.renew(fits_, *path_, peer_, options_.device); }
  [[gnu::cold, gnu::noinline]] Status start_slow() {
    using Calls = detail::MatchedCalls<Locking>;
    if (fits_fast_path_ && !fits_ &&
        Calls::post_multi_slot_send(*device_, detail::peer_and_device(peer_, options_.device), tag_,
                                    bytes_.data(), bytes_.size(), trailer_))
      return ended();
    if (fits_in_order_ && start_in_order()) return ended();
    if (options_.handle != nullptr) *options_.handle = SendHandle();
    const Status status = Calls::post_send(*device_, peer_, tag_, bytes_, options_);
    renew_lane();
    return status;
  }
  /// Fast path of a send to an ordered engine.
  [[nodiscard]] bool start_in_order() noexcept {
    using Calls = detail::MatchedCalls<Locking>;
    if (bytes_.size() > detail::kSlotPayload - detail::kMatchTrailer)
      return Calls::post_ordered_multi_slot_send(*device_, detail::peer_and_device(peer_, options_.device),
                                                 tag_, bytes_.data(), bytes_.size(), trailer_);
    detail::SendLane* const lane = path_->lane(peer_, options_.device, detail::DevicePath::kFirstColumn);
    return lane != nullptr &&
           detail::post_ordered_slot<Locking>(*lane, tag_, bytes_, trailer_, options_.engine);
  }

  detail::PreparedLane<Locking> lane_;
  std::uint64_t tag_;
  Bytes bytes_;
  std::uint64_t trailer_;
  SendOptions options_;
  bool fits_fast_path_;
  bool fits_;
  bool fits_in_order_;  // the fast path of ordered engines applies
  bool needs_signal_;   // see PersistentActiveMessage
  int peer_;
  detail::DeviceState* device_;
  const detail::DevicePath* path_;
};

/// A persistent receive; a completion object is needed. Its buffer has room for one message: start() answers
/// retry(in_flight) while an earlier start has not ended. It ends just before its completion object is
/// signalled, so that a handler may start it again. A receive that is destroyed in flight still ends, as a
/// receive that was not prepared does.
template <class Locking>
class PersistentReceive : public PersistentOperation {
 public:
  PersistentReceive(detail::DeviceState& device, int source, std::uint64_t tag, std::span<std::byte> buffer,
                    const ReceiveOptions& options)
      : match_(detail::Preparation::prepare_receive(device, source, tag, buffer, options)),
        device_(&device),
        ending_(std::make_unique<Ending>(*options.completion)) {
    match_.options.completion = ending_.get();
  }
  PersistentReceive(PersistentReceive&&) noexcept = default;
  PersistentReceive& operator=(PersistentReceive&& other) noexcept {
    const PersistentReceive ended(std::move(*this));
    match_ = other.match_;
    device_ = other.device_;
    ending_ = std::move(other.ending_);
    return *this;
  }
  ~PersistentReceive() {
    if (ending_ != nullptr && ending_->is_in_flight.load(std::memory_order_acquire))
      detail::Preparation::destroy_at_end(*device_, std::move(ending_));
  }

  Status start() {
    const detail::EndpointEntry<Locking> entry(*device_, "start");
    assert(ending_ != nullptr && "a receive that has been moved from");
    // Pairs with the release in signal(): the earlier message no longer writes the buffer.
    if (ending_->is_in_flight.load(std::memory_order_acquire)) [[unlikely]]
      return Status::retry(Reason::in_flight);
    // Set before the post, since a message may end the receive at once.
    ending_->is_in_flight.store(true, std::memory_order_relaxed);
    const Status status = detail::Preparation::start_receive(*device_, match_);
    if (!status.is_posted()) [[unlikely]]
      ending_->is_in_flight.store(false, std::memory_order_relaxed);
    return status;
  }

  /// Returns true while a start has not ended.
  [[nodiscard]] bool is_in_flight() const noexcept {
    return ending_ != nullptr && ending_->is_in_flight.load(std::memory_order_acquire);
  }

 private:
  /// Notes that the receive has ended, and passes the signal on to the completion object of the options.
  struct Ending final : Completion {
    explicit Ending(Completion& to) noexcept : next(&to) {}
    void signal(Message& message) noexcept override {
      Completion* const to = next.get();
      // After this store the operation may be started again, or destroyed together with this object.
      is_in_flight.store(false, std::memory_order_release);
      if (to != nullptr) to->signal(message);
    }
    [[nodiscard]] bool ready() const noexcept override {
      const Completion* const to = next.get();
      return to == nullptr || to->ready();
    }
    detail::CompletionLink next;
    std::atomic<bool> is_in_flight{false};
  };

  detail::PersistentMatch match_;
  detail::DeviceState* device_;
  std::unique_ptr<Ending> ending_;
};

/// The prepare calls of Endpoint and SerialEndpoint, which inherit them. Each call takes the arguments of the
/// post of the same name, checks them (weft::Error), and looks up everything that does not change between
/// starts; nothing is posted. Set-up, not data path; any thread that may post.
template <class Derived, class Locking>
class PreparingOperations {
 public:
  [[nodiscard]] PersistentPut<Locking> prepare_put(int peer, const RemoteAddress& to, Bytes from,
                                                   const AccessOptions& options = {}) {
    return {self().state(), self().path(), peer, to, from, options};
  }
  [[nodiscard]] PersistentGet<Locking> prepare_get(int peer, const RemoteAddress& from,
                                                   std::span<std::byte> to,
                                                   const AccessOptions& options = {}) {
    return {self().state(), self().path(), peer, from, to, options};
  }
  [[nodiscard]] PersistentActiveMessage<Locking> prepare_am(int peer, RemoteCompletion remote, Bytes bytes,
                                                            const ActiveMessageOptions& options = {}) {
    return {self().state(), self().path(), peer, remote, bytes, options};
  }
  [[nodiscard]] PersistentSend<Locking> prepare_send(int peer, std::uint64_t tag, Bytes bytes,
                                                     const SendOptions& options = {}) {
    return {self().state(), self().path(), peer, tag, bytes, options};
  }
  [[nodiscard]] PersistentReceive<Locking> prepare_receive(int source, std::uint64_t tag,
                                                           std::span<std::byte> buffer,
                                                           const ReceiveOptions& options) {
    return {self().state(), source, tag, buffer, options};
  }
  /// In a matching context; see MatchedOperations.
  [[nodiscard]] PersistentSend<Locking> prepare_send(int peer, const ContextTag& tag, Bytes bytes,
                                                     const SendOptions& options = {}) {
    tag.check(self().path().runtime);
    return prepare_send(peer, tag.word(), bytes, detail::in_context(tag, options));
  }
  [[nodiscard]] PersistentReceive<Locking> prepare_receive(int source, const ContextTag& tag,
                                                           std::span<std::byte> buffer,
                                                           const ReceiveOptions& options) {
    tag.check(self().path().runtime);
    return prepare_receive(source, tag.word(), buffer, detail::in_context(tag, options));
  }

 protected:
  ~PreparingOperations() = default;

 private:
  [[nodiscard]] const Derived& self() const noexcept { return *static_cast<const Derived*>(this); }
};

}  // namespace weft
