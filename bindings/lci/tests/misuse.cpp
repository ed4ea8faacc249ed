// Wrong use ends with an exception whose line names the operation and the value, and leaves the runtime as it
// was.
#include <functional>
#include <string>

#include "check.hpp"

namespace {

char bytes[64];

/// Calls what is wrong, which is to be refused with a line that contains the text.
void refused(const std::string& text, const std::function<void()>& wrong) {
  try {
    wrong();
  } catch (const std::runtime_error& error) {
    const bool says_it = std::string(error.what()).find(text) != std::string::npos;
    if (!says_it) std::fprintf(stderr, "'%s' does not contain '%s'\n", error.what(), text.c_str());
    CHECK(says_it);
    return;
  }
  std::fprintf(stderr, "%s was expected\n", text.c_str());
  CHECK(false);
}

void no_runtime() {
  refused("there is no runtime", [] { lci::progress(); });
  refused("there is no runtime", [] { lci::post_am(0, bytes, 8, lci::COMP_NULL, 1); });
  refused("there is no runtime", [] { lci::register_memory(bytes, 8); });
  refused("has no g_runtime_init() before it", [] { lci::g_runtime_fina(); });
}

void sum(const void* left, const void* right, void* to, size_t count) {
  for (size_t i = 0; i < count; ++i)
    static_cast<long*>(to)[i] = static_cast<const long*>(left)[i] + static_cast<const long*>(right)[i];
}

void buffers() {
  const int me = lci::get_rank_me();
  const lci::comp_t none = lci::COMP_NULL;
  lci::mr_t memory = lci::register_memory(bytes, sizeof bytes);
  const lci::rmr_t key = lci::get_rmr(memory);
  for (const size_t size : {size_t{8}, size_t{100000}, SIZE_MAX}) {
    const std::string null = ": the buffer of " + std::to_string(size) + " bytes is null";
    refused("post_am" + null, [&] { lci::post_am(me, nullptr, size, none, 1); });
    refused("post_send" + null, [&] { lci::post_send(me, nullptr, size, 1, none); });
    refused("post_recv" + null, [&] { lci::post_recv(me, nullptr, size, 1, none); });
    refused("post_put" + null, [&] { lci::post_put(me, nullptr, size, none, 0, key); });
    refused("post_get" + null, [&] { lci::post_get(me, nullptr, size, none, 0, key); });
    refused("broadcast" + null, [&] { lci::broadcast(nullptr, size, 0); });
  }
  refused("allgather: the buffer of 8 bytes is null", [] { lci::allgather(nullptr, bytes, 8); });
  refused("alltoall: the buffer", [] { lci::alltoall(bytes, nullptr, 8); });
  refused("allreduce: the buffer of 16 bytes is null", [] { lci::allreduce(bytes, nullptr, 2, 8, sum); });
  refused("reduce_scatter: the buffer", [] { lci::reduce_scatter(nullptr, bytes, 2, 8, sum); });
  refused("post_send: a message of 18446744073709551615 bytes is larger than memory can be",
          [&] { lci::post_send(me, bytes, SIZE_MAX, 1, none); });
  refused("post_am: a message of", [&] { lci::post_am(me, bytes, SIZE_MAX, none, 1); });
  lci::deregister_memory(&memory);
}

void numbers() {
  refused("the number of a remote completion is 0: it must be 1 to 65278",
          [] { lci::post_am(lci::get_rank_me(), bytes, 8, lci::COMP_NULL, 0); });
  refused("peer 99 is not a rank", [] { lci::post_send(99, bytes, 8, 1, lci::COMP_NULL); });
}

/// A copy of a handle does not know that the other one was used.
template <class Handle, class Free>
void freed_twice(const char* operation, Handle handle, const Free& free) {
  Handle copy = handle;
  free(&handle);
  CHECK(handle.p_impl == nullptr);
  refused(std::string(operation) + ": the handle is not one that the program has allocated",
          [&] { free(&copy); });
  refused("", [&] { free(static_cast<Handle*>(nullptr)); });
}

void handles() {
  freed_twice("free_device", lci::alloc_device(), lci::free_device);
  freed_twice("free_endpoint", lci::alloc_endpoint(), lci::free_endpoint);
  freed_twice("free_matching_engine", lci::alloc_matching_engine(), lci::free_matching_engine);
  freed_twice("free_packet_pool", lci::alloc_packet_pool(), lci::free_packet_pool);
  freed_twice("free_net_context", lci::alloc_net_context(), lci::free_net_context);
  freed_twice("deregister_memory", lci::register_memory(bytes, 8), lci::deregister_memory);
  freed_twice("free_runtime", lci::alloc_runtime(), lci::free_runtime);
  lci::device_t device = lci::get_default_device();
  refused("free_device: the handle is not one", [&] { lci::free_device(&device); });
  lci::runtime_t runtime = lci::get_g_runtime();
  refused("which g_runtime_fina() frees", [&] { lci::free_runtime(&runtime); });
  lci::mr_t memory = lci::register_memory(bytes, 8), copy = memory;
  lci::deregister_memory(&memory);
  refused("get_rmr: the handle is not one", [&] { lci::get_rmr(copy); });
}

void packets() {
  char* const packet = static_cast<char*>(lci::get_upacket());
  refused("no packet begins there", [&] { lci::put_upacket(packet + 8); });
  lci::put_upacket(packet);
}

void graphs() {
  lci::comp_t graph = lci::alloc_graph();
  const lci::graph_node_t node = lci::graph_add_node(graph, lci::GRAPH_NODE_DUMMY_CB);
  refused("from GRAPH_END", [&] { lci::graph_add_edge(graph, lci::GRAPH_END, node); });
  refused("to GRAPH_START", [&] { lci::graph_add_edge(graph, node, lci::GRAPH_START); });
  refused("from a node to itself", [&] { lci::graph_add_edge(graph, node, node); });
  lci::free_comp(&graph);
}

/// What nobody has freed is freed with the device or the runtime, which say so.
void leave_things() {
  lci::device_t device = lci::alloc_device();
  lci::alloc_endpoint_x().device(device)();
  lci::free_device(&device);
  lci::alloc_device();
  lci::alloc_endpoint();
  lci::alloc_endpoint();
  lci::alloc_matching_engine();
  lci::register_memory(bytes, sizeof bytes);
}

}  // namespace

int main() {
  no_runtime();
  lci::g_runtime_init();
  buffers();
  numbers();
  handles();
  packets();
  graphs();
  leave_things();
  lci::barrier();
  lci::g_runtime_fina();
  no_runtime();
  // All of it is as it was.
  lci::g_runtime_init();
  lci::barrier();
  lci::g_runtime_fina();
  std::puts("ok");
}
