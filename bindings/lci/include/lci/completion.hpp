// Completion objects, and the handles by which peers name them.
#ifndef WEFT_LCI_COMPLETION_HPP
#define WEFT_LCI_COMPLETION_HPP

#include "arguments.hpp"

namespace lci {

/// Takes every kind of object, a program's own as well, which is deleted.
class free_comp_x : public arguments::operation<free_comp_x, void, arguments::runtime_argument> {
 public:
  explicit free_comp_x(comp_t* freed) : m_comp(freed) {}
  free_comp_x&& comp(comp_t* freed) {
    m_comp = freed;
    return std::move(*this);
  }
  WEFT_LCI_API void call() const;
  comp_t* m_comp;
};
inline void free_comp(comp_t* comp) { free_comp_x(comp).call(); }

/// To a synchronizer: threads that meet by it may give way to those that have not signalled yet.
class comp_signal_x : public arguments::operation<comp_signal_x, void, arguments::runtime_argument,
                                                  arguments::comp_argument, arguments::status_argument> {
 public:
  comp_signal_x(comp_t object, const status_t& with) {
    m_comp = object;
    m_status = with;
  }
  WEFT_LCI_API void call() const;
};
inline void comp_signal(comp_t comp, status_t status) { comp_signal_x(comp, status).call(); }

// Remote completions: numbers from 1, which are the same on all ranks that register in the same order.

class reserve_rcomps_x : public arguments::operation<reserve_rcomps_x, rcomp_t, arguments::runtime_argument,
                                                     arguments::n_argument> {
 public:
  explicit reserve_rcomps_x(rcomp_t count) { m_n = count; }
  WEFT_LCI_API rcomp_t call() const;
};
inline rcomp_t reserve_rcomps(rcomp_t n) { return reserve_rcomps_x(n).call(); }

class register_rcomp_x : public arguments::operation<register_rcomp_x, rcomp_t, arguments::runtime_argument,
                                                     arguments::comp_argument, arguments::rcomp_argument> {
 public:
  explicit register_rcomp_x(comp_t object) { m_comp = object; }
  WEFT_LCI_API rcomp_t call() const;
};
inline rcomp_t register_rcomp(comp_t comp) { return register_rcomp_x(comp).call(); }

class deregister_rcomp_x : public arguments::operation<deregister_rcomp_x, void, arguments::runtime_argument,
                                                       arguments::rcomp_argument> {
 public:
  explicit deregister_rcomp_x(rcomp_t number) { m_rcomp = number; }
  WEFT_LCI_API void call() const;
};
inline void deregister_rcomp(rcomp_t rcomp) { deregister_rcomp_x(rcomp).call(); }

class alloc_sync_x
    : public arguments::operation<alloc_sync_x, comp_t, arguments::runtime_argument,
                                  arguments::threshold_argument, arguments::zero_copy_am_argument,
                                  arguments::name_argument, arguments::user_context_argument> {
 public:
  WEFT_LCI_API comp_t call() const;
};
inline comp_t alloc_sync() { return alloc_sync_x().call(); }

/// True when `threshold` signals have come: then fills p_out, unless it is null, and begins the next round.
class sync_test_x : public arguments::operation<sync_test_x, bool, arguments::runtime_argument,
                                                arguments::comp_argument, arguments::p_out_argument> {
 public:
  sync_test_x(comp_t sync, status_t* statuses) {
    m_comp = sync;
    m_p_out = statuses;
  }
  WEFT_LCI_API bool call() const;
};
inline bool sync_test(comp_t comp, status_t* p_out) { return sync_test_x(comp, p_out).call(); }

class sync_wait_x
    : public arguments::operation<sync_wait_x, void, arguments::network_argument, arguments::comp_argument,
                                  arguments::p_out_argument, arguments::do_progress_argument> {
 public:
  sync_wait_x(comp_t sync, status_t* statuses) {
    m_comp = sync;
    m_p_out = statuses;
  }
  WEFT_LCI_API void call() const;
};
inline void sync_wait(comp_t comp, status_t* p_out) { sync_wait_x(comp, p_out).call(); }

class alloc_counter_x
    : public arguments::operation<alloc_counter_x, comp_t, arguments::runtime_argument,
                                  arguments::name_argument, arguments::user_context_argument> {
 public:
  WEFT_LCI_API comp_t call() const;
};
inline comp_t alloc_counter() { return alloc_counter_x().call(); }

class counter_get_x : public arguments::operation<counter_get_x, int64_t, arguments::runtime_argument,
                                                  arguments::comp_argument> {
 public:
  explicit counter_get_x(comp_t counter) { m_comp = counter; }
  WEFT_LCI_API int64_t call() const;
};
inline int64_t counter_get(comp_t comp) { return counter_get_x(comp).call(); }

class counter_set_x : public arguments::operation<counter_set_x, void, arguments::runtime_argument,
                                                  arguments::comp_argument> {
 public:
  counter_set_x(comp_t counter, int64_t number) : m_value(number) { m_comp = counter; }
  counter_set_x&& value(int64_t number) {
    m_value = number;
    return std::move(*this);
  }
  WEFT_LCI_API void call() const;
  int64_t m_value;
};
inline void counter_set(comp_t comp, int64_t value) { counter_set_x(comp, value).call(); }

class alloc_cq_x : public arguments::operation<alloc_cq_x, comp_t, arguments::runtime_argument,
                                               arguments::default_length_argument,
                                               arguments::zero_copy_am_argument, arguments::cq_type_argument,
                                               arguments::name_argument, arguments::user_context_argument> {
 public:
  WEFT_LCI_API comp_t call() const;
};
inline comp_t alloc_cq() { return alloc_cq_x().call(); }

/// Never waits: retry when the queue is empty.
WEFT_LCI_API status_t cq_pop(comp_t comp);
class cq_pop_x
    : public arguments::operation<cq_pop_x, status_t, arguments::runtime_argument, arguments::comp_argument> {
 public:
  explicit cq_pop_x(comp_t queue) { m_comp = queue; }
  status_t call() const { return cq_pop(m_comp); }
};

class alloc_handler_x
    : public arguments::operation<alloc_handler_x, comp_t, arguments::runtime_argument,
                                  arguments::handler_argument, arguments::zero_copy_am_argument,
                                  arguments::name_argument, arguments::user_context_argument> {
 public:
  explicit alloc_handler_x(comp_handler_t called) { m_handler = called; }
  WEFT_LCI_API comp_t call() const;
};
inline comp_t alloc_handler(comp_handler_t handler) { return alloc_handler_x(handler).call(); }

}  // namespace lci

#endif
