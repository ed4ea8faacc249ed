// Posts, and progress.
#ifndef WEFT_LCI_COMMUNICATION_HPP
#define WEFT_LCI_COMMUNICATION_HPP

#include "arguments.hpp"

namespace lci {

/// An active message: the object that `remote_comp` names at `rank` receives the payload.
class post_am_x : public arguments::operation<post_am_x, status_t, arguments::post_argument,
                                              arguments::remote_comp_argument, arguments::tag_argument,
                                              arguments::comp_semantic_argument> {
 public:
  post_am_x(int to, void* data, size_t bytes, comp_t signalled, rcomp_t remote) {
    set_post(to, data, bytes, signalled);
    m_remote_comp = remote;
  }
  WEFT_LCI_API status_t call() const;
};
WEFT_LCI_API status_t post_am(int rank, void* local_buffer, size_t size, comp_t local_comp,
                              rcomp_t remote_comp);

class post_send_x
    : public arguments::operation<post_send_x, status_t, arguments::post_argument, arguments::tag_argument,
                                  arguments::matching_engine_argument, arguments::matching_policy_argument,
                                  arguments::comp_semantic_argument> {
 public:
  post_send_x(int to, void* data, size_t bytes, tag_t tag_of_message, comp_t signalled) {
    set_post(to, data, bytes, signalled);
    m_tag = tag_of_message;
  }
  WEFT_LCI_API status_t call() const;
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
class progress_x : public arguments::operation<progress_x, error_t, arguments::place_argument> {
 public:
  WEFT_LCI_API error_t call() const;
};
WEFT_LCI_API error_t progress();

/// True when every message that was posted on the device has been taken by its peer, and every put and get
/// has ended.
class test_drained_x : public arguments::operation<test_drained_x, bool, arguments::place_argument> {
 public:
  WEFT_LCI_API bool call() const;
};
inline bool test_drained() { return test_drained_x().call(); }
class wait_drained_x : public arguments::operation<wait_drained_x, void, arguments::place_argument> {
 public:
  WEFT_LCI_API void call() const;
};
inline void wait_drained() { wait_drained_x().call(); }

}  // namespace lci

#endif
