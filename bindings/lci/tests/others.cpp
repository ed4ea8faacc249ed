// Memory, puts, gets, graphs, collectives, and what is wrong.
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"

namespace {

template <class Call>
void refuses(const char* text, const Call& call) {
  try {
    call();
  } catch (const std::runtime_error& error) {
    if (std::strstr(error.what(), text) != nullptr) return;
    std::fprintf(stderr, "'%s' says nothing of '%s'\n", error.what(), text);
    std::exit(1);
  }
  std::fprintf(stderr, "nothing was thrown about '%s'\n", text);
  std::exit(1);
}

void puts_and_gets() {
  const int me = lci::get_rank_me(), ranks = lci::get_rank_n(), next = (me + 1) % ranks;
  const int before = (me + ranks - 1) % ranks;
  std::vector<long> memory(1000, -1), values(1000);
  std::iota(values.begin(), values.end(), 1000L * me);
  lci::mr_t mr = lci::register_memory(memory.data(), memory.size() * sizeof(long));
  std::vector<lci::rmr_t> keys(static_cast<size_t>(ranks));
  const lci::rmr_t own = lci::get_rmr(mr);
  CHECK(own.base == reinterpret_cast<uintptr_t>(memory.data()) && !own.is_empty());
  lci::allgather(&own, keys.data(), sizeof own);
  lci::rmr_t key = keys[static_cast<size_t>(next)];

  lci::comp_t local = lci::alloc_cq(), arrivals = lci::alloc_cq();
  const lci::rcomp_t remote = lci::register_rcomp(arrivals);
  lci::barrier();
  lci::status_t status = post([&] {
    return lci::post_put_x(next, values.data(), 100 * sizeof(long), local, 8 * sizeof(long), key)
        .user_context(&key)
        .mr(lci::MR_UNKNOWN)();
  });
  CHECK(finish(status, local).is_done());
  // The base may be moved, as programs do that count from an address of their own.
  key.base += 500 * sizeof(long);
  status = post([&] {
    return lci::post_put_x(next, values.data(), 100 * sizeof(long), lci::COMP_NULL, 0, key)
        .remote_comp(remote)
        .tag(77)();
  });
  CHECK(status.is_done());
  const lci::status_t signal = pop(arrivals);
  CHECK(signal.is_done() && signal.rank == before && signal.tag == 77);
  for (size_t i = 0; i < 100; ++i) {
    CHECK(memory[8 + i] == 1000L * before + static_cast<long>(i));
    CHECK(memory[500 + i] == 1000L * before + static_cast<long>(i));
  }
  lci::barrier();

  std::vector<long> got(100);
  status = post([&] {
    return lci::post_comm_x(lci::direction_t::IN, next, got.data(), 100 * sizeof(long), local).rmr(key)();
  });
  CHECK(finish(status, local).is_done());
  for (size_t i = 0; i < 100; ++i) CHECK(got[i] == values[i]);
  lci::barrier();

  // From registered memory, which does not hold everything.
  status = post([&] {
    return lci::post_put_x(next, memory.data() + 8, 100 * sizeof(long), local, 700 * sizeof(long),
                           keys[static_cast<size_t>(next)])
        .mr(mr)();
  });
  CHECK(finish(status, local).is_done());
  refuses("does not hold the 8 bytes of the local buffer", [&] {
    long elsewhere = 0;
    lci::post_am_x(next, &elsewhere, sizeof elsewhere, local, remote).mr(mr)();
  });
  lci::barrier();

  // Beyond the end: a status that is none of the three, and nothing is written.
  status = post([&] {
    return lci::post_put(next, values.data(), sizeof(long), lci::COMP_NULL, 500 * sizeof(long), key);
  });
  CHECK(!status.is_done() && !status.is_posted() && std::string(status.error.get_str()) == "fatal");
  lci::wait_drained();
  lci::barrier();
  lci::deregister_memory(&mr);
  CHECK(mr.is_empty());
  lci::free_comp(&local);
  lci::free_comp(&arrivals);
}

std::vector<int> order;
int edges = 0;
int refusals = 0;
lci::graph_node_t node(lci::comp_t graph, uintptr_t value) {
  return lci::graph_add_node_x(graph,
                               [](void* given) -> lci::status_t {
                                 order.push_back(static_cast<int>(reinterpret_cast<uintptr_t>(given)));
                                 return lci::errorcode_t::done;
                               })
      .value(reinterpret_cast<void*>(value))();
}

/// An operation of the program's own: ends in another thread, which signals the graph.
struct Later {
  lci::comp_t graph;
  std::thread* thread;
  void* node;
  void user_context(void* given) { node = given; }
  lci::status_t operator()() const {
    const lci::comp_t signalled = graph;
    void* const context = node;
    *thread = std::thread([signalled, context] { lci::comp_signal(signalled, lci::status_t(context)); });
    return lci::errorcode_t::posted;
  }
};

void graphs() {
  const int me = lci::get_rank_me(), ranks = lci::get_rank_n();
  lci::comp_t graph = lci::alloc_graph();
  int out = me, in = -1;
  const lci::graph_node_t send = lci::graph_add_node_op(
      graph, lci::post_send_x((me + 1) % ranks, &out, sizeof out, 9, graph).allow_retry(false));
  const lci::graph_node_t receive = lci::graph_add_node_op(
      graph, lci::post_recv_x((me + ranks - 1) % ranks, &in, sizeof in, 9, graph).allow_retry(false));
  const lci::graph_node_t first = node(graph, 1), last = node(graph, 2);
  const lci::graph_node_t refused = lci::graph_add_node(graph, [](void*) -> lci::status_t {
    return ++refusals % 3 == 0 ? lci::errorcode_t::done : lci::errorcode_t::retry;
  });
  std::thread thread;
  const lci::graph_node_t later = lci::graph_add_node_op(graph, Later{graph, &thread, nullptr});
  lci::graph_add_edge(graph, lci::GRAPH_START, first);
  lci::graph_add_edge(graph, first, send);
  lci::graph_add_edge(graph, first, receive);
  lci::graph_add_edge(graph, first, refused);
  lci::graph_add_edge(graph, first, later);
  for (const lci::graph_node_t each : {send, receive, refused, later})
    lci::graph_add_edge_x(graph, each, last).fn([](lci::status_t status, void*, void* to) {
      CHECK(status.is_done() && to == reinterpret_cast<void*>(2));
      ++edges;
    })();
  lci::graph_add_edge(graph, last, lci::GRAPH_END);
  for (int round = 1; round <= 3; ++round) {
    in = -1;
    lci::graph_start(graph);
    while (lci::graph_test(graph).is_retry()) lci::progress();
    thread.join();
    CHECK(in == (me + ranks - 1) % ranks && edges == 4 * round && refusals == 3 * round);
    CHECK(order.size() == static_cast<size_t>(2 * round) && order.back() == 2);
  }
  lci::free_comp(&graph);

  // A barrier among one rank has no node.
  lci::comp_t empty = lci::alloc_graph();
  lci::graph_start(empty);
  CHECK(lci::graph_test(empty).is_done());
  lci::free_comp(&empty);

  // One that signals another object, frees itself, and is moved on by progress alone.
  lci::comp_t counter = lci::alloc_counter();
  lci::comp_t other = lci::alloc_graph_x().comp(counter)();
  const lci::graph_node_t only = lci::graph_add_node(other, [](void*) -> lci::status_t {
    return ++refusals % 3 == 0 ? lci::errorcode_t::done : lci::errorcode_t::retry;
  });
  const lci::graph_node_t marked =
      lci::graph_add_node(other, [](void*) -> lci::status_t { return lci::errorcode_t::posted; });
  lci::graph_add_edge(other, lci::GRAPH_START, only);
  lci::graph_add_edge(other, lci::GRAPH_START, marked);
  lci::graph_add_edge(other, only, lci::GRAPH_END);
  lci::graph_add_edge(other, marked, lci::GRAPH_END);
  lci::graph_start(other);
  while (refusals < 12) lci::progress();
  CHECK(lci::counter_get(counter) == 0);
  lci::graph_node_mark_complete(marked);
  CHECK(lci::counter_get(counter) == 1);
  lci::free_comp(&counter);
}

void add(const void* left, const void* right, void* dst, size_t n) {
  for (size_t i = 0; i < n; ++i)
    static_cast<long*>(dst)[i] = static_cast<const long*>(left)[i] + static_cast<const long*>(right)[i];
}

void collectives() {
  const int me = lci::get_rank_me(), ranks = lci::get_rank_n();
  const size_t count = static_cast<size_t>(ranks);
  const long total = static_cast<long>(ranks) * (ranks - 1) / 2;
  lci::comp_t counter = lci::alloc_counter();
  int64_t expected = 0;
  const auto wait = [&] {
    ++expected;
    while (lci::counter_get(counter) < expected) lci::progress();
  };
  for (int root = 0; root < ranks; ++root) {
    long value = me == root ? 4711 : 0;
    lci::broadcast(&value, sizeof value, root);
    CHECK(value == 4711);
    value = me;
    lci::reduce(&value, &value, 1, sizeof value, add, root);
    CHECK(value == (me == root ? total : me));
    value = me == root ? 1 : 0;
    lci::broadcast_x(&value, sizeof value, root).comp(counter).algorithm(lci::broadcast_algorithm_t::tree)();
    wait();
    CHECK(value == 1);
  }
  std::vector<long> from(count, me), to(count, -1);
  lci::allreduce(from.data(), to.data(), count, sizeof(long), add);
  CHECK(to == std::vector<long>(count, total));
  long part = -1;
  lci::reduce_scatter(from.data(), &part, 1, sizeof(long), add);
  CHECK(part == total);
  lci::alltoall(from.data(), to.data(), sizeof(long));
  for (size_t i = 0; i < count; ++i) CHECK(to[i] == static_cast<long>(i));
  to.assign(count, -1);
  lci::alltoall_x(from.data(), to.data(), sizeof(long)).comp(counter)();
  wait();
  for (size_t i = 0; i < count; ++i) CHECK(to[i] == static_cast<long>(i));
  const long mine = me;
  to.assign(count, -1);
  lci::allgather_x(&mine, to.data(), sizeof mine).comp(counter)();
  wait();
  for (size_t i = 0; i < count; ++i) CHECK(to[i] == static_cast<long>(i));
  lci::allreduce_x(from.data(), to.data(), count, sizeof(long), add).comp(counter)();
  wait();
  CHECK(to == std::vector<long>(count, total));
  lci::barrier_x().comp(counter)();
  wait();
  lci::free_comp(&counter);
}

void engines() {
  lci::matching_engine_t engine = lci::alloc_matching_engine();
  int values[3];
  const auto send = lci::matching_entry_type_t::send, receive = lci::matching_entry_type_t::recv;
  CHECK(lci::matching_engine_insert(engine, 1, &values[0], send) == nullptr);
  CHECK(lci::matching_engine_insert(engine, 1, &values[1], send) == nullptr);
  CHECK(lci::matching_engine_insert(engine, 2, &values[2], receive) == nullptr);
  CHECK(lci::matching_engine_insert(engine, 1, &values[2], receive) == &values[0]);
  CHECK(lci::matching_engine_insert(engine, 2, &values[0], send) == &values[2]);
  CHECK(lci::matching_engine_insert(engine, 1, &values[2], receive) == &values[1]);
  lci::free_matching_engine(&engine);
}

void truncation() {
  char out[100] = "more than there is room for", in[8] = "";
  lci::comp_t queue = lci::alloc_cq();
  const int me = lci::get_rank_me();
  lci::status_t status = lci::post_recv_x(me, in, 4, 5, queue).allow_done(false)();
  CHECK(status.is_posted());
  post([&] { return lci::post_send(me, out, sizeof out, 5, lci::COMP_NULL); });
  status = pop(queue);
  CHECK(std::string(status.error.get_str()) == "fatal" && status.size == 4);
  CHECK(std::memcmp(in, "more\0\0\0\0", 8) == 0);
  lci::free_comp(&queue);
}

/// Numbers that stand for no object, because it was freed first or there never was one: programs that have
/// objects for some of their devices register nothing for the others.
void numbers_without_objects() {
  lci::comp_t freed = lci::alloc_counter(), nothing;
  const lci::rcomp_t first = lci::register_rcomp(freed);
  lci::free_comp(&freed);
  const lci::rcomp_t second = lci::register_rcomp(nothing);
  CHECK(second == first + 1);
  lci::barrier();
  char byte = 0;
  CHECK(lci::post_am(lci::get_rank_me(), &byte, 1, lci::COMP_NULL_RETRY, second).is_retry());
  for (const lci::rcomp_t number : {first, second}) {
    lci::deregister_rcomp(number);
    refuses("is not registered", [number] { lci::deregister_rcomp(number); });
  }
}

void mistakes() {
  lci::comp_t counter = lci::alloc_counter(), nothing;
  lci::device_t none;
  refuses("cq_pop: the completion object is of another kind", [&] { lci::cq_pop(counter); });
  refuses("comp_t is empty", [&] { lci::free_comp(&nothing); });
  refuses("comp_t is empty", [&] { lci::comp_signal(lci::COMP_NULL_RETRY, lci::status_t()); });
  refuses("device_t is empty", [&] { lci::free_device(&none); });
  refuses("rmr is empty", [&] { lci::post_put(0, &none, 1, lci::COMP_NULL, 0, lci::RMR_NULL); });
  refuses("4294967296", [&] { lci::post_am_x(0, &none, 1, lci::COMP_NULL, 1).tag(lci::tag_t(1) << 32)(); });
  refuses("99", [&] { lci::post_am(99, &none, 1, lci::COMP_NULL, 1); });
  refuses("threshold is -1", [&] { lci::alloc_sync_x().threshold(-1)(); });
  refuses("12345 is not registered", [&] { lci::deregister_rcomp(12345); });
  refuses("g_runtime_init() was called before", [] { lci::g_runtime_init(); });
  lci::free_comp(&counter);
}

}  // namespace

int main() {
  lci::g_runtime_init();
  puts_and_gets();
  graphs();
  collectives();
  engines();
  truncation();
  numbers_without_objects();
  mistakes();
  lci::barrier();
  lci::g_runtime_fina();
  std::puts("ok");
  return 0;
}
