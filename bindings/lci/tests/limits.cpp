// What happens at limits: of lanes, of packets, and of ends of operations that are not signalled yet.
#include <atomic>
#include <thread>
#include <vector>

#include "check.hpp"

namespace {

const size_t kPackets = 256;

/// The general post passes on that retry is no answer: the lane is full long before the last one.
void general_post_without_retry() {
  const int me = lci::get_rank_me(), posts = 20000;
  lci::comp_t counter = lci::alloc_counter(), ends = lci::alloc_counter();
  const lci::rcomp_t remote = lci::register_rcomp(counter);
  char large[200] = {};
  int posted = 0;
  for (int i = 0; i < posts; ++i) {
    const lci::status_t answer = lci::post_comm_x(lci::direction_t::OUT, me, large, sizeof large, ends)
                                     .remote_comp(remote)
                                     .allow_retry(false)();
    CHECK(!answer.is_retry());
    posted += answer.is_posted() ? 1 : 0;
  }
  while (lci::counter_get(counter) < posts || lci::counter_get(ends) < posted) lci::progress();
  lci::free_comp(&counter);
  lci::free_comp(&ends);
}

/// Statuses that nobody pops leave most packets to the pool.
void packets_at_rest() {
  const int me = lci::get_rank_me();
  lci::comp_t queue = lci::alloc_cq_x().zero_copy_am(true)();
  const lci::rcomp_t remote = lci::register_rcomp(queue);
  char large[200] = {};
  for (size_t i = 0; i < kPackets; ++i)
    post([&] { return lci::post_am(me, large, sizeof large, lci::COMP_NULL_RETRY, remote); });
  lci::wait_drained();
  std::vector<void*> packets;
  while (void* const packet = lci::get_upacket()) packets.push_back(packet);
  CHECK(packets.size() >= kPackets / 2);
  for (void* const packet : packets) lci::put_upacket(packet);
  for (size_t i = 0; i < kPackets; ++i) lci::put_upacket(pop(queue).buffer);
  lci::free_comp(&queue);
}

/// Threads whose posts are signalled by any thread's progress, with objects that come and go.
void ends_of_threads() {
  const int me = lci::get_rank_me(), count = 4, posts = 500, rounds = 4;
  lci::comp_t arrived = lci::alloc_counter();
  const lci::rcomp_t remote = lci::register_rcomp(arrived);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < rounds; ++round) {
        lci::comp_t ends = lci::alloc_cq();
        std::vector<bool> has_ended(posts);
        std::vector<int> contexts(posts);
        for (int at = 0; at < posts; ++at)
          CHECK(post([&] {
                  return lci::post_am_x(me, &at, sizeof at, ends, remote)
                      .comp_semantic(lci::comp_semantic_t::network)
                      .user_context(&contexts[at])();
                }).is_posted());
        for (int at = 0; at < posts; ++at) {
          const lci::status_t status = pop(ends);
          const long which = static_cast<int*>(status.user_context) - contexts.data();
          CHECK(status.is_done() && which >= 0 && which < posts && !has_ended[which]);
          has_ended[which] = true;
        }
        lci::free_comp(&ends);
      }
    });
  for (std::thread& thread : threads) thread.join();
  while (lci::counter_get(arrived) < count * rounds * posts) lci::progress();
  lci::free_comp(&arrived);
}

/// Packets are put back in another order than they were taken in, and twice as often as a cache has room.
void packets_in_any_order() {
  for (int round = 0; round < 3; ++round) {
    std::vector<void*> packets;
    for (int i = 0; i < 40; ++i) packets.push_back(lci::get_upacket());
    for (size_t i = 0; i < packets.size(); ++i) {
      CHECK(packets[i] != nullptr);
      for (size_t j = 0; j < i; ++j) CHECK(packets[i] != packets[j]);
    }
    for (size_t i = 0; i < packets.size(); ++i) lci::put_upacket(packets[(i * 7 + 3) % packets.size()]);
  }
  lci::put_upacket(nullptr);
}

}  // namespace

int main() {
  lci::global_initialize();
  lci::global_attr_t attributes = lci::get_g_default_attr();
  attributes.npackets = kPackets;
  lci::set_g_default_attr(attributes);
  lci::g_runtime_init();
  packets_in_any_order();
  packets_at_rest();
  general_post_without_retry();
  ends_of_threads();
  lci::barrier();
  lci::g_runtime_fina();
  lci::global_finalize();
  std::puts("ok");
  return 0;
}
