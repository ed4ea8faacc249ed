// Statuses, keys of memory, allocators, and the base of completion objects.
#ifndef WEFT_LCI_VALUES_HPP
#define WEFT_LCI_VALUES_HPP

#include "handles.hpp"

namespace lci {

using tag_t = uint64_t;
using rcomp_t = uint32_t;
using matching_entry_key_t = uint64_t;
using matching_entry_val_t = void*;

const int ANY_SOURCE = -1;
const tag_t ANY_TAG = static_cast<tag_t>(-1);

/// The key of a peer's memory. Trivially copyable; `base` is the address that displacements count from, and
/// may be moved within the registered memory.
struct rmr_t {
  uintptr_t base = 0;
  uintptr_t mr_base = 0;     ///< where the registered memory begins
  uint64_t opaque_rkey = 0;  ///< not 0 when the key was filled
  uint64_t opaque_region[5] = {0, 0, 0, 0, 0};
  bool is_empty() const { return base == 0 && opaque_rkey == 0; }
};
const rmr_t RMR_NULL = rmr_t();

/// Supplies and takes back the memory of active messages. Any thread may call it, several at a time.
struct allocator_base_t {
  /// Aligned to 16 bytes, or nullptr: there is no room now.
  virtual void* allocate(size_t size) = 0;
  virtual void deallocate(void* ptr) = 0;
  virtual ~allocator_base_t() = default;
};
struct allocator_default_t : public allocator_base_t {
  void* allocate(size_t size) override { return std::malloc(size); }
  void deallocate(void* ptr) override { std::free(ptr); }
};
WEFT_LCI_API extern allocator_default_t g_allocator_default;

struct buffer_t {
  void* base = nullptr;
  size_t size = 0;
  buffer_t() = default;
  buffer_t(void* address, size_t bytes) : base(address), size(bytes) {}
};

/// What an operation answers, and what a completion object receives. The buffer of an active message that has
/// arrived belongs to the receiver: put_upacket() for completion objects with zero_copy_am, else the
/// runtime's allocator takes it back (free() unless set_allocator() was called).
struct status_t {
  error_t error;
  int rank = -1;
  void* buffer = nullptr;
  size_t size = 0;
  tag_t tag = 0;
  void* user_context = nullptr;

  status_t() = default;
  status_t(errorcode_t code) : error(code) {}  // NOLINT: is meant to convert
  explicit status_t(void* context) : error(errorcode_t::done), user_context(context) {}
  void set_done() { error = errorcode_t::done; }
  void set_posted() { error = errorcode_t::posted; }
  void set_retry() { error = errorcode_t::retry; }
  bool is_done() const { return error.is_done(); }
  bool is_posted() const { return error.is_posted(); }
  bool is_retry() const { return error.is_retry(); }
  error_t get_error() const { return error; }
  int get_rank() const { return rank; }
  void* get_buffer() const { return buffer; }
  size_t get_size() const { return size; }
  tag_t get_tag() const { return tag; }
  void* get_user_context() const { return user_context; }
};

struct comp_access_t;

/// The base of completion objects. Programs derive from it for objects of their own, and pass
/// comp_t(&object).
class WEFT_LCI_API comp_impl_t {
 public:
  using attr_t = comp_attr_t;
  comp_impl_t() = default;
  explicit comp_impl_t(const attr_t& attributes) : attr(attributes) {}
  /// A copy is an object of its own, which nobody has posted or registered.
  comp_impl_t(const comp_impl_t& other) : attr(other.attr) {}
  comp_impl_t& operator=(const comp_impl_t& other) {
    attr = other.attr;
    return *this;
  }
  virtual ~comp_impl_t();
  /// Called inside progress, or a post, by any thread. Must neither block nor throw.
  virtual void signal(status_t status) = 0;

  comp_attr_t attr;

 private:
  friend struct comp_access_t;
  void* completion_ = nullptr;  // weft's side of the object
};

using comp_handler_t = void (*)(status_t status);
/// dst[i] = left[i] op right[i]; `right` and `dst` may be the same. Associative and commutative.
using reduce_op_t = void (*)(const void* left, const void* right, void* dst, size_t n);

using graph_node_t = void*;
const graph_node_t GRAPH_START = reinterpret_cast<graph_node_t>(0x1);
const graph_node_t GRAPH_END = reinterpret_cast<graph_node_t>(0x2);
/// done: the node is complete; posted: it is when the graph is signalled with the node as user_context;
/// retry: it is to be run again.
using graph_node_run_cb_t = status_t (*)(void* value);
using graph_node_free_cb_t = void (*)(void* value);
using graph_edge_run_cb_t = void (*)(status_t status, void* src_value, void* dst_value);
const graph_node_run_cb_t GRAPH_NODE_DUMMY_CB = nullptr;

}  // namespace lci

#endif
