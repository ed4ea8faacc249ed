// Completion queues: the order of what is at rest, threads at both ends, and what nobody pops.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"

namespace {

struct Counting : lci::allocator_base_t {
  void* allocate(size_t size) override {
    ++held;
    return std::malloc(size);
  }
  void deallocate(void* ptr) override {
    --held;
    std::free(ptr);
  }
  std::atomic<int> held{0};
};

const size_t kSizes[] = {0, 8, 48, 49, 1000, 20000};

/// The queue begins with 256 entries.
void many_at_rest() {
  const int me = lci::get_rank_me();
  lci::comp_t queue = lci::alloc_cq();
  const lci::rcomp_t number = lci::register_rcomp(queue);
  constexpr lci::tag_t kMessages = 3000;
  for (lci::tag_t i = 0; i < kMessages; ++i) {
    std::string payload(static_cast<size_t>(i % 60), static_cast<char>('a' + i % 26));
    post([&] {
      return lci::post_am_x(me, &payload[0], payload.size(), lci::COMP_NULL_RETRY, number).tag(i)();
    });
    if (i % 100 == 0) lci::comp_signal(queue, lci::status_t(&queue));
  }
  lci::wait_drained();
  size_t signals = 0;
  std::vector<bool> came(kMessages, false);
  for (size_t left = kMessages + kMessages / 100; left != 0; --left) {
    const lci::status_t status = pop(queue);
    CHECK(status.is_done());
    if (status.user_context == &queue) {
      ++signals;
      continue;
    }
    CHECK(status.tag < kMessages && !came[status.tag] && status.rank == me && status.size == status.tag % 60);
    came[status.tag] = true;
    CHECK((status.buffer == nullptr) == (status.size == 0));
    for (size_t at = 0; at < status.size; ++at)
      CHECK(static_cast<char*>(status.buffer)[at] == static_cast<char>('a' + status.tag % 26));
    std::free(status.buffer);
  }
  CHECK(signals == kMessages / 100 && lci::cq_pop(queue).is_retry());
  lci::deregister_rcomp(number);
  lci::free_comp(&queue);
}

void threads_at_both_ends() {
  lci::comp_t queue = lci::alloc_cq();
  constexpr uintptr_t kEach = 5000, kThreads = 4;
  std::vector<std::atomic<int>> came(kEach * kThreads);
  std::vector<std::thread> threads;
  for (uintptr_t thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      for (uintptr_t i = 0; i < kEach; ++i)
        lci::comp_signal(queue, lci::status_t(reinterpret_cast<void*>(thread * kEach + i + 1)));
      for (uintptr_t popped = 0; popped < kEach;) {
        const lci::status_t status = lci::cq_pop(queue);
        if (status.is_retry()) continue;
        ++came[reinterpret_cast<uintptr_t>(status.user_context) - 1];
        ++popped;
      }
    });
  for (std::thread& each : threads) each.join();
  for (const std::atomic<int>& each : came) CHECK(each == 1);
  lci::free_comp(&queue);
}

std::vector<void*> all_packets() {
  std::vector<void*> all;
  for (void* packet; (packet = lci::get_upacket()) != nullptr;) all.push_back(packet);
  return all;
}
void put_back(const std::vector<void*>& packets) {
  for (void* const packet : packets) lci::put_upacket(packet);
}
size_t count_packets() {
  const std::vector<void*> all = all_packets();
  put_back(all);
  return all.size();
}

/// Payloads at rest go back to the allocator, and to the packets, when the queue is freed.
void what_nobody_pops() {
  Counting counting;
  lci::set_allocator(&counting);
  const int me = lci::get_rank_me();
  const std::vector<char> bytes(20000);
  const size_t packets = count_packets();
  for (const bool into_packets : {false, true}) {
    lci::comp_t queue = lci::alloc_cq_x().zero_copy_am(into_packets)();
    const lci::rcomp_t number = lci::register_rcomp(queue);
    for (int round = 0; round < 50; ++round)
      for (const size_t size : kSizes)
        post([&] { return lci::post_am(me, const_cast<char*>(bytes.data()), size, lci::COMP_NULL, number); });
    lci::wait_drained();
    for (int popped = 0; popped < 30; ++popped) lci::put_upacket(pop(queue).buffer);
    lci::free_comp(&queue);
    CHECK(counting.held == 0);
    CHECK(count_packets() == packets);
  }
  lci::set_allocator(&lci::g_allocator_default);
}

/// Packets come back to the pool from whichever thread has put them back, also when it has ended.
void packets_of_threads() {
  const std::vector<void*> all = all_packets();
  CHECK(all.size() <= lci::get_default_packet_pool().get_attr_npackets());
  std::thread([&] { put_back(all); }).join();
  CHECK(count_packets() == all.size());
}

/// However many threads have put packets back and sleep since: most packets are there for the others.
void packets_of_idle_threads() {
  constexpr size_t kThreads = 64;
  const std::vector<void*> all = all_packets();
  std::atomic<size_t> idle(0);
  std::atomic<bool> may_end(false);
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      for (size_t at = thread; at < all.size(); at += kThreads) lci::put_upacket(all[at]);
      ++idle;
      while (!may_end) std::this_thread::yield();
    });
  while (idle != kThreads) std::this_thread::yield();
  CHECK(count_packets() >= all.size() / 4 * 3);
  may_end = true;
  for (std::thread& each : threads) each.join();
  CHECK(count_packets() == all.size());
}

/// The last destructors of a thread put packets back, too.
void packets_of_destructors() {
  struct Late {
    ~Late() { lci::put_upacket(packet); }
    void* packet = nullptr;
  };
  const size_t packets = count_packets();
  std::thread([] {
    static thread_local Late late;  // destroyed last, since it is made first
    late.packet = lci::get_upacket();
    lci::put_upacket(lci::get_upacket());
  }).join();
  CHECK(count_packets() == packets);
}

/// An address inside a packet is refused.
void no_packet_begins_there() {
  const std::vector<void*> all = all_packets();
  std::string refused;
  try {
    lci::put_upacket(
        static_cast<char*>(all[0] == *std::max_element(all.begin(), all.end()) ? all[1] : all[0]) + 8);
  } catch (const std::runtime_error& error) {
    refused = error.what();
  }
  CHECK(refused.find("put_upacket") != std::string::npos);
  put_back(all);
  CHECK(count_packets() == all.size());
}

/// Senders to a queue that is full are answered retry until somebody pops.
void full_queues() {
  lci::comp_t queue = lci::alloc_cq_x().default_length(8)();
  const lci::rcomp_t number = lci::register_rcomp(queue);
  uint64_t value = 0;
  const auto send = [&] {
    return lci::post_am(lci::get_rank_me(), &value, sizeof value, lci::COMP_NULL_RETRY, number);
  };
  int sent = 0;
  for (int refused = 0; refused < 100 && sent < 10000; lci::progress())
    if (send().is_retry())
      ++refused;
    else
      refused = 0, ++sent;
  CHECK(sent >= 8 && sent < 10000);
  for (int i = 0; i < sent; ++i) std::free(pop(queue).buffer);
  post(send);
  std::free(pop(queue).buffer);
  lci::deregister_rcomp(number);
  lci::free_comp(&queue);
}

/// Handlers run in the progress of a thread that waits in a barrier: they may begin another one, but not wait
/// for it.
lci::comp_t barriers_ended;
bool is_in_barrier = false, has_begun_inside = false, is_refused = false;
void begin_barrier(lci::status_t) {
  lci::barrier_x().comp(barriers_ended)();
  if (!is_in_barrier) return;
  has_begun_inside = true;
  try {
    lci::barrier();
  } catch (const std::runtime_error&) {
    is_refused = true;
  }
}
void barrier_in_handler() {
  barriers_ended = lci::alloc_counter();
  lci::comp_t handler = lci::alloc_handler(begin_barrier);
  const lci::rcomp_t number = lci::register_rcomp(handler);
  int64_t begun = 0;
  for (; begun < 1000 && !has_begun_inside; ++begun) {
    while (lci::post_am(lci::get_rank_me(), nullptr, 0, lci::COMP_NULL_RETRY, number).is_retry())
      lci::progress();
    is_in_barrier = true;
    lci::barrier();
    is_in_barrier = false;
  }
  while (lci::counter_get(barriers_ended) != begun) lci::progress();
  CHECK(has_begun_inside && is_refused);
  has_begun_inside = is_refused = false;
  lci::deregister_rcomp(number);
  lci::free_comp(&handler);
  lci::free_comp(&barriers_ended);
}

}  // namespace

int main() {
  for (int runtime = 0; runtime < 2; ++runtime) {
    lci::g_runtime_init();
    many_at_rest();
    threads_at_both_ends();
    what_nobody_pops();
    packets_of_threads();
    packets_of_idle_threads();
    packets_of_destructors();
    no_packet_begins_there();
    full_queues();
    if (lci::get_rank_n() == 1)
      barrier_in_handler();  // as often as the handler needs, which ranks would not agree on
    lci::barrier();
    lci::g_runtime_fina();
  }
  std::puts("ok");
  return 0;
}
