#include "completions.hpp"

#include <chrono>
#include <thread>
#include <utility>
#include <weft/binding/per_thread.hpp>

#include "network_ends.hpp"
#include "status_queue.hpp"

namespace lci {

namespace {

const char* text_of(weft::Operation operation) noexcept {
  switch (operation) {
    case weft::Operation::active_message:
    case weft::Operation::active_message_sent:
      return "active message";
    case weft::Operation::send:
      return "send";
    case weft::Operation::receive:
      return "receive";
    case weft::Operation::put:
    case weft::Operation::put_arrived:
      return "put";
    case weft::Operation::get:
    case weft::Operation::get_arrived:
      return "get";
    default:
      return "collective operation";
  }
}

comp_attr_t attributes_of(attr_comp_type_t type, void* user_context) {
  comp_attr_t attr = requested_comp_attributes();
  attr.comp_type = type;
  attr.user_context = user_context;
  return attr;
}

struct Registration {
  const runtime_impl_t* runtime;
  rcomp_t rcomp;
  comp_impl_t* object;  // null: it was freed, or there never was one
};
std::mutex registered_mutex;
std::vector<Registration> registered;
std::vector<Registration>::iterator registration_of(const runtime_impl_t& runtime, rcomp_t rcomp) {
  return std::find_if(registered.begin(), registered.end(), [&](const Registration& each) {
    return each.runtime == &runtime && each.rcomp == rcomp;
  });
}

/// Progresses until the object is ready, and signals ends of operations as progress() does.
void await(weft::Synchronizer& synchronizer, endpoint_impl_t& lci_endpoint) {
  struct Wait {
    weft::Synchronizer& synchronizer;
    runtime_impl_t& runtime;
  } const wait{synchronizer, lci_endpoint.runtime};
  const auto is_ready = [](const void* context) noexcept {
    const auto& [awaited, runtime] = *static_cast<const Wait*>(context);
    if (runtime.network_ends->any()) runtime.network_ends->signal_ended(runtime.runtime);
    return awaited.ready();
  };
  static_cast<void>(
      lci_endpoint.endpoint.wait_condition({is_ready, &wait, &synchronizer, {"a synchronizer"}}));
}

/// Of a thread that signals synchronizers: whether it gives way to others, which have to signal as well, or
/// to take the round. A program's threads may spin on words of its own until then, for as long as the kernel
/// lets them, where this library is not asked.
class SignalTurns {
 public:
  /// Returns true for the first signal of the thread in a round: more of them in the same round wait for
  /// nobody.
  [[nodiscard]] bool is_first(const SyncCompletion& sync) noexcept {
    const std::uint32_t round = sync.round();
    if (std::exchange(last_, &sync) == &sync && round_ == round) return false;
    round_ = round;
    return true;
  }
  /// Yields, where other threads have run during the last yields, or once a millisecond to find that out.
  void give_way() noexcept {
    const Clock::time_point before = Clock::now();
    if (shared_ == 0 && before - came_back_ < kTry) return;
    std::this_thread::yield();
    came_back_ = Clock::now();
    shared_ = came_back_ - before > kSwitched ? kEvidence : std::max(shared_ - 1, 0);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kTry{1000};
  static constexpr std::chrono::nanoseconds kSwitched{1000};  // a longer yield has let other threads run
  static constexpr int kEvidence = 4;                         // yields until the core counts as own again

  const SyncCompletion* last_ = nullptr;
  std::uint32_t round_ = 0;
  int shared_ = 0;
  Clock::time_point came_back_{};
};

/// The new object, which delivers as the runtime does that it was allocated with.
template <class Kind, class... More>
comp_t make(const runtime_t& runtime, const comp_attr_t& attr, More... more) {
  auto made = std::make_unique<Kind>(attr, more...);
  if (runtime.p_impl != nullptr || g_runtime != nullptr) bind(*made, runtime_of(runtime));
  return comp_t(static_cast<comp_impl_t*>(made.release()));
}

}  // namespace

errorcode_t Delivery::failed(const weft::Message& message, weft::Outcome outcome) noexcept {
  if (outcome == weft::Outcome::truncated)
    std::fprintf(
        stderr, "lci: receive of tag %llu from rank %d was truncated: %zu bytes came for a buffer of %zu\n",
        static_cast<unsigned long long>(message.tag()), message.peer(), message.length(), message.size());
  else if (outcome != weft::Outcome::cancelled)
    std::fprintf(stderr, "lci: %s with rank %d has ended as %s\n", text_of(message.operation()),
                 message.peer(), weft::name_of(outcome));
  return errorcode_t::fatal;
}

void* Delivery::keep_large(weft::Message& message) const noexcept {
  const std::size_t size = message.size();
  if (message.is_owner()) {
    const weft::Payload payload = message.release();
    if (dynamic_cast<const ObjectPayloads*>(payload.owner) != nullptr) return payload.data;
    void* const copy = copy_of(payload.data, size, message.peer());
    payload.free();
    return copy;
  }
  return copy_of(message.data(), size, message.peer());
}

void* Delivery::copy_of(const std::byte* data, std::size_t size, int rank) const noexcept {
  allocator_base_t& allocator = payloads_ != nullptr ? payloads_->allocator() : g_allocator_default;
  void* const copy = allocator.allocate(size);
  if (copy == nullptr) {
    std::fprintf(stderr, "lci: the allocator has no %zu bytes for an active message from rank %d\n", size,
                 rank);
    std::abort();  // the message was taken over: it would be lost silently
  }
  std::memcpy(copy, data, size);
  return copy;
}

void signal_with(weft::Completion& completion, const status_t& status) {
  weft::Message message(
      weft::MessageFields{.operation = kMadeBySignal,
                          .peer = status.rank,
                          .tag = status.tag,
                          .bytes = {static_cast<const std::byte*>(status.buffer), status.size},
                          .user_data = status.user_context,
                          .device = static_cast<std::uint32_t>(status.error.errorcode)});
  completion.signal(message);
}

void Rcomps::note(weft::RemoteCompletion handle) {
  const auto before = static_cast<std::uint16_t>(handle.generation() - 1);
  if (before == 0 && table_ == nullptr) return;
  if (table_ == nullptr) table_ = std::make_unique<std::atomic<std::uint16_t>[]>(kEnd);
  table_[handle.id()].store(before, std::memory_order_relaxed);
  again_.store(table_.get(), std::memory_order_release);
}
void Rcomps::refuse_number(rcomp_t rcomp) {
  refuse("the number of a remote completion is " + std::to_string(rcomp) + ": it must be " +
         std::to_string(kFirst) + " to " + std::to_string(kEnd - 1));
}

void Registered::add(const runtime_impl_t& runtime, rcomp_t rcomp, comp_impl_t* object) {
  const std::lock_guard lock(registered_mutex);
  if (const auto before = registration_of(runtime, rcomp); before != registered.end())
    before->object = object;
  else
    registered.push_back({&runtime, rcomp, object});
}
void Registered::claim(const runtime_impl_t& runtime, const comp_impl_t& object) {
  const std::lock_guard lock(registered_mutex);
  for (const Registration& each : registered)
    if (each.object == &object && each.runtime != &runtime)
      refuse("register_rcomp: the completion object is registered with another runtime as " +
             std::to_string(each.rcomp));
}
std::optional<comp_impl_t*> Registered::take(const runtime_impl_t& runtime, rcomp_t rcomp) {
  const std::lock_guard lock(registered_mutex);
  const auto found = registration_of(runtime, rcomp);
  if (found == registered.end()) return std::nullopt;
  comp_impl_t* const object = found->object;
  registered.erase(found);
  return object;
}
void Registered::forget(const comp_impl_t& object) noexcept {
  const std::lock_guard lock(registered_mutex);
  for (Registration& each : registered)
    if (each.object == &object) each.object = nullptr;
}
void Registered::forget(const runtime_impl_t& runtime) noexcept {
  const std::lock_guard lock(registered_mutex);
  std::erase_if(registered, [&](const Registration& each) { return each.runtime == &runtime; });
}

comp_impl_t::~comp_impl_t() {
  // The library's own kinds are, or contain, weft's side of them.
  if (attr.comp_type != attr_comp_type_t::custom || completion_ == nullptr) return;
  // Programs also delete objects of their own without free_comp().
  Registered::forget(*this);
  NetworkEnds::forget(*this);
  delete static_cast<weft::Completion*>(completion_);
}

weft::Completion& make_user_completion(comp_impl_t& object) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const std::atomic_ref completion(comp_access_t::completion(object));
  if (void* const made = completion.load(std::memory_order_acquire); made != nullptr)
    return *static_cast<weft::Completion*>(made);
  object.attr.comp_type = attr_comp_type_t::custom;
  weft::Completion* const made = new UserCompletion(object);
  completion.store(made, std::memory_order_release);
  return *made;
}

void bind(comp_impl_t& object, runtime_impl_t& runtime) {
  weft::Completion& completion = *completion_of(comp_t(&object));
  if (object.attr.comp_type == attr_comp_type_t::custom)
    static_cast<UserCompletion&>(completion).payloads().bind(runtime.payloads);
  else
    static_cast<OwnCompletion&>(object).payloads().bind(runtime.payloads);
}

bool SyncCompletion::test(status_t* statuses) {
  if (attr.sync_threshold == 0) return true;
  if (!sync_.test() || is_taken_.test_and_set(std::memory_order_acquire)) return false;
  const bool is_complete = sync_.ready();
  if (is_complete) {
    const Delivery delivery = this->delivery();
    std::size_t at = 0;
    for (weft::Message& message : sync_.messages()) {
      if (statuses != nullptr)
        statuses[at++] = delivery.status_of(message);
      else if (message.outcome() != weft::Outcome::ok)
        Delivery::failed(message, message.outcome());
    }
    round_.fetch_add(1, std::memory_order_relaxed);
    sync_.reset();
  }
  is_taken_.clear(std::memory_order_release);
  return is_complete;
}

void comp_signal_x::call() const {
  if (m_comp.is_empty()) refuse_empty_handle("comp");
  comp_impl_t& object = *m_comp.p_impl;
  SignalTurns* const turns =
      object.attr.comp_type == attr_comp_type_t::sync ? weft::PerThread<SignalTurns>::get() : nullptr;
  // Before the signal: whoever takes the round may free the object.
  const bool gives_way = turns != nullptr && turns->is_first(static_cast<const SyncCompletion&>(object));
  object.signal(m_status);
  if (gives_way) turns->give_way();
}

void free_comp_x::call() const {
  if (m_comp == nullptr || m_comp->is_empty()) refuse_empty_handle("comp");
  comp_impl_t* const object = m_comp->p_impl;
  Registered::forget(*object);
  NetworkEnds::forget(*object);
  // Before the destructor of a program's own class: nothing is to signal an object that is half gone.
  if (void* const completion = comp_access_t::completion(*object); completion != nullptr)
    static_cast<weft::Completion*>(completion)->retire();
  delete object;
  m_comp->set_impl(nullptr);
}

comp_t alloc_sync_x::call() const {
  comp_attr_t attr = attributes_of(attr_comp_type_t::sync, m_user_context);
  attr.sync_threshold = m_threshold.get_value_or(attr.sync_threshold);
  attr.zero_copy_am = m_zero_copy_am.get_value_or(attr.zero_copy_am);
  if (attr.sync_threshold < 0)
    refuse("alloc_sync: the threshold is " + std::to_string(attr.sync_threshold) + ": it must be at least 0");
  return make<SyncCompletion>(m_runtime, attr);
}
comp_t alloc_counter_x::call() const {
  return make<CounterCompletion>(m_runtime, attributes_of(attr_comp_type_t::counter, m_user_context));
}
comp_t alloc_cq_x::call() const {
  comp_attr_t attr = attributes_of(attr_comp_type_t::cq, m_user_context);
  attr.cq_default_length = m_default_length.get_value_or(attr.cq_default_length);
  attr.zero_copy_am = m_zero_copy_am.get_value_or(attr.zero_copy_am);
  attr.cq_type = m_cq_type.get_value_or(attr.cq_type);
  return make<QueueCompletion>(m_runtime, attr);
}
comp_t alloc_handler_x::call() const {
  if (m_handler == nullptr) refuse("alloc_handler: the function is null");
  comp_attr_t attr = attributes_of(attr_comp_type_t::handler, m_user_context);
  attr.zero_copy_am = m_zero_copy_am.get_value_or(attr.zero_copy_am);
  return make<HandlerCompletion>(m_runtime, attr, m_handler);
}

bool sync_test_x::call() const {
  return of_kind<SyncCompletion>(m_comp, attr_comp_type_t::sync, "sync_test").test(m_p_out);
}
void sync_wait_x::call() const {
  auto& sync = of_kind<SyncCompletion>(m_comp, attr_comp_type_t::sync, "sync_wait");
  endpoint_impl_t* const lci_endpoint = m_do_progress ? &endpoint_of(*this) : nullptr;
  while (!sync.test(m_p_out)) {
    if (lci_endpoint != nullptr)
      await(sync.synchronizer(), *lci_endpoint);
    else
      std::this_thread::yield();  // for the threads that progress
  }
}
int64_t counter_get_x::call() const {
  return of_kind<CounterCompletion>(m_comp, attr_comp_type_t::counter, "counter_get").value();
}
void counter_set_x::call() const {
  of_kind<CounterCompletion>(m_comp, attr_comp_type_t::counter, "counter_set").set(m_value);
}
status_t cq_pop(comp_t comp) { return of_kind<QueueCompletion>(comp, attr_comp_type_t::cq, "cq_pop").pop(); }

rcomp_t reserve_rcomps_x::call() const {
  runtime_impl_t& runtime = runtime_of(m_runtime);
  const std::lock_guard lock(runtime.mutex);
  if (m_n > Rcomps::kEnd - runtime.next_rcomp)
    refuse("reserve_rcomps: of " + std::to_string(Rcomps::kEnd - Rcomps::kFirst) + " numbers " +
           std::to_string(Rcomps::kEnd - runtime.next_rcomp) + " are left, which is less than " +
           std::to_string(m_n));
  const rcomp_t first = runtime.next_rcomp;
  runtime.next_rcomp += m_n;
  return first;
}

rcomp_t register_rcomp_x::call() const {
  runtime_impl_t& runtime = runtime_of(m_runtime);
  if (m_rcomp >= Rcomps::kEnd) Rcomps::refuse_number(m_rcomp);
  if (!m_comp.is_empty()) {
    Registered::claim(runtime, *m_comp.p_impl);
    bind(*m_comp.p_impl, runtime);
  }
  const rcomp_t number = m_rcomp != 0 ? m_rcomp : reserve_rcomps_x(1).runtime(runtime_t(&runtime))();
  const std::lock_guard lock(runtime.mutex);
  if (!m_comp.is_empty()) runtime.rcomps.note(runtime.runtime.expose(*completion_of(m_comp), {.id = number}));
  Registered::add(runtime, number, m_comp.is_empty() ? nullptr : m_comp.p_impl);
  return number;
}

void deregister_rcomp_x::call() const {
  const runtime_impl_t& runtime = runtime_of(m_runtime);
  const std::optional<comp_impl_t*> object = Registered::take(runtime, m_rcomp);
  if (!object) refuse("deregister_rcomp: " + std::to_string(m_rcomp) + " is not registered");
  if (*object != nullptr) completion_of(comp_t(*object))->withdraw(runtime.rcomps.handle(m_rcomp, 0));
}

}  // namespace lci
