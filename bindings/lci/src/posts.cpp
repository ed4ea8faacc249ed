// Active messages, sends and receives.
#include "posts.hpp"

#include "quick_post.hpp"

namespace lci {

/// Of an operation without a completion object that has ended.
errorcode_t code_of(weft::Outcome outcome, const Fields& fields, const char* operation) {
  if (outcome == weft::Outcome::ok) return errorcode_t::done;
  std::fprintf(stderr, "lci: %s of %zu bytes with rank %d has ended as %s\n", operation, fields.size,
               fields.rank, weft::name_of(outcome));
  return errorcode_t::fatal;
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

/// Any post of an active message. A function of its own, so that the fast paths below save no registers for
/// it.
[[gnu::noinline]] errorcode_t post_am_with(endpoint_impl_t& lci_endpoint, const Fields& fields,
                                           rcomp_t remote, const Mode& mode) {
  const weft::ActiveMessageOptions options{.completion = mode.completion,
                                           .user_data = fields.user_context,
                                           .tag = short_tag(fields.tag, "post_am"),
                                           .may_retry = mode.may_retry || mode.completion == nullptr,
                                           .may_complete_now = mode.may_be_done,
                                           .region = fields.region};
  const weft::RemoteCompletion handle = lci_endpoint.rcomps.handle(remote, lci_endpoint.index);
  weft::Endpoint& endpoint = lci_endpoint.endpoint;
  if (weft::Packet packet = packet_at(lci_endpoint.runtime, fields.buffer)) {
    if (fields.size <= kCopiedOfPackets && mode.may_be_done) {
      // Without a completion object: what is accepted has been copied, and the packet goes back to its pool.
      const weft::Status copied = endpoint.post_am(fields.rank, handle, bytes_of(fields),
                                                   {.tag = options.tag, .may_complete_now = true});
      if (copied.is_accepted()) return errorcode_t::done;
      if (mode.may_retry) {
        packet.release();
        return code_of(copied);
      }
    }
    for (;;) {
      const weft::Status answer = post_packet(packet, [&](weft::Packet&& taken) {
        return endpoint.post_am(fields.rank, handle, std::move(taken), fields.size, options);
      });
      if (answer.is_accepted() && mode.completion == nullptr) return errorcode_t::done;
      if (answer.is_accepted() || mode.may_retry) return code_of(answer);
      endpoint.progress();
      packet = lci_endpoint.runtime.runtime.packet_of(fields.buffer);
    }
  }
  const weft::Status answer = endpoint.post_am(fields.rank, handle, bytes_of(fields), options);
  if (mode.completion != nullptr || answer.is_done()) return code_of(answer);
  // Its payload was copied.
  if (answer.is_posted()) return errorcode_t::done;
  if (mode.may_retry) return code_of(answer);
  return code_of(endpoint.send_am(fields.rank, handle, bytes_of(fields), options), fields, "post_am");
}

/// A post with a completion object, unless it has to end by itself, or has a packet: true when the fast paths
/// below do not apply.
template <class Post>
[[gnu::always_inline]] inline bool is_special(const endpoint_impl_t& lci_endpoint, const Post& post) {
  return post.m_local_comp.is_empty() || !post.m_allow_posted ||
         lci_endpoint.payloads.may_hold(post.m_local_buffer);
}
template <class Post>
[[gnu::always_inline]] inline weft::Bytes payload_of(const Post& post) noexcept {
  return {static_cast<const std::byte*>(post.m_local_buffer), post.m_size};
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

namespace posts {

namespace {

/// A call at the end of a post.
[[gnu::noinline]] errorcode_t done_with_doorbell(weft::detail::SendLane& lane,
                                                 std::atomic<std::uint32_t>* hold) noexcept {
  weft::detail::ring_doorbell(lane);
  weft::detail::leave<weft::detail::TryLock>(hold);
  return errorcode_t::done;
}

[[nodiscard]] constexpr rcomp_t rcomp_of(std::uint64_t target) noexcept {
  return static_cast<rcomp_t>(target >> 48);
}
[[nodiscard]] constexpr std::uint32_t tag_of(std::uint64_t target) noexcept {
  return static_cast<std::uint32_t>(target);
}
[[nodiscard]] inline endpoint_impl_t& endpoint_of(device_impl_t* device) {
  return device != nullptr ? device->own_endpoint : default_endpoint(runtime_of({}));
}

/// post_am_untold() for every payload, number and state of the lane.
[[gnu::noinline]] errorcode_t post_am_slowly(device_impl_t* device, int rank, void* local_buffer,
                                             std::size_t size, bool may_retry, std::uint64_t target) {
  endpoint_impl_t& lci_endpoint = endpoint_of(device);
  lci_endpoint.peers.note(rank);
  const Fields fields{rank, local_buffer, size, tag_of(target), nullptr};
  if (!lci_endpoint.payloads.may_hold(local_buffer)) {
    const weft::RemoteCompletion handle = lci_endpoint.rcomps.handle(rcomp_of(target), lci_endpoint.index);
    const weft::Status answer = lci_endpoint.endpoint.post_am(
        rank, handle, bytes_of(fields), {.tag = tag_of(target), .may_complete_now = true});
    if (answer.is_accepted()) [[likely]]
      return errorcode_t::done;
    if (may_retry) return code_of(answer);
  }
  return post_am_with(lci_endpoint, fields, rcomp_of(target), {.may_retry = may_retry});
}

}  // namespace

/// Makes calls only at its end, and so saves no registers.
errorcode_t post_am_untold(device_impl_t* device, int rank, void* local_buffer, size_t size, bool may_retry,
                           uint64_t target) {
  endpoint_impl_t* const lci_endpoint = device != nullptr ? &device->own_endpoint : g_endpoint;
  if (size == sizeof(std::uint64_t) && lci_endpoint != nullptr &&
      !lci_endpoint->payloads.may_hold(local_buffer) && lci_endpoint->rcomps.is_first(rcomp_of(target)))
      [[likely]] {
    weft::detail::SendLane* const lane =
        lci_endpoint->endpoint.path().lane(rank, lci_endpoint->index, weft::detail::thread_column);
    if (lane != nullptr && lci_endpoint->peers.has_met(rank)) [[likely]] {
      std::atomic<std::uint32_t>* hold = nullptr;
      const QuickPost answer = try_post_word(*lane, target, local_buffer, hold);
      if (answer == QuickPost::sent) [[likely]]
        return errorcode_t::done;
      if (answer == QuickPost::cold) return done_with_doorbell(*lane, hold);
    }
  }
  return post_am_slowly(device, rank, local_buffer, size, may_retry, target);
}

errorcode_t post_am_told(device_impl_t* device, int rank, void* local_buffer, size_t size, comp_impl_t* comp,
                         uint64_t target, void* user_context, unsigned allowed) {
  endpoint_impl_t& lci_endpoint = endpoint_of(device);
  lci_endpoint.peers.note(rank);
  if (lci_endpoint.payloads.may_hold(local_buffer)) [[unlikely]]
    return post_am_with(
        lci_endpoint, {rank, local_buffer, size, tag_of(target), user_context}, rcomp_of(target),
        {completion_of(comp_t(comp)), (allowed & kAllowRetry) != 0, (allowed & kAllowDone) != 0});
  const weft::ActiveMessageOptions options{.completion = completion_of(comp_t(comp)),
                                           .user_data = user_context,
                                           .tag = tag_of(target),
                                           .may_retry = (allowed & kAllowRetry) != 0,
                                           .may_complete_now = (allowed & kAllowDone) != 0};
  const weft::RemoteCompletion handle = lci_endpoint.rcomps.handle(rcomp_of(target), lci_endpoint.index);
  const weft::Bytes payload{static_cast<const std::byte*>(local_buffer), size};
  // The compiler copies a word by itself.
  return code_of(
      payload.size() == sizeof(std::uint64_t)
          ? lci_endpoint.endpoint.post_am(rank, handle, {payload.data(), sizeof(std::uint64_t)}, options)
          : lci_endpoint.endpoint.post_am(rank, handle, payload, options));
}

void refuse_target(rcomp_t rcomp, tag_t tag) {
  if (tag > UINT32_MAX) lci::refuse_tag(tag, "post_am");
  Rcomps::refuse_number(rcomp);
}

void refuse_buffer(const char* operation, const void* buffer, size_t size) {
  refuse(std::string(operation) + (buffer == nullptr ? ": the buffer of " : ": a message of ") +
         std::to_string(size) +
         (buffer == nullptr ? " bytes is null" : " bytes is larger than memory can be"));
}

errorcode_t post_am(const post_am_x& post) {
  endpoint_impl_t& lci_endpoint = endpoint_of_post(post);
  if (is_for_network(post)) return post_for_network(lci_endpoint, post);
  return post_am_with(lci_endpoint, fields_of(post), post.m_remote_comp, mode_of(post));
}

}  // namespace posts

namespace {

/// A send from a packet, or one that ends by itself.
[[gnu::noinline]] errorcode_t post_special_send(endpoint_impl_t& lci_endpoint, const post_send_x& post) {
  weft::Endpoint& endpoint = lci_endpoint.endpoint;
  const Fields fields = fields_of(post);
  const Mode mode = mode_of(post);
  const weft::SendOptions options{.completion = mode.completion,
                                  .user_data = post.m_user_context,
                                  .policy = policy_of(post.m_matching_policy),
                                  .engine = engine_of(post.m_matching_engine),
                                  .device = lci_endpoint.index,
                                  .may_retry = mode.may_retry || mode.completion == nullptr,
                                  .may_complete_now = mode.may_be_done,
                                  .region = fields.region};
  if (weft::Packet packet = packet_at(lci_endpoint.runtime, post.m_local_buffer)) {
    for (;;) {
      const weft::Status answer = post_packet(packet, [&](weft::Packet&& taken) {
        return endpoint.post_send(post.m_rank, post.m_tag, std::move(taken), post.m_size, options);
      });
      if (answer.is_accepted() && mode.completion == nullptr) return errorcode_t::done;
      if (answer.is_accepted() || mode.may_retry) return code_of(answer);
      endpoint.progress();
      packet = lci_endpoint.runtime.runtime.packet_of(post.m_local_buffer);
    }
  }
  const weft::Status answer = endpoint.post_send(post.m_rank, post.m_tag, bytes_of(fields), options);
  if (mode.completion != nullptr || answer.is_done()) return code_of(answer);
  if (answer.is_posted()) return errorcode_t::done;
  if (mode.may_retry) return code_of(answer);
  if (post.m_size <= lci_endpoint.payloads.packet_bytes()) {
    weft::SendOptions queued = options;
    queued.may_retry = false;
    if (endpoint.post_send(post.m_rank, post.m_tag, bytes_of(fields), queued).is_accepted())
      return errorcode_t::done;
  }
  return code_of(endpoint.send(post.m_rank, post.m_tag, bytes_of(fields), options), fields, "post_send");
}

}  // namespace

errorcode_t posts::post_send(const post_send_x& post) {
  endpoint_impl_t& lci_endpoint = endpoint_of_post(post);
  if (is_for_network(post)) [[unlikely]]
    return post_for_network(lci_endpoint, post);
  weft::SendOptions options{.user_data = post.m_user_context,
                            .policy = policy_of(post.m_matching_policy),
                            .engine = engine_of(post.m_matching_engine),
                            .device = lci_endpoint.index,
                            .region = region_of(post.m_mr)};
  if (!is_special(lci_endpoint, post)) {
    options.completion = completion_of(post.m_local_comp);
    options.may_retry = post.m_allow_retry;
    options.may_complete_now = post.m_allow_done;
    return code_of(lci_endpoint.endpoint.post_send(post.m_rank, post.m_tag, payload_of(post), options));
  }
  // Most that have no object are sent at once.
  if (post.m_local_comp.is_empty() && !lci_endpoint.payloads.may_hold(post.m_local_buffer)) {
    options.may_complete_now = true;
    if (lci_endpoint.endpoint.post_send(post.m_rank, post.m_tag, payload_of(post), options).is_accepted())
        [[likely]]
      return errorcode_t::done;
  }
  return post_special_send(lci_endpoint, post);
}

status_t post_recv_x::call() const {
  posts::check_buffer("post_recv", m_local_buffer, m_size);
  endpoint_impl_t& lci_endpoint = endpoint_of_post(*this);
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
    return status_of_post(code_of(lci_endpoint.endpoint.post_receive(m_rank, m_tag, buffer, options)));
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
      return lci_endpoint.endpoint.post_receive(m_rank, m_tag, buffer, options);
    };
    status = post_and_wait(lci_endpoint.endpoint, fields_of(*this), post, may_retry);
  } else {
    options.completion = completion_of(m_local_comp);
    status = status_of_post(code_of(lci_endpoint.endpoint.post_receive(m_rank, m_tag, buffer, options)));
  }
  // Received during the post: by a message that the status is to describe.
  if (status.is_done() && arrived.operation() == weft::Operation::receive) {
    status = Delivery(nullptr, false).status_of(arrived);
    status.user_context = m_user_context;
  }
  return status;
}

}  // namespace lci
