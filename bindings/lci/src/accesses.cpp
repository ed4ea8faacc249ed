// Puts, gets, the general post, progress, and what is under way.
#include "graphs.hpp"
#include "posts.hpp"

namespace lci {

namespace {

weft::RemoteAddress address_of(const rmr_t& key, std::uintptr_t displacement, const char* operation) {
  if (key.opaque_rkey == 0) [[unlikely]]
    refuse(std::string(operation) + ": rmr is empty: it must come from get_rmr() of the peer");
  weft::RemoteRegion region;
  std::memcpy(&region, key.opaque_region, sizeof region);
  return region.at(key.base - key.mr_base + displacement);
}

template <class Post>
weft::AccessOptions access_of(const Post& post, const endpoint_impl_t& lci_endpoint, const Mode& mode,
                              const char* operation) {
  return {.completion = mode.completion,
          .user_data = post.m_user_context,
          .signal = post.m_remote_comp != 0
                        ? lci_endpoint.rcomps.handle(post.m_remote_comp, lci_endpoint.index)
                        : weft::RemoteCompletion(),
          .tag = short_tag(post.m_tag, operation),
          .device = lci_endpoint.index,
          .may_retry = mode.may_retry,
          .may_complete_now = mode.may_be_done,
          .region = region_of(post.m_mr)};
}

/// Copies the arguments that a post has in common with the general one.
template <class Post>
void copy_common(const post_comm_x& from, Post& to) {
  to.m_runtime = from.m_runtime;
  to.m_device = from.m_device;
  to.m_endpoint = from.m_endpoint;
  to.m_user_context = from.m_user_context;
  to.m_tag = from.m_tag;
  to.m_mr = from.m_mr;
  to.m_allow_done = from.m_allow_done;
  to.m_allow_posted = from.m_allow_posted;
  to.m_allow_retry = from.m_allow_retry;
  if constexpr (requires { to.m_comp_semantic; }) to.m_comp_semantic = from.m_comp_semantic;
}

error_t progress_on(endpoint_impl_t& lci_endpoint) {
  const bool has_moved = lci_endpoint.endpoint.progress() != 0;
  if (RefusedNodes::any()) [[unlikely]]
    RefusedNodes::run_again();
  // Before ends are signalled: of a rank that it throws for none is signalled as done.
  const bool has_failures = lci_endpoint.runtime.failed.ready();
  if (lci_endpoint.runtime.network_ends->any()) [[unlikely]]
    lci_endpoint.runtime.network_ends->signal_ended(lci_endpoint.runtime.runtime);
  if (has_failures) [[unlikely]]
    lci_endpoint.runtime.failed.throw_next(lci_endpoint.peers);
  return has_moved ? errorcode_t::done : errorcode_t::retry;
}

}  // namespace

status_t post_put_x::call() const {
  posts::check_buffer("post_put", m_local_buffer, m_size);
  endpoint_impl_t& lci_endpoint = endpoint_of_post(*this);
  if (is_for_network(*this)) [[unlikely]]
    return status_of_post(post_for_network(lci_endpoint, *this));
  const Fields fields = fields_of(*this);
  const Mode mode = mode_of(*this);
  weft::AccessOptions options = access_of(*this, lci_endpoint, mode, "post_put");
  const weft::RemoteAddress to = address_of(m_rmr, m_remote_disp, "post_put");
  const auto post = [&](weft::Completion& completion) {
    options.completion = &completion;
    return lci_endpoint.endpoint.post_put(m_rank, to, bytes_of(fields), options);
  };
  return mode.completion != nullptr ? status_with(post(*mode.completion), fields)
                                    : post_and_wait(lci_endpoint.endpoint, fields, post, mode.may_retry);
}

status_t post_get_x::call() const {
  posts::check_buffer("post_get", m_local_buffer, m_size);
  endpoint_impl_t& lci_endpoint = endpoint_of_post(*this);
  const Fields fields = fields_of(*this);
  const Mode mode = mode_of(*this);
  weft::AccessOptions options = access_of(*this, lci_endpoint, mode, "post_get");
  const weft::RemoteAddress from = address_of(m_rmr, m_remote_disp, "post_get");
  const auto post = [&](weft::Completion& completion) {
    options.completion = &completion;
    return lci_endpoint.endpoint.post_get(m_rank, from, {static_cast<std::byte*>(m_local_buffer), m_size},
                                          options);
  };
  return mode.completion != nullptr ? status_with(post(*mode.completion), fields)
                                    : post_and_wait(lci_endpoint.endpoint, fields, post, mode.may_retry);
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
