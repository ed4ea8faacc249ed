// Posts, and progress.
#include "completions.hpp"
#include "graphs.hpp"
#include "objects.hpp"

namespace lci {

namespace {

errorcode_t code_of(weft::Reason reason) noexcept {
  switch (reason) {
    case weft::Reason::no_slot:
      return errorcode_t::retry_nomem;
    case weft::Reason::no_packet:
      return errorcode_t::retry_nopacket;
    case weft::Reason::lock_contended:
      return errorcode_t::retry_lock;
    case weft::Reason::backlog:
      return errorcode_t::retry_backlog;
    default:
      return errorcode_t::retry;
  }
}

/// What the completion object and the arguments allow_... of a post mean for weft's post.
struct Mode {
  weft::Completion* completion = nullptr;  // null: the operation ends before the post returns
  bool may_retry = true;
  bool may_be_done = true;
};

Mode mode_of(const comp_t& comp, bool allow_done, bool allow_posted, bool allow_retry) {
  if (comp == COMP_NULL) return {.may_retry = false};
  if (comp == COMP_NULL_RETRY || !allow_posted) return {.may_retry = allow_retry};
  return {.completion = completion_of(comp), .may_retry = allow_retry, .may_be_done = allow_done};
}
/// Whether an operation may answer done. Not when the network has to be done with it: that is never during a
/// post.
template <class Post>
bool may_be_done(const Post& post) {
  if constexpr (requires { post.m_comp_semantic; })
    return post.m_allow_done && post.m_comp_semantic != comp_semantic_t::network;
  else
    return post.m_allow_done;
}
template <class Post>
Mode mode_of(const Post& post) {
  return mode_of(post.m_local_comp, may_be_done(post), post.m_allow_posted, post.m_allow_retry);
}

struct Fields {
  int rank;
  void* buffer;
  std::size_t size;
  tag_t tag;
  void* user_context;
};
template <class Post>
Fields fields_of(const Post& post) {
  return {post.m_rank, post.m_local_buffer, post.m_size, post.m_tag, post.m_user_context};
}

[[gnu::always_inline]] inline status_t status_with(errorcode_t code, const Fields& fields) {
  return make_status(code, fields.rank, fields.buffer, fields.size, fields.tag, fields.user_context);
}
status_t status_with(weft::Status answer, const Fields& fields) {
  if (answer.is_done()) return status_with(errorcode_t::done, fields);
  return status_with(answer.is_posted() ? errorcode_t::posted : code_of(answer.reason()), fields);
}
/// Of an operation without a completion object that has ended.
status_t status_with(weft::Outcome outcome, const Fields& fields, const char* operation) {
  if (outcome == weft::Outcome::ok) return status_with(errorcode_t::done, fields);
  std::fprintf(stderr, "lci: %s of %zu bytes with rank %d has ended as %s\n", operation, fields.size,
               fields.rank, weft::name_of(outcome));
  return status_with(errorcode_t::fatal, fields);
}

std::uint32_t short_tag(tag_t tag, const char* operation) {
  if (tag > UINT32_MAX) [[unlikely]]
    refuse(std::string(operation) + ": the tag is " + std::to_string(tag) + ": at most 4294967295 (max_tag)");
  return static_cast<std::uint32_t>(tag);
}

weft::Bytes bytes_of(const Fields& fields) noexcept {
  return {static_cast<const std::byte*>(fields.buffer), fields.size};
}

/// The packet that begins at the address of a post, or an empty one.
weft::Packet packet_at(runtime_impl_t& runtime, const void* address) noexcept {
  return runtime.payloads.may_hold(address) ? runtime.runtime.packet_of(address) : weft::Packet();
}

/// The last step of posting a packet, which stays the program's when the answer is retry.
template <class Post>
weft::Status post_packet(weft::Packet& packet, const Post& post) {
  try {
    const weft::Status answer = post(std::move(packet));
    packet.release();
    return answer;
  } catch (...) {
    packet.release();
    throw;
  }
}

/// Waits, as posts without a completion object do: for an operation that was posted with it.
class Ended final : public weft::Completion {
 public:
  ~Ended() override { retire(); }
  void signal(weft::Message& message) noexcept override {
    if (message.outcome() == weft::Outcome::timed_out)  // of a receive that was to take what has arrived
      status = errorcode_t::retry;
    else
      status = Delivery(nullptr, false).status_of(message);
    is_ready_.store(true, std::memory_order_release);
    notify_waiters_of(this);
  }
  [[nodiscard]] bool ready() const noexcept override { return is_ready_.load(std::memory_order_acquire); }
  status_t status;

 private:
  std::atomic<bool> is_ready_{false};
};

/// An operation that has to end before the call returns. `post` takes the completion object.
template <class Post>
status_t post_and_wait(weft::Endpoint& endpoint, const Fields& fields, const Post& post,
                       bool may_retry = false) {
  Ended ended;
  for (;;) {
    const weft::Status answer = post(ended);
    if (answer.is_done()) return status_with(errorcode_t::done, fields);
    if (answer.is_posted()) break;
    if (may_retry) return status_with(answer, fields);
    endpoint.progress();
  }
  endpoint.wait_ready(ended);
  ended.status.user_context = fields.user_context;
  return ended.status;
}

/// Any post of an active message. A function of its own, so that the fast path below saves no registers for
/// it.
[[gnu::noinline]] status_t post_am_with(endpoint_impl_t& place, const Fields& fields, rcomp_t remote,
                                        const Mode& mode) {
  const weft::ActiveMessageOptions options{.completion = mode.completion,
                                           .user_data = fields.user_context,
                                           .tag = short_tag(fields.tag, "post_am"),
                                           .may_retry = mode.may_retry || mode.completion == nullptr,
                                           .may_complete_now = mode.may_be_done};
  const weft::RemoteCompletion handle = place.rcomps.handle(remote, place.index);
  weft::Endpoint& endpoint = place.endpoint;
  if (weft::Packet packet = packet_at(place.runtime, fields.buffer)) {
    for (;;) {
      const weft::Status answer = post_packet(packet, [&](weft::Packet&& taken) {
        return endpoint.post_am(fields.rank, handle, std::move(taken), fields.size, options);
      });
      if (answer.is_accepted() && mode.completion == nullptr) return status_with(errorcode_t::done, fields);
      if (answer.is_accepted() || mode.may_retry) return status_with(answer, fields);
      endpoint.progress();
      packet = place.runtime.runtime.packet_of(fields.buffer);
    }
  }
  const weft::Status answer = endpoint.post_am(fields.rank, handle, bytes_of(fields), options);
  if (mode.completion != nullptr || answer.is_done()) return status_with(answer, fields);
  // Its payload was copied.
  if (answer.is_posted()) return status_with(errorcode_t::done, fields);
  if (mode.may_retry) return status_with(answer, fields);
  return status_with(endpoint.send_am(fields.rank, handle, bytes_of(fields), options), fields, "post_am");
}

[[gnu::noinline]] status_t post_am_with(endpoint_impl_t& place, const post_am_x& post) {
  return post_am_with(place, fields_of(post), post.m_remote_comp, mode_of(post));
}

/// Fast path of post_am without a completion object. Returns false, without effect, when it does not apply.
[[gnu::always_inline]] inline bool try_post_am(endpoint_impl_t& place, int rank, void* buffer,
                                               std::size_t size, const comp_t& comp, rcomp_t remote,
                                               std::uint32_t tag) {
  if (!comp.is_empty() || place.payloads.may_hold(buffer)) return false;
  const weft::RemoteCompletion handle = place.rcomps.handle(remote, place.index);
  const auto* const bytes = static_cast<const std::byte*>(buffer);
  const weft::ActiveMessageOptions options{.tag = tag, .may_complete_now = true};
  // The compiler copies a word by itself.
  if (size == sizeof(std::uint64_t))
    return place.endpoint.post_am(rank, handle, {bytes, sizeof(std::uint64_t)}, options).is_accepted();
  return place.endpoint.post_am(rank, handle, {bytes, size}, options).is_accepted();
}

weft::MatchingPolicy policy_of(matching_policy_t policy) {
  switch (policy) {
    case matching_policy_t::none:
      return weft::MatchingPolicy::any;
    case matching_policy_t::rank_only:
      return weft::MatchingPolicy::rank_only;
    case matching_policy_t::tag_only:
      return weft::MatchingPolicy::tag_only;
    case matching_policy_t::rank_tag:
      return weft::MatchingPolicy::rank_and_tag;
    case matching_policy_t::max:
      break;
  }
  refuse("matching_policy is " + std::to_string(static_cast<unsigned>(policy)) +
         ": it must be none, rank_only, tag_only or rank_tag");
}

std::uint16_t engine_of(const matching_engine_t& engine) {
  return engine.p_impl != nullptr ? engine.p_impl->id : std::uint16_t{0};
}

weft::RemoteAddress address_of(const rmr_t& key, std::uintptr_t displacement, const char* operation) {
  if (key.opaque_rkey == 0) [[unlikely]]
    refuse(std::string(operation) + ": rmr is empty: it must come from get_rmr() of the peer");
  weft::RemoteRegion region;
  std::memcpy(&region, key.opaque_region, sizeof region);
  return region.at(key.base - key.mr_base + displacement);
}

template <class Post>
weft::AccessOptions access_of(const Post& post, const endpoint_impl_t& place, const Mode& mode,
                              const char* operation) {
  return {.completion = mode.completion,
          .user_data = post.m_user_context,
          .signal = post.m_remote_comp != 0 ? place.rcomps.handle(post.m_remote_comp, place.index)
                                            : weft::RemoteCompletion(),
          .tag = short_tag(post.m_tag, operation),
          .device = place.index,
          .may_retry = mode.may_retry,
          .may_complete_now = mode.may_be_done};
}

/// Copies the arguments that a post has in common with the general one.
template <class Post>
void copy_common(const post_comm_x& from, Post& to) {
  to.m_runtime = from.m_runtime;
  to.m_device = from.m_device;
  to.m_endpoint = from.m_endpoint;
  to.m_user_context = from.m_user_context;
  to.m_tag = from.m_tag;
  to.m_allow_done = from.m_allow_done;
  to.m_allow_posted = from.m_allow_posted;
  to.m_allow_retry = from.m_allow_retry;
}

error_t progress_on(endpoint_impl_t& place) {
  const bool has_moved = place.endpoint.progress() != 0;
  if (RefusedNodes::any()) [[unlikely]]
    RefusedNodes::run_again();
  if (place.runtime.failed.ready()) [[unlikely]]
    place.runtime.failed.throw_next();
  return has_moved ? errorcode_t::done : errorcode_t::retry;
}

}  // namespace

status_t post_am(int rank, void* local_buffer, size_t size, comp_t local_comp, rcomp_t remote_comp) {
  endpoint_impl_t& place = default_endpoint(runtime_of({}));
  if (try_post_am(place, rank, local_buffer, size, local_comp, remote_comp, 0)) [[likely]]
    return status_with(errorcode_t::done, {rank, local_buffer, size, 0, nullptr});
  return post_am_with(place, {rank, local_buffer, size, 0, nullptr}, remote_comp,
                      mode_of(local_comp, true, true, true));
}
status_t post_am_x::call() const {
  endpoint_impl_t& place = endpoint_of(*this);
  if (m_tag <= UINT32_MAX && try_post_am(place, m_rank, m_local_buffer, m_size, m_local_comp, m_remote_comp,
                                         static_cast<std::uint32_t>(m_tag))) [[likely]]
    return status_with(errorcode_t::done, fields_of(*this));
  return post_am_with(place, *this);
}

status_t post_send_x::call() const {
  endpoint_impl_t& place = endpoint_of(*this);
  weft::Endpoint& endpoint = place.endpoint;
  const Fields fields = fields_of(*this);
  const Mode mode = mode_of(*this);
  const weft::SendOptions options{.completion = mode.completion,
                                  .user_data = m_user_context,
                                  .policy = policy_of(m_matching_policy),
                                  .engine = engine_of(m_matching_engine),
                                  .device = place.index,
                                  .may_retry = mode.may_retry || mode.completion == nullptr,
                                  .may_complete_now = mode.may_be_done};
  if (weft::Packet packet = packet_at(place.runtime, m_local_buffer)) {
    for (;;) {
      const weft::Status answer = post_packet(packet, [&](weft::Packet&& taken) {
        return endpoint.post_send(m_rank, m_tag, std::move(taken), m_size, options);
      });
      if (answer.is_accepted() && mode.completion == nullptr) return status_with(errorcode_t::done, fields);
      if (answer.is_accepted() || mode.may_retry) return status_with(answer, fields);
      endpoint.progress();
      packet = place.runtime.runtime.packet_of(m_local_buffer);
    }
  }
  const weft::Status answer = endpoint.post_send(m_rank, m_tag, bytes_of(fields), options);
  if (mode.completion != nullptr || answer.is_done()) return status_with(answer, fields);
  if (answer.is_posted()) return status_with(errorcode_t::done, fields);
  if (mode.may_retry) return status_with(answer, fields);
  return status_with(endpoint.send(m_rank, m_tag, bytes_of(fields), options), fields, "post_send");
}

status_t post_recv_x::call() const {
  endpoint_impl_t& place = endpoint_of(*this);
  const Fields fields = fields_of(*this);
  const Mode mode = mode_of(*this);
  matching_policy_t policy = m_matching_policy;
  if (m_rank == ANY_SOURCE)
    policy = m_tag == ANY_TAG ? matching_policy_t::none : matching_policy_t::tag_only;
  else if (m_tag == ANY_TAG)
    policy = matching_policy_t::rank_only;
  weft::Message arrived;
  weft::ReceiveOptions options{.completion = mode.completion,
                               .user_data = m_user_context,
                               .policy = policy_of(policy),
                               .engine = engine_of(m_matching_engine),
                               .may_retry = mode.may_retry,
                               .may_complete_now = mode.may_be_done,
                               .arrived = &arrived};
  const std::span<std::byte> buffer(static_cast<std::byte*>(m_local_buffer), m_size);
  const auto post = [&](weft::Completion& completion) {
    options.completion = &completion;
    return place.endpoint.post_receive(m_rank, m_tag, buffer, options);
  };
  if (mode.completion == nullptr && mode.may_retry) options.timeout = weft::Timeout::of_nanoseconds(-1);
  status_t status = mode.completion != nullptr ? status_with(post(*mode.completion), fields)
                                               : post_and_wait(place.endpoint, fields, post, mode.may_retry);
  // Received during the post: by a message that the status is to describe.
  if (status.is_done() && arrived.operation() == weft::Operation::receive) {
    status = Delivery(nullptr, false).status_of(arrived);
    status.user_context = m_user_context;
  }
  return status;
}

status_t post_put_x::call() const {
  endpoint_impl_t& place = endpoint_of(*this);
  const Fields fields = fields_of(*this);
  const Mode mode = mode_of(*this);
  weft::AccessOptions options = access_of(*this, place, mode, "post_put");
  const weft::RemoteAddress to = address_of(m_rmr, m_remote_disp, "post_put");
  const auto post = [&](weft::Completion& completion) {
    options.completion = &completion;
    return place.endpoint.post_put(m_rank, to, bytes_of(fields), options);
  };
  return mode.completion != nullptr ? status_with(post(*mode.completion), fields)
                                    : post_and_wait(place.endpoint, fields, post, mode.may_retry);
}

status_t post_get_x::call() const {
  endpoint_impl_t& place = endpoint_of(*this);
  const Fields fields = fields_of(*this);
  const Mode mode = mode_of(*this);
  weft::AccessOptions options = access_of(*this, place, mode, "post_get");
  const weft::RemoteAddress from = address_of(m_rmr, m_remote_disp, "post_get");
  const auto post = [&](weft::Completion& completion) {
    options.completion = &completion;
    return place.endpoint.post_get(m_rank, from, {static_cast<std::byte*>(m_local_buffer), m_size}, options);
  };
  return mode.completion != nullptr ? status_with(post(*mode.completion), fields)
                                    : post_and_wait(place.endpoint, fields, post, mode.may_retry);
}

status_t post_comm_x::call() const {
  const bool is_out = m_direction == direction_t::OUT;
  if (!m_rmr.is_empty()) {
    if (is_out) {
      post_put_x put(m_rank, m_local_buffer, m_size, m_local_comp, m_remote_disp, m_rmr);
      copy_common(*this, put);
      put.m_remote_comp = m_remote_comp;
      return put.call();
    }
    post_get_x get(m_rank, m_local_buffer, m_size, m_local_comp, m_remote_disp, m_rmr);
    copy_common(*this, get);
    get.m_remote_comp = m_remote_comp;
    return get.call();
  }
  if (is_out && m_remote_comp != 0) {
    post_am_x message(m_rank, m_local_buffer, m_size, m_local_comp, m_remote_comp);
    copy_common(*this, message);
    return message.call();
  }
  if (is_out) {
    post_send_x send(m_rank, m_local_buffer, m_size, m_tag, m_local_comp);
    copy_common(*this, send);
    return send.matching_engine(m_matching_engine).matching_policy(m_matching_policy).call();
  }
  if (m_remote_comp != 0)
    refuse("post_comm: direction IN with remote_comp needs rmr: it is a get that signals");
  post_recv_x receive(m_rank, m_local_buffer, m_size, m_tag, m_local_comp);
  copy_common(*this, receive);
  return receive.matching_engine(m_matching_engine).matching_policy(m_matching_policy).call();
}

error_t progress() { return progress_on(default_endpoint(runtime_of({}))); }
error_t progress_x::call() const { return progress_on(endpoint_of(*this)); }

bool test_drained_x::call() const {
  const weft::Endpoint& endpoint = endpoint_of(*this).endpoint;
  return endpoint.drained() && endpoint.flushed();
}
void wait_drained_x::call() const {
  weft::Endpoint& endpoint = endpoint_of(*this).endpoint;
  endpoint.flush();
  endpoint.wait_drained();
}

}  // namespace lci
