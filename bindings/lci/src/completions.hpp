// Completion objects of the kinds that LCI has, and weft's side of those of programs.
#pragma once

#include <algorithm>
#include <optional>

#include "delivery.hpp"
#include "objects.hpp"

namespace lci {

/// The private part of comp_impl_t.
struct comp_access_t {
  [[nodiscard]] static void*& completion(comp_impl_t& object) noexcept { return object.completion_; }
};

/// A completion object of the library's own kinds.
class OwnCompletion : public comp_impl_t {
 public:
  using comp_impl_t::comp_impl_t;
  [[nodiscard]] ObjectPayloads& payloads() noexcept { return payloads_; }

 protected:
  /// `completion`: weft's side of the object, which lives as long as this.
  void attach(weft::Completion& completion) {
    comp_access_t::completion(*this) = &completion;
    completion.set_allocator(payloads_);
  }
  [[nodiscard]] Delivery delivery() const noexcept { return {payloads_.of_runtime(), attr.zero_copy_am}; }
  [[nodiscard]] std::size_t packets_at_rest() const noexcept { return payloads_.packets_at_rest(); }

 private:
  ObjectPayloads payloads_;
};

/// Weft's side of an object that a program has derived from comp_impl_t.
class UserCompletion final : public weft::Completion {
 public:
  explicit UserCompletion(comp_impl_t& user) : user_(user) { set_allocator(payloads_); }
  ~UserCompletion() override { retire(); }
  [[nodiscard]] ObjectPayloads& payloads() noexcept { return payloads_; }
  void signal(weft::Message& message) noexcept override {
    user_.signal(Delivery{payloads_.of_runtime(), user_.attr.zero_copy_am}.status_of(message));
    notify_waiters();
  }
  [[nodiscard]] bool ready() const noexcept override { return true; }

 private:
  comp_impl_t& user_;
  ObjectPayloads payloads_;
};

/// Makes weft's side of a program's own object.
[[nodiscard]] weft::Completion& make_user_completion(comp_impl_t& object);

/// The object that weft signals for a completion object, which is not null.
[[nodiscard]] inline weft::Completion* completion_of(const comp_t& comp) {
  void* const made = std::atomic_ref(comp_access_t::completion(*comp.p_impl)).load(std::memory_order_acquire);
  if (made != nullptr) [[likely]]
    return static_cast<weft::Completion*>(made);
  return &make_user_completion(*comp.p_impl);
}
/// What numbers of remote completions stand for, of all runtimes: objects and runtimes are freed in any
/// order.
class Registered {
 public:
  /// `object`: null for a number that is to stand for none.
  static void add(const runtime_impl_t& runtime, rcomp_t rcomp, comp_impl_t* object);
  /// Throws std::runtime_error when the object is registered with another runtime.
  static void claim(const runtime_impl_t& runtime, const comp_impl_t& object);
  /// Removes the number, and returns its object: null when that was freed. None: it is not registered.
  [[nodiscard]] static std::optional<comp_impl_t*> take(const runtime_impl_t& runtime, rcomp_t rcomp);
  /// Its numbers stay registered: programs also deregister them after they have freed the object.
  static void forget(const comp_impl_t& object) noexcept;
  static void forget(const runtime_impl_t& runtime) noexcept;
};

/// Makes the object deliver into the allocator and packets of the runtime, from which alone it may receive
/// active messages from now on.
void bind(comp_impl_t& object, runtime_impl_t& runtime);

class HandlerCompletion final : public OwnCompletion, public weft::Completion {
 public:
  HandlerCompletion(const comp_attr_t& attributes, comp_handler_t function)
      : OwnCompletion(attributes), function_(function) {
    attach(*this);
  }
  ~HandlerCompletion() override { retire(); }
  void signal(status_t status) override { function_(status); }
  void signal(weft::Message& message) noexcept override { function_(delivery().status_of(message)); }
  void signal_batch(weft::Arrivals& arrivals) noexcept override {
    attr.zero_copy_am ? take<true>(arrivals, delivery()) : take<false>(arrivals, delivery());
  }
  [[nodiscard]] bool ready() const noexcept override { return true; }

 private:
  /// A function of its own for each storage of the payloads: together they would keep messages in memory.
  template <bool kIntoPackets>
  [[gnu::noinline]] void take(weft::Arrivals& arrivals, Delivery delivery) const noexcept {
    // The message need not exist in memory: its address goes nowhere.
    arrivals.for_each([ function = function_,
                        delivery ](weft::Message & message) __attribute__((always_inline)) {
      function(make_status(errorcode_t::done, message.peer(),
                           delivery.own_copy<kIntoPackets>(message.peer(), message.data(), message.size()),
                           message.size(), message.tag(), nullptr));
    });
  }

  const comp_handler_t function_;
};

class SyncCompletion final : public OwnCompletion {
 public:
  explicit SyncCompletion(const comp_attr_t& attributes)
      : OwnCompletion(attributes), sync_(static_cast<std::uint32_t>(std::max(attributes.sync_threshold, 1))) {
    attach(sync_);
  }
  void signal(status_t status) override { signal_with(sync_, status); }
  /// Any thread: one of those that find the round complete takes it.
  [[nodiscard]] bool test(status_t* statuses);
  [[nodiscard]] weft::Synchronizer& synchronizer() noexcept { return sync_; }
  /// The number of rounds that have been taken. Any thread.
  [[nodiscard]] std::uint32_t round() const noexcept { return round_.load(std::memory_order_relaxed); }

 private:
  weft::Synchronizer sync_;
  std::atomic<std::uint32_t> round_{0};
  std::atomic_flag is_taken_ = ATOMIC_FLAG_INIT;
};

class CounterCompletion final : public OwnCompletion {
 public:
  explicit CounterCompletion(const comp_attr_t& attributes) : OwnCompletion(attributes) { attach(counter_); }
  void signal(status_t) override { counter_.signal_count(1); }
  [[nodiscard]] std::int64_t value() const noexcept {
    return static_cast<std::int64_t>(counter_.value()) + offset_.load(std::memory_order_relaxed);
  }
  void set(std::int64_t value) noexcept {
    offset_.store(value - static_cast<std::int64_t>(counter_.value()), std::memory_order_relaxed);
  }

 private:
  weft::Counter counter_;
  std::atomic<std::int64_t> offset_{0};
};

/// The object behind a handle, of the kind that an operation needs; throws std::runtime_error for another
/// kind.
template <class Kind>
[[nodiscard]] Kind& of_kind(const comp_t& comp, attr_comp_type_t type, const char* operation) {
  if (comp.is_empty()) [[unlikely]]
    refuse_empty_handle("comp");
  if (comp.p_impl->attr.comp_type != type) [[unlikely]]
    refuse(std::string(operation) + ": the completion object is of another kind");
  return static_cast<Kind&>(*comp.p_impl);
}

}  // namespace lci
