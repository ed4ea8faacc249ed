// Active messages, sends and receives.
#include "posts.hpp"

namespace lci {

/// Of an operation without a completion object that has ended.
status_t status_with(weft::Outcome outcome, const Fields& fields, const char* operation) {
  if (outcome == weft::Outcome::ok) return status_with(errorcode_t::done, fields);
  std::fprintf(stderr, "lci: %s of %zu bytes with rank %d has ended as %s\n", operation, fields.size,
               fields.rank, weft::name_of(outcome));
  return status_with(errorcode_t::fatal, fields);
}
void refuse_tag(tag_t tag, const char* operation) {
  refuse(std::string(operation) + ": the tag is " + std::to_string(tag) + ": at most 4294967295 (max_tag)");
}

namespace {

/// Active messages of up to so many bytes are copied out of packets: inside slots they take half the time to
/// the peer.
constexpr std::size_t kCopiedOfPackets = 2048;

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
    if (fields.size <= kCopiedOfPackets && mode.may_be_done) {
      // Without a completion object: what is accepted has been copied, and the packet goes back to its pool.
      const weft::Status copied = endpoint.post_am(fields.rank, handle, bytes_of(fields),
                                                   {.tag = options.tag, .may_complete_now = true});
      if (copied.is_accepted()) return status_with(errorcode_t::done, fields);
      if (mode.may_retry) {
        packet.release();
        return status_with(copied, fields);
      }
    }
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

/// A post with a completion object, unless it has to end by itself, or has a packet: true when the fast paths
/// below do not apply.
template <class Post>
[[gnu::always_inline]] inline bool is_special(const endpoint_impl_t& place, const Post& post) {
  return post.m_local_comp.is_empty() || !post.m_allow_posted || place.payloads.may_hold(post.m_local_buffer);
}
template <class Post>
[[gnu::always_inline]] inline weft::Bytes payload_of(const Post& post) noexcept {
  return {static_cast<const std::byte*>(post.m_local_buffer), post.m_size};
}

/// A post whose end is told, or that is special.
[[gnu::noinline]] status_t post_am_told(endpoint_impl_t& place, const post_am_x& post) {
  if (is_for_network(post)) [[unlikely]]
    return post_for_network(place, post);
  if (is_special(place, post)) [[unlikely]]
    return post_am_with(place, fields_of(post), post.m_remote_comp, mode_of(post));
  const weft::ActiveMessageOptions options{.completion = completion_of(post.m_local_comp),
                                           .user_data = post.m_user_context,
                                           .tag = short_tag(post.m_tag, "post_am"),
                                           .may_retry = post.m_allow_retry,
                                           .may_complete_now = post.m_allow_done};
  const weft::RemoteCompletion handle = place.rcomps.handle(post.m_remote_comp, place.index);
  // The compiler copies a word by itself.
  const weft::Bytes payload = payload_of(post);
  const weft::Status answer =
      payload.size() == sizeof(std::uint64_t)
          ? place.endpoint.post_am(post.m_rank, handle, {payload.data(), sizeof(std::uint64_t)}, options)
          : place.endpoint.post_am(post.m_rank, handle, payload, options);
  return answered(code_of(answer), post);
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

[[noreturn, gnu::cold, gnu::noinline]] void refuse_policy(matching_policy_t policy) {
  refuse("matching_policy is " + std::to_string(static_cast<unsigned>(policy)) +
         ": it must be none, rank_only, tag_only or rank_tag");
}
[[gnu::always_inline]] inline weft::MatchingPolicy policy_of(matching_policy_t policy) {
  static constexpr weft::MatchingPolicy kPolicies[] = {
      weft::MatchingPolicy::any, weft::MatchingPolicy::rank_only, weft::MatchingPolicy::tag_only,
      weft::MatchingPolicy::rank_and_tag};
  if (policy >= matching_policy_t::max) [[unlikely]]
    refuse_policy(policy);
  return kPolicies[static_cast<unsigned>(policy)];
}

std::uint16_t engine_of(const matching_engine_t& engine) {
  return engine.p_impl != nullptr ? engine.p_impl->id : std::uint16_t{0};
}

}  // namespace

status_t post_am(int rank, void* local_buffer, size_t size, comp_t local_comp, rcomp_t remote_comp) {
  endpoint_impl_t& place = default_endpoint(runtime_of({}));
  place.peers.note(rank);
  if (try_post_am(place, rank, local_buffer, size, local_comp, remote_comp, 0)) [[likely]]
    return status_with(errorcode_t::done, {rank, local_buffer, size, 0, nullptr});
  return post_am_with(place, {rank, local_buffer, size, 0, nullptr}, remote_comp,
                      mode_of(local_comp, true, true, true));
}
namespace {

[[gnu::noinline]] status_t post_am_untold(endpoint_impl_t& place, const post_am_x& post) {
  if (post.m_tag <= UINT32_MAX &&
      try_post_am(place, post.m_rank, post.m_local_buffer, post.m_size, post.m_local_comp, post.m_remote_comp,
                  static_cast<std::uint32_t>(post.m_tag))) [[likely]]
    return answered(errorcode_t::done, post);
  return post_am_told(place, post);
}

}  // namespace

/// The functions that it calls at its end save the registers that they need.
status_t post_am_x::call() const {
  endpoint_impl_t& place = endpoint_of_post(*this);
  return m_local_comp.is_empty() ? post_am_untold(place, *this) : post_am_told(place, *this);
}

namespace {

/// A send from a packet, or one that ends by itself.
[[gnu::noinline]] status_t post_special_send(endpoint_impl_t& place, const post_send_x& post) {
  weft::Endpoint& endpoint = place.endpoint;
  const Fields fields = fields_of(post);
  const Mode mode = mode_of(post);
  const weft::SendOptions options{.completion = mode.completion,
                                  .user_data = post.m_user_context,
                                  .policy = policy_of(post.m_matching_policy),
                                  .engine = engine_of(post.m_matching_engine),
                                  .device = place.index,
                                  .may_retry = mode.may_retry || mode.completion == nullptr,
                                  .may_complete_now = mode.may_be_done};
  if (weft::Packet packet = packet_at(place.runtime, post.m_local_buffer)) {
    for (;;) {
      const weft::Status answer = post_packet(packet, [&](weft::Packet&& taken) {
        return endpoint.post_send(post.m_rank, post.m_tag, std::move(taken), post.m_size, options);
      });
      if (answer.is_accepted() && mode.completion == nullptr) return status_with(errorcode_t::done, fields);
      if (answer.is_accepted() || mode.may_retry) return status_with(answer, fields);
      endpoint.progress();
      packet = place.runtime.runtime.packet_of(post.m_local_buffer);
    }
  }
  const weft::Status answer = endpoint.post_send(post.m_rank, post.m_tag, bytes_of(fields), options);
  if (mode.completion != nullptr || answer.is_done()) return status_with(answer, fields);
  if (answer.is_posted()) return status_with(errorcode_t::done, fields);
  if (mode.may_retry) return status_with(answer, fields);
  if (post.m_size <= place.payloads.packet_bytes()) {
    weft::SendOptions queued = options;
    queued.may_retry = false;
    if (endpoint.post_send(post.m_rank, post.m_tag, bytes_of(fields), queued).is_accepted())
      return status_with(errorcode_t::done, fields);
  }
  return status_with(endpoint.send(post.m_rank, post.m_tag, bytes_of(fields), options), fields, "post_send");
}

}  // namespace

status_t post_send_x::call() const {
  endpoint_impl_t& place = endpoint_of_post(*this);
  if (is_for_network(*this)) [[unlikely]]
    return post_for_network(place, *this);
  weft::SendOptions options{.user_data = m_user_context,
                            .policy = policy_of(m_matching_policy),
                            .engine = engine_of(m_matching_engine),
                            .device = place.index};
  if (!is_special(place, *this)) {
    options.completion = completion_of(m_local_comp);
    options.may_retry = m_allow_retry;
    options.may_complete_now = m_allow_done;
    return answered(code_of(place.endpoint.post_send(m_rank, m_tag, payload_of(*this), options)), *this);
  }
  // Most that have no object are sent at once.
  if (m_local_comp.is_empty() && !place.payloads.may_hold(m_local_buffer)) {
    options.may_complete_now = true;
    if (place.endpoint.post_send(m_rank, m_tag, payload_of(*this), options).is_accepted()) [[likely]]
      return answered(errorcode_t::done, *this);
  }
  return post_special_send(place, *this);
}

status_t post_recv_x::call() const {
  endpoint_impl_t& place = endpoint_of_post(*this);
  matching_policy_t policy = m_matching_policy;
  if (m_rank == ANY_SOURCE)
    policy = m_tag == ANY_TAG ? matching_policy_t::none : matching_policy_t::tag_only;
  else if (m_tag == ANY_TAG)
    policy = matching_policy_t::rank_only;
  const bool ends_by_itself = m_local_comp.is_empty() || !m_allow_posted;
  // Programs that give an object expect that a receive is posted.
  const bool may_retry = ends_by_itself && m_allow_retry && m_local_comp != COMP_NULL;
  weft::ReceiveOptions options{.user_data = m_user_context,
                               .policy = policy_of(policy),
                               .engine = engine_of(m_matching_engine),
                               .may_retry = may_retry};
  const std::span<std::byte> buffer(static_cast<std::byte*>(m_local_buffer), m_size);
  if (!ends_by_itself && !m_allow_done) {
    options.completion = completion_of(m_local_comp);
    return answered(code_of(place.endpoint.post_receive(m_rank, m_tag, buffer, options)), *this);
  }
  weft::Message arrived;
  options.may_complete_now = true;
  options.arrived = &arrived;
  status_t status;
  if (ends_by_itself) {
    // What has not arrived is not waited for when the answer may be retry.
    if (may_retry) options.timeout = weft::Timeout::of_nanoseconds(-1);
    const auto post = [&](weft::Completion& completion) {
      options.completion = &completion;
      return place.endpoint.post_receive(m_rank, m_tag, buffer, options);
    };
    status = post_and_wait(place.endpoint, fields_of(*this), post, may_retry);
  } else {
    options.completion = completion_of(m_local_comp);
    status = answered(code_of(place.endpoint.post_receive(m_rank, m_tag, buffer, options)), *this);
  }
  // Received during the post: by a message that the status is to describe.
  if (status.is_done() && arrived.operation() == weft::Operation::receive) {
    status = Delivery(nullptr, false).status_of(arrived);
    status.user_context = m_user_context;
  }
  return status;
}

}  // namespace lci
