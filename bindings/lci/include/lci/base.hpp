// Error codes, and the enumerations of LCI.
#ifndef WEFT_LCI_BASE_HPP
#define WEFT_LCI_BASE_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#define WEFT_LCI_API __attribute__((visibility("default")))

#define LCI_VERSION_MAJOR 2
#define LCI_VERSION_MINOR 0
#define LCI_VERSION_PATCH 0
#define LCI_VERSION_SUFFIX ""
#define LCI_VERSION_HEX ((LCI_VERSION_MAJOR << 16) | (LCI_VERSION_MINOR << 8) | LCI_VERSION_PATCH)
#define LCI_VERSION_STRING "2.0.0"
#define LCI_VERSION_FULL "2.0.0 (weft)"
/// Programs that have to know that LCI is weft ask for this.
#define LCI_IS_WEFT 1

namespace lci {

/// What an operation answers, in three groups: done, posted (a completion object will be signalled) and retry
/// (without effect: try again after progress). In none of them is `fatal`: the status of an operation that
/// has failed, of which a line on standard error says why.
enum class errorcode_t {
  done_min,  ///< below all of the group, as the other ..._min
  done,
  done_backlog,
  done_max,
  posted_min,
  posted,
  posted_backlog,
  posted_max,
  retry_min,
  retry,
  retry_init,      ///< of an error_t that nobody has set
  retry_lock,      ///< another thread is posting to the same peer
  retry_nopacket,  ///< the packet pool is empty
  retry_nomem,     ///< the lane to the peer is full
  retry_backlog,   ///< earlier posts to the peer are in the backlog
  retry_max,
  fatal,
};
WEFT_LCI_API const char* get_errorcode_str(errorcode_t errorcode);

/// An error code that tells its group.
struct error_t {
  errorcode_t errorcode;
  error_t() : errorcode(errorcode_t::retry_init) {}
  error_t(errorcode_t code) : errorcode(code) {}  // NOLINT: is meant to convert
  void reset_retry() { errorcode = errorcode_t::retry; }
  bool is_done() const { return errorcode > errorcode_t::done_min && errorcode < errorcode_t::done_max; }
  bool is_posted() const {
    return errorcode > errorcode_t::posted_min && errorcode < errorcode_t::posted_max;
  }
  bool is_retry() const { return errorcode > errorcode_t::retry_min && errorcode < errorcode_t::retry_max; }
  const char* get_str() const { return get_errorcode_str(errorcode); }
};

/// Thrown by progress() and by collectives once a rank has failed, once for each such rank by progress().
class WEFT_LCI_API peer_failure_error : public std::runtime_error {
 public:
  peer_failure_error(const std::string& what, int rank) : std::runtime_error(what), rank_(rank) {}
  int failed_rank() const { return rank_; }

 private:
  int rank_;
};

/// A value, or none.
template <class T>
struct option_t {
  option_t() : m_value(), m_is_set(false) {}
  option_t(T value) : m_value(std::move(value)), m_is_set(true) {}  // NOLINT: is meant to convert
  option_t(T value, bool is_set) : m_value(std::move(value)), m_is_set(is_set) {}
  T get_value_or(T other) const { return m_is_set ? m_value : other; }
  bool get_set_value(T* value) const {
    if (m_is_set) *value = m_value;
    return m_is_set;
  }
  T get_value() const { return m_value; }
  bool is_set() const { return m_is_set; }
  operator T() const { return m_value; }  // NOLINT: is meant to convert

  T m_value;
  bool m_is_set;
};

enum class attr_backend_t { none, ibv, ofi, ucx };
enum class attr_rdv_protocol_t { write, writeimm, read };
enum class attr_ibv_odp_strategy_t { none, explicit_odp, implicit_odp };
enum class attr_ibv_prefetch_strategy_t { none, prefetch, prefetch_write, prefetch_no_fault };
enum class attr_ibv_td_strategy_t { none, all_qp, per_qp };
enum class attr_matching_engine_type_t { queue, map };
enum class attr_comp_type_t { sync, counter, cq, handler, graph, custom };
enum class attr_cq_type_t { array_atomic, lcrq };
/// How far atomic operations of the network itself reach. NONE: there are none.
enum class net_atomic_scope_t { NONE, HCA, GLOBAL };
enum attr_net_lock_mode_t {
  LCI_NET_TRYLOCK_SEND = 1,
  LCI_NET_TRYLOCK_RECV = 1 << 1,
  LCI_NET_TRYLOCK_POLL = 1 << 2,
  LCI_NET_TRYLOCK_MAX = 1 << 3,
};

enum class direction_t {
  OUT,  ///< send, active message, put
  IN,   ///< receive, get
};
/// When an operation that sends counts as complete: memory: when the local buffer may be reused; network:
/// when the network is done with it, which is never during the post: it answers posted, and progress signals
/// the object, with fatal if the peer has failed by then. Puts are complete when the bytes are at the target,
/// with both.
enum class comp_semantic_t { memory, buffer = memory, network };
enum class matching_entry_type_t : unsigned { send = 0, recv = 1 };
enum class matching_policy_t : unsigned { none = 0, rank_only = 1, tag_only = 2, rank_tag = 3, max = 4 };

// The algorithms of collectives are weft's choice; these are accepted.
enum class broadcast_algorithm_t { none, direct, tree, ring };
enum class reduce_scatter_algorithm_t { none, direct, tree, ring };
enum class allreduce_algorithm_t { none, direct, tree, ring };
WEFT_LCI_API const char* get_broadcast_algorithm_str(broadcast_algorithm_t algorithm);
WEFT_LCI_API const char* get_reduce_scatter_algorithm_str(reduce_scatter_algorithm_t algorithm);
WEFT_LCI_API const char* get_allreduce_algorithm_str(allreduce_algorithm_t algorithm);

}  // namespace lci

#endif
