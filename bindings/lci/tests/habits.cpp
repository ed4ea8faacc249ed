// What programs of LCI do beyond its documents.
#include <cstring>
#include <thread>
#include <vector>

#include "check.hpp"

namespace {

/// Programs send their share out of the buffer that they gather into.
void gather_in_place() {
  const int me = lci::get_rank_me(), ranks = lci::get_rank_n();
  for (const size_t count : {size_t{1}, size_t{5000}}) {
    std::vector<int> all(count * static_cast<size_t>(ranks), -1);
    int* const own = all.data() + count * static_cast<size_t>(me);
    for (size_t i = 0; i < count; ++i) own[i] = me;
    lci::allgather(own, all.data(), count * sizeof(int));
    for (size_t i = 0; i < all.size(); ++i) CHECK(all[i] == static_cast<int>(i / count));
    // From where another rank's share belongs.
    for (size_t i = 0; i < count; ++i) all[i] = me + 100;
    lci::allgather(all.data(), all.data(), count * sizeof(int));
    for (size_t i = 0; i < all.size(); ++i) CHECK(all[i] == static_cast<int>(i / count) + 100);
  }
}

class Tally : public lci::comp_impl_t {
 public:
  Tally() : lci::comp_impl_t(lci::comp_attr_t()) {}
  void signal(lci::status_t status) override {
    ++signals;
    std::free(status.buffer);
  }
  int signals = 0;
};

/// Objects in containers of values, which are never given to free_comp().
void objects_that_are_copied() {
  std::vector<Tally> tallies;
  for (int i = 0; i < 5; ++i) tallies.push_back(Tally());
  lci::comp_t comp;
  comp.set_impl(&tallies[2]);
  const lci::rcomp_t remote = lci::register_rcomp(comp);
  char word[8] = {};
  for (int i = 0; i < 10; ++i)
    post([&] { return lci::post_am(lci::get_rank_me(), word, sizeof word, lci::COMP_NULL_RETRY, remote); });
  while (tallies[2].signals < 10) lci::progress();
  const Tally copy = tallies[2];
  lci::deregister_rcomp(remote);
  CHECK(copy.signals == 10 && copy.attr.comp_type == lci::attr_comp_type_t::custom);
}

/// Functions of nodes by their names in LCI.
void nodes_by_hand() {
  struct Operation {
    int* runs;
    lci::status_t operator()() const {
      ++*runs;
      return lci::errorcode_t::done;
    }
  };
  int runs = 0;
  lci::comp_t graph = lci::alloc_graph();
  const lci::graph_node_t node = lci::graph_add_node_x(graph, lci::graph_execute_op_fn<Operation>)
                                     .value(new Operation{&runs})
                                     .free_cb(lci::graph_free_op_fn<Operation>)();
  lci::graph_add_edge(graph, lci::GRAPH_START, node);
  lci::graph_add_edge(graph, node, lci::GRAPH_END);
  lci::graph_start(graph);
  while (lci::graph_test(graph).is_retry()) lci::progress();
  CHECK(runs == 1);
  lci::free_comp(&graph);
}

/// A thread waits, and leaves progress to another one.
void wait_without_progress() {
  lci::comp_t sync = lci::alloc_sync();
  std::thread other([&] { lci::comp_signal(sync, lci::status_t(&sync)); });
  lci::status_t status;
  lci::sync_wait_x(sync, &status).do_progress(false)();
  CHECK(status.user_context == &sync);
  other.join();
  lci::free_comp(&sync);
}

}  // namespace

int main() {
  static_assert(LCI_VERSION_HEX == 0x20000, "the version whose interface it is");
  CHECK(std::strcmp(LCI_VERSION_STRING LCI_VERSION_SUFFIX, "2.0.0") == 0);
  CHECK(std::strncmp(LCI_VERSION_FULL, LCI_VERSION_STRING, std::strlen(LCI_VERSION_STRING)) == 0);
  lci::g_runtime_init();
  gather_in_place();
  objects_that_are_copied();
  nodes_by_hand();
  wait_without_progress();
  lci::barrier();
  lci::g_runtime_fina();
  std::puts("ok");
}
