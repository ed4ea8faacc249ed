// Channels: values between two ranks, each with a number, which may come before somebody asks for it.
#pragma once

#include <weft/parcel/runtime.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <typeindex>
#include <unordered_map>
#include <utility>

namespace weft::parcel {

namespace detail {

/// What a channel of any type does.
class ChannelBase {
 public:
  explicit ChannelBase(std::type_index element) noexcept : element_(element) {}
  virtual ~ChannelBase() = default;
  virtual void fail(int rank) = 0;
  /// The runtime ends: nothing comes any more.
  virtual void end(const std::exception_ptr& why) = 0;
  /// Whether a get() waits whose future has this state, and for which value. For explanations.
  [[nodiscard]] virtual bool has_waiting(const void* state, std::uint64_t& generation) = 0;
  [[nodiscard]] std::type_index element() const noexcept { return element_; }

 private:
  std::type_index element_;
};

/// The channel with this number, made by whoever asks first. Any thread.
[[nodiscard]] WEFT_API std::shared_ptr<ChannelBase> find_channel(Core& core, std::uint64_t id,
                                                                 std::shared_ptr<ChannelBase> (*make)());
WEFT_API void forget_channel(Core& core, std::uint64_t id) noexcept;
[[nodiscard]] WEFT_API bool rank_has_failed(const Core& core, int rank) noexcept;

template <class T>
class ChannelState final : public ChannelBase {
 public:
  ChannelState() : ChannelBase(typeid(T)) {}

  static std::shared_ptr<ChannelState> find(Core& core, std::uint64_t id) {
    auto found = find_channel(
        core, id, []() -> std::shared_ptr<ChannelBase> { return std::make_shared<ChannelState>(); });
    if (found->element() != typeid(T))
      throw Error("channel " + std::to_string(id) + " holds values of another type than the one asked for");
    return std::static_pointer_cast<ChannelState>(found);
  }

  void set(std::uint64_t generation, T value) {
    std::unique_lock lock(mutex_);
    if (const auto waiting = waiting_.find(generation); waiting != waiting_.end()) {
      Promise<T> promise = std::move(waiting->second);
      waiting_.erase(waiting);
      lock.unlock();
      promise.set(std::move(value));
    } else if (!values_.emplace(generation, std::move(value)).second) {
      throw Error("a channel was given generation " + std::to_string(generation) + " twice");
    }
  }
  Future<T> get(std::uint64_t generation, Scheduler& scheduler) {
    Promise<T> promise(&scheduler);
    Future<T> future = promise.future();
    std::unique_lock lock(mutex_);
    if (const auto value = values_.find(generation); value != values_.end()) {
      promise.set(std::move(value->second));
      values_.erase(value);
    } else if (failed_ >= 0 && failed_ == source_) {
      promise.set_exception(std::make_exception_ptr(PeerFailed(failed_)));
    } else if (!waiting_.emplace(generation, std::move(promise)).second) {
      throw Error("generation " + std::to_string(generation) + " of a channel was asked for twice");
    }
    return future;
  }
  void set_source(Core& core, int source) {
    std::unique_lock lock(mutex_);
    source_ = source;
    lock.unlock();
    if (source >= 0 && rank_has_failed(core, source)) fail(source);
  }
  [[nodiscard]] bool has_waiting(const void* state, std::uint64_t& generation) override {
    const std::unique_lock lock(mutex_);
    for (const auto& [waited, promise] : waiting_) {
      generation = waited;
      if (promise.is_of(state)) return true;
    }
    return false;
  }
  void fail(int rank) override {
    std::unique_lock lock(mutex_);
    if (rank != source_) return;
    failed_ = rank;
    auto ended = std::exchange(waiting_, {});
    lock.unlock();
    for (auto& [generation, promise] : ended)
      promise.set_exception(std::make_exception_ptr(PeerFailed(rank)));
  }
  void end(const std::exception_ptr& why) override {
    std::unique_lock lock(mutex_);
    auto ended = std::exchange(waiting_, {});
    lock.unlock();
    for (auto& [generation, promise] : ended) promise.set_exception(why);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, T> values_;
  std::unordered_map<std::uint64_t, Promise<T>> waiting_;
  int source_ = -1;
  int failed_ = -1;
};

template <class T>
struct SetChannel {
  void operator()(Runtime& runtime, std::uint64_t id, std::uint64_t generation, T value) const {
    ChannelState<T>::find(runtime.core(), id)->set(generation, std::move(value));
  }
};

}  // namespace detail

/// The receiving end of a channel. `id` is its number on this rank, chosen by the program, the same at both
/// ends. Any thread.
template <class T>
class Channel {
 public:
  static constexpr int kAnySource = -1;
  /// `source`: the rank that sends; when it fails, pending get()s end with PeerFailed. kAnySource: they wait.
  Channel(Runtime& runtime, std::uint64_t id, int source = kAnySource)
      : link_(runtime.link()), id_(id), state_(detail::ChannelState<T>::find(runtime.core(), id)) {
    state_->set_source(runtime.core(), source);
  }
  ~Channel() {
    const detail::RuntimeUse use(*link_);
    if (use) detail::forget_channel(use.get("").core(), id_);
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// The value with this number, which each may be asked for once. weft::Error otherwise.
  Future<T> get(std::uint64_t generation) {
    const detail::RuntimeUse use(*link_);
    return state_->get(generation, use.get("a channel was asked for a value").scheduler());
  }
  /// Gives a value from this rank.
  void set(std::uint64_t generation, T value) { state_->set(generation, std::move(value)); }

 private:
  std::shared_ptr<detail::RuntimeLink> link_;
  std::uint64_t id_;
  std::shared_ptr<detail::ChannelState<T>> state_;
};

/// The sending end: gives values to the channel `id` of a rank, which need not exist yet. Any thread.
template <class T>
class ChannelTo {
 public:
  ChannelTo(Runtime& runtime, int rank, std::uint64_t id) : link_(runtime.link()), rank_(rank), id_(id) {
    detail::check_rank(runtime.core(), rank);
  }
  void set(std::uint64_t generation, T value) {
    const detail::RuntimeUse use(*link_);
    use.get("a channel was given a value")
        .apply(rank_, detail::SetChannel<T>{}, id_, generation, std::move(value));
  }

 private:
  std::shared_ptr<detail::RuntimeLink> link_;
  int rank_;
  std::uint64_t id_;
};

}  // namespace weft::parcel
