#include "objects.hpp"

namespace lci {

const char* get_errorcode_str(errorcode_t errorcode) {
  switch (errorcode) {
    case errorcode_t::done_min:
      return "done_min";
    case errorcode_t::done:
      return "done";
    case errorcode_t::done_backlog:
      return "done_backlog";
    case errorcode_t::done_max:
      return "done_max";
    case errorcode_t::posted_min:
      return "posted_min";
    case errorcode_t::posted:
      return "posted";
    case errorcode_t::posted_backlog:
      return "posted_backlog";
    case errorcode_t::posted_max:
      return "posted_max";
    case errorcode_t::retry_min:
      return "retry_min";
    case errorcode_t::retry:
      return "retry";
    case errorcode_t::retry_init:
      return "retry_init";
    case errorcode_t::retry_lock:
      return "retry_lock";
    case errorcode_t::retry_nopacket:
      return "retry_nopacket";
    case errorcode_t::retry_nomem:
      return "retry_nomem";
    case errorcode_t::retry_backlog:
      return "retry_backlog";
    case errorcode_t::retry_max:
      return "retry_max";
    case errorcode_t::fatal:
      return "fatal";
  }
  return "unknown";
}

namespace {
template <class Algorithm>
const char* name_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::none:
      return "none";
    case Algorithm::direct:
      return "direct";
    case Algorithm::tree:
      return "tree";
    case Algorithm::ring:
      return "ring";
  }
  return "unknown";
}
}  // namespace

const char* get_broadcast_algorithm_str(broadcast_algorithm_t algorithm) { return name_of(algorithm); }
const char* get_reduce_scatter_algorithm_str(reduce_scatter_algorithm_t algorithm) {
  return name_of(algorithm);
}
const char* get_allreduce_algorithm_str(allreduce_algorithm_t algorithm) { return name_of(algorithm); }

void refuse(const std::string& what) { throw std::runtime_error("lci: " + what); }

void refuse_empty_handle(const char* resource) {
  refuse(std::string("a handle of the kind ") + resource + "_t is empty: allocate it, or it was freed");
}

}  // namespace lci
