// The process and its runtimes.
#ifndef WEFT_LCI_SETUP_HPP
#define WEFT_LCI_SETUP_HPP

#include "arguments.hpp"

namespace lci {

/// Reads the attributes from LCI_ATTR_... variables, the first time. Counted: each call needs a
/// global_finalize(). Allocating a runtime does both by itself.
WEFT_LCI_API void global_initialize();
WEFT_LCI_API void global_finalize();
/// True between the first global_initialize() and the last global_finalize().
WEFT_LCI_API bool is_active();

/// A copy of the process's attributes, and their new values: they count for resources that are allocated
/// later.
WEFT_LCI_API global_attr_t get_g_default_attr();
WEFT_LCI_API void set_g_default_attr(const global_attr_t& attributes);

/// Also before a runtime is allocated, once global_initialize() was called.
WEFT_LCI_API int get_rank_me();
WEFT_LCI_API int get_rank_n();
class get_rank_me_x : public arguments::operation<get_rank_me_x, int, arguments::runtime_argument> {
 public:
  int call() const { return get_rank_me(); }
};
class get_rank_n_x : public arguments::operation<get_rank_n_x, int, arguments::runtime_argument> {
 public:
  int call() const { return get_rank_n(); }
};

namespace arguments {
template <class Operation>
struct alloc_runtime_argument : packet_return_threshold_argument<Operation>,
                                imm_nbits_tag_argument<Operation>,
                                imm_nbits_rcomp_argument<Operation>,
                                alloc_default_device_argument<Operation>,
                                alloc_default_packet_pool_argument<Operation>,
                                alloc_default_matching_engine_argument<Operation>,
                                rdv_protocol_argument<Operation>,
                                device_name_argument<Operation>,
                                name_argument<Operation>,
                                user_context_argument<Operation> {};
}  // namespace arguments

/// All ranks allocate their runtimes in the same order.
class alloc_runtime_x
    : public arguments::operation<alloc_runtime_x, runtime_t, arguments::alloc_runtime_argument> {
 public:
  WEFT_LCI_API runtime_t call() const;
};
inline runtime_t alloc_runtime() { return alloc_runtime_x().call(); }

/// Frees the default resources of the runtime with it; all others must have been freed.
class free_runtime_x : public arguments::operation<free_runtime_x, void> {
 public:
  explicit free_runtime_x(runtime_t* freed) : m_runtime(freed) {}
  free_runtime_x&& runtime(runtime_t* freed) {
    m_runtime = freed;
    return std::move(*this);
  }
  WEFT_LCI_API void call() const;
  runtime_t* m_runtime;
};
inline void free_runtime(runtime_t* runtime) { free_runtime_x(runtime).call(); }

/// The runtime that operations use which are given none.
class g_runtime_init_x
    : public arguments::operation<g_runtime_init_x, runtime_t, arguments::alloc_runtime_argument> {
 public:
  WEFT_LCI_API runtime_t call() const;
};
inline runtime_t g_runtime_init() { return g_runtime_init_x().call(); }
class g_runtime_fina_x : public arguments::operation<g_runtime_fina_x, void> {
 public:
  WEFT_LCI_API void call() const;
};
inline void g_runtime_fina() { g_runtime_fina_x().call(); }
WEFT_LCI_API runtime_t get_g_runtime();
class get_g_runtime_x : public arguments::operation<get_g_runtime_x, runtime_t> {
 public:
  runtime_t call() const { return get_g_runtime(); }
};

}  // namespace lci

#endif
