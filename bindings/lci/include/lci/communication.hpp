// Posts, and progress.
#ifndef WEFT_LCI_COMMUNICATION_HPP
#define WEFT_LCI_COMMUNICATION_HPP

#include "arguments.hpp"

namespace lci {

class post_am_x;
class post_send_x;

/// What the library answers to posts. Their statuses are made where they are called: most programs look at
/// the code alone.
namespace posts {
/// Without a completion object that is signalled, and with arguments that most programs give. device: null is
/// the default one. target: rcomp(16) | 1(16) | tag(32), as messages carry them.
WEFT_LCI_API errorcode_t post_am_untold(device_impl_t* device, int rank, void* local_buffer, size_t size,
                                        bool may_retry, uint64_t target);
/// The same with a completion object. allowed: kAllowDone, kAllowRetry.
WEFT_LCI_API errorcode_t post_am_told(device_impl_t* device, int rank, void* local_buffer, size_t size,
                                      comp_impl_t* comp, uint64_t target, void* user_context,
                                      unsigned allowed);
[[noreturn]] WEFT_LCI_API void refuse_target(rcomp_t rcomp, tag_t tag);
[[noreturn]] WEFT_LCI_API void refuse_buffer(const char* operation, const void* buffer, size_t size);
/// Throws std::runtime_error for a buffer that cannot be. In the header: compilers mostly know the answer.
inline void check_buffer(const char* operation, const void* buffer, size_t size) {
  if ((buffer == nullptr && size != 0) || size > static_cast<size_t>(PTRDIFF_MAX) / 2)
    refuse_buffer(operation, buffer, size);
}
const unsigned kAllowDone = 1;
const unsigned kAllowRetry = 2;
/// With any arguments.
WEFT_LCI_API errorcode_t post_am(const post_am_x& post);
WEFT_LCI_API errorcode_t post_send(const post_send_x& post);
}  // namespace posts

/// An active message: the object that `remote_comp` names at `rank` receives the payload.
class post_am_x : public arguments::operation<post_am_x, status_t, arguments::post_argument,
                                              arguments::remote_comp_argument, arguments::tag_argument,
                                              arguments::comp_semantic_argument> {
 public:
  post_am_x(int to, void* data, size_t bytes, comp_t signalled, rcomp_t remote) {
    set_post(to, data, bytes, signalled);
    m_remote_comp = remote;
  }
  status_t call() const { return status_of_post(post()); }

 private:
  bool is_usual() const {
    return m_runtime.p_impl == nullptr && m_endpoint.p_impl == nullptr && m_allow_posted &&
           m_comp_semantic == comp_semantic_t::memory && m_mr.is_empty();
  }
  errorcode_t post() const {
    posts::check_buffer("post_am", m_local_buffer, m_size);
    if (!is_usual()) return posts::post_am(*this);
    if (m_remote_comp > UINT16_MAX || m_tag > UINT32_MAX) posts::refuse_target(m_remote_comp, m_tag);
    const uint64_t target =
        static_cast<uint64_t>(m_remote_comp) << 48 | static_cast<uint64_t>(1) << 32 | m_tag;
    if (m_local_comp.is_empty())
      return posts::post_am_untold(m_device.p_impl, m_rank, m_local_buffer, m_size,
                                   m_allow_retry && m_local_comp != COMP_NULL, target);
    return posts::post_am_told(
        m_device.p_impl, m_rank, m_local_buffer, m_size, m_local_comp.p_impl, target, m_user_context,
        (m_allow_done ? posts::kAllowDone : 0) | (m_allow_retry ? posts::kAllowRetry : 0));
  }
};
inline status_t post_am(int rank, void* local_buffer, size_t size, comp_t local_comp, rcomp_t remote_comp) {
  return post_am_x(rank, local_buffer, size, local_comp, remote_comp).call();
}

class post_send_x
    : public arguments::operation<post_send_x, status_t, arguments::post_argument, arguments::tag_argument,
                                  arguments::matching_engine_argument, arguments::matching_policy_argument,
                                  arguments::comp_semantic_argument> {
 public:
  post_send_x(int to, void* data, size_t bytes, tag_t tag_of_message, comp_t signalled) {
    set_post(to, data, bytes, signalled);
    m_tag = tag_of_message;
  }
  status_t call() const {
    posts::check_buffer("post_send", m_local_buffer, m_size);
    return status_of_post(posts::post_send(*this));
  }
};
inline status_t post_send(int rank, void* local_buffer, size_t size, tag_t tag, comp_t local_comp) {
  return post_send_x(rank, local_buffer, size, tag, local_comp).call();
}

/// ANY_SOURCE and ANY_TAG choose the matching policy of the receive.
class post_recv_x
    : public arguments::operation<post_recv_x, status_t, arguments::post_argument, arguments::tag_argument,
                                  arguments::matching_engine_argument, arguments::matching_policy_argument> {
 public:
  post_recv_x(int from, void* data, size_t bytes, tag_t tag_of_message, comp_t signalled) {
    set_post(from, data, bytes, signalled);
    m_tag = tag_of_message;
  }
  WEFT_LCI_API status_t call() const;
};
inline status_t post_recv(int rank, void* local_buffer, size_t size, tag_t tag, comp_t local_comp) {
  return post_recv_x(rank, local_buffer, size, tag, local_comp).call();
}

/// With remote_comp the object that it names at `rank` is signalled as well, with the tag.
class post_put_x
    : public arguments::operation<post_put_x, status_t, arguments::post_argument, arguments::tag_argument,
                                  arguments::remote_comp_argument, arguments::remote_disp_argument,
                                  arguments::rmr_argument, arguments::comp_semantic_argument> {
 public:
  post_put_x(int to, void* data, size_t bytes, comp_t signalled, uintptr_t displacement, rmr_t memory) {
    set_post(to, data, bytes, signalled);
    m_remote_disp = displacement;
    m_rmr = memory;
  }
  WEFT_LCI_API status_t call() const;
};
inline status_t post_put(int rank, void* local_buffer, size_t size, comp_t local_comp, uintptr_t remote_disp,
                         rmr_t rmr) {
  return post_put_x(rank, local_buffer, size, local_comp, remote_disp, rmr).call();
}

class post_get_x : public arguments::operation<post_get_x, status_t, arguments::post_argument,
                                               arguments::tag_argument, arguments::remote_comp_argument,
                                               arguments::remote_disp_argument, arguments::rmr_argument> {
 public:
  post_get_x(int from, void* data, size_t bytes, comp_t signalled, uintptr_t displacement, rmr_t memory) {
    set_post(from, data, bytes, signalled);
    m_remote_disp = displacement;
    m_rmr = memory;
  }
  WEFT_LCI_API status_t call() const;
};
inline status_t post_get(int rank, void* local_buffer, size_t size, comp_t local_comp, uintptr_t remote_disp,
                         rmr_t rmr) {
  return post_get_x(rank, local_buffer, size, local_comp, remote_disp, rmr).call();
}

/// The operation that the arguments describe: OUT with rmr a put, with remote_comp only an active message,
/// else a send; IN with rmr a get, else a receive.
class post_comm_x
    : public arguments::operation<post_comm_x, status_t, arguments::post_argument,
                                  arguments::direction_argument, arguments::tag_argument,
                                  arguments::remote_comp_argument, arguments::remote_disp_argument,
                                  arguments::rmr_argument, arguments::matching_engine_argument,
                                  arguments::matching_policy_argument, arguments::comp_semantic_argument> {
 public:
  post_comm_x(direction_t towards, int peer, void* data, size_t bytes, comp_t signalled) {
    set_post(peer, data, bytes, signalled);
    m_direction = towards;
  }
  WEFT_LCI_API status_t call() const;
};
inline status_t post_comm(direction_t direction, int rank, void* local_buffer, size_t size,
                          comp_t local_comp) {
  return post_comm_x(direction, rank, local_buffer, size, local_comp).call();
}

/// done: it did something. Throws peer_failure_error once for each rank that has failed.
class progress_x : public arguments::operation<progress_x, error_t, arguments::network_argument> {
 public:
  WEFT_LCI_API error_t call() const;
};
WEFT_LCI_API error_t progress();

/// True when every message that was posted on the device has been taken by its peer, and every put and get
/// has ended.
class test_drained_x : public arguments::operation<test_drained_x, bool, arguments::network_argument> {
 public:
  WEFT_LCI_API bool call() const;
};
inline bool test_drained() { return test_drained_x().call(); }
class wait_drained_x : public arguments::operation<wait_drained_x, void, arguments::network_argument> {
 public:
  WEFT_LCI_API void call() const;
};
inline void wait_drained() { wait_drained_x().call(); }

}  // namespace lci

#endif
