#include "completions.hpp"

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
  const global_attr_t process = get_g_default_attr();
  comp_attr_t attr;
  attr.comp_type = type;
  attr.sync_threshold = process.sync_threshold;
  attr.zero_copy_am = process.zero_copy_am;
  attr.cq_type = process.cq_type;
  attr.cq_default_length = process.cq_default_length;
  attr.user_context = user_context;
  return attr;
}

struct Registration {
  runtime_impl_t* runtime;
  rcomp_t rcomp;
  comp_impl_t* object;
};
std::mutex registered_mutex;
std::vector<Registration> registered;

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
  allocator_base_t& allocator = runtime_ != nullptr ? runtime_->payloads.allocator() : g_allocator_default;
  if (runtime_ != nullptr && message.size() > runtime_->packet_bytes && message.is_owner()) {
    const weft::Payload payload = message.release();
    if (payload.owner == &runtime_->payloads) return payload.data;
    void* const copy = allocator.allocate(payload.size);
    if (copy != nullptr) std::memcpy(copy, payload.data, payload.size);
    payload.free();
    return copy;
  }
  void* const copy = allocator.allocate(message.size());
  if (copy == nullptr) {
    std::fprintf(stderr, "lci: the allocator has no %zu bytes for an active message from rank %d\n",
                 message.size(), message.peer());
    std::abort();  // the message was taken over: it would be lost silently
  }
  std::memcpy(copy, message.data(), message.size());
  return copy;
}

void* Delivery::packet() const noexcept { return runtime_->held.take(runtime_->runtime); }

void signal_with(weft::Completion& completion, const status_t& status) {
  weft::Message message(
      weft::MessageFields{.operation = weft::Operation::send,
                          .peer = status.rank,
                          .tag = status.tag,
                          .bytes = {static_cast<const std::byte*>(status.buffer), status.size},
                          .user_data = status.user_context});
  completion.signal(message);
}

void Registered::add(runtime_impl_t& runtime, rcomp_t rcomp, comp_impl_t& object) {
  const std::lock_guard lock(registered_mutex);
  registered.push_back({&runtime, rcomp, &object});
}
comp_impl_t* Registered::take(const runtime_impl_t& runtime, rcomp_t rcomp) {
  const std::lock_guard lock(registered_mutex);
  const auto found = std::find_if(registered.begin(), registered.end(), [&](const Registration& each) {
    return each.runtime == &runtime && each.rcomp == rcomp;
  });
  if (found == registered.end()) return nullptr;
  comp_impl_t* const object = found->object;
  registered.erase(found);
  return object;
}
void Registered::forget(const comp_impl_t& object) noexcept {
  const std::lock_guard lock(registered_mutex);
  std::erase_if(registered, [&](const Registration& each) { return each.object == &object; });
}
void Registered::forget(const runtime_impl_t& runtime) noexcept {
  const std::lock_guard lock(registered_mutex);
  std::erase_if(registered, [&](const Registration& each) { return each.runtime == &runtime; });
}

comp_impl_t::~comp_impl_t() {
  // The library's own kinds are, or contain, weft's side of them.
  if (attr.comp_type == attr_comp_type_t::custom) delete static_cast<weft::Completion*>(completion_);
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
    static_cast<UserCompletion&>(completion).bind(runtime);
  else
    static_cast<OwnCompletion&>(object).bind(runtime, completion);
}

bool SyncCompletion::test(status_t* statuses) {
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
    sync_.reset();
  }
  is_taken_.clear(std::memory_order_release);
  return is_complete;
}

void free_comp_x::call() const {
  if (m_comp == nullptr || m_comp->is_empty()) refuse_empty_handle("comp");
  comp_impl_t* const object = m_comp->p_impl;
  Registered::forget(*object);
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
  if (attr.sync_threshold < 1)
    refuse("alloc_sync: the threshold is " + std::to_string(attr.sync_threshold) + ": it must be at least 1");
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
  weft::Endpoint* const endpoint = m_do_progress ? &endpoint_of(*this).endpoint : nullptr;
  while (!sync.test(m_p_out))
    if (endpoint != nullptr) endpoint->wait_ready(sync.synchronizer());
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
  if (m_n > Rcomp::kEnd - runtime.next_rcomp)
    refuse("reserve_rcomps: of " + std::to_string(Rcomp::kEnd - Rcomp::kFirst) + " numbers " +
           std::to_string(Rcomp::kEnd - runtime.next_rcomp) + " are left, which is less than " +
           std::to_string(m_n));
  const rcomp_t first = runtime.next_rcomp;
  runtime.next_rcomp += m_n;
  return first;
}

rcomp_t register_rcomp_x::call() const {
  if (m_comp.is_empty()) refuse_empty_handle("comp");
  runtime_impl_t& runtime = runtime_of(m_runtime);
  bind(*m_comp.p_impl, runtime);
  const rcomp_t number = m_rcomp != 0 ? m_rcomp : reserve_rcomps_x(1).runtime(runtime_t(&runtime))();
  const weft::RemoteCompletion handle =
      runtime.runtime.expose(*completion_of(m_comp), {.id = Rcomp::handle(number, 0).id()});
  Registered::add(runtime, Rcomp::of(handle), *m_comp.p_impl);
  return Rcomp::of(handle);
}

void deregister_rcomp_x::call() const {
  comp_impl_t* const object = Registered::take(runtime_of(m_runtime), m_rcomp);
  if (object == nullptr) refuse("deregister_rcomp: " + std::to_string(m_rcomp) + " is not registered");
  completion_of(comp_t(object))->withdraw(Rcomp::handle(m_rcomp, 0));
}

}  // namespace lci
