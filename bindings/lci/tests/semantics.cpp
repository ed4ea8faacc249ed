// What holds of attributes, numbers and objects, over several runtimes one after the other.
#include <lct.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.hpp"

namespace {

struct Counting : lci::allocator_base_t {
  void* allocate(size_t size) override {
    ++allocated;
    return gives ? std::malloc(size) : nullptr;
  }
  void deallocate(void* ptr) override { std::free(ptr); }
  int allocated = 0;
  bool gives = true;
};

void attributes() {
  lci::global_initialize();
  lci::global_attr_t process = lci::get_g_default_attr();
  CHECK(process.npackets > 0 && process.packet_size > 0);
  const size_t packets = process.npackets;
  process.npackets *= 2;
  CHECK(process.zero_copy_am);  // by the variable that the test has set
  process.zero_copy_am = false;
  lci::set_g_default_attr(process);
  CHECK(lci::get_g_default_attr().npackets == 2 * packets);
  const lci::runtime_t runtime = lci::g_runtime_init_x().imm_nbits_tag(4).imm_nbits_rcomp(5).rdv_protocol(
      lci::attr_rdv_protocol_t::read)();
  CHECK(runtime == lci::get_g_runtime() && runtime.get_attr_rdv_protocol() == lci::attr_rdv_protocol_t::read);
  CHECK(runtime.get_attr_max_imm_tag() == 15 && runtime.get_attr_max_imm_rcomp() == 31);
  CHECK(runtime.get_attr_max_tag() == UINT32_MAX && runtime.get_attr_max_rcomp() >= 65000);
  CHECK(lci::get_default_packet_pool().get_attr_npackets() == 2 * packets);
  CHECK(lci::get_max_bcopy_size() == process.packet_size);
  CHECK(lci::get_default_net_context().get_attr_atomic_scope() == lci::net_atomic_scope_t::NONE);
  CHECK(lci::get_default_device().get_attr_shm_slot_size() == process.shm_slot_size);

  // Beyond what an immediate of LCI holds.
  const int me = lci::get_rank_me();
  const lci::rcomp_t large = static_cast<lci::rcomp_t>(runtime.get_attr_max_imm_rcomp()) + 1;
  lci::comp_t queue = lci::alloc_cq();
  lci::reserve_rcomps(large + 64);
  CHECK(lci::register_rcomp_x(queue).rcomp(large)() == large);
  lci::barrier();
  long value = 5;
  post([&] { return lci::post_am_x(me, &value, sizeof value, lci::COMP_NULL, large).tag(1000)(); });
  const lci::status_t arrived = pop(queue);
  CHECK(arrived.tag == 1000 && *static_cast<long*>(arrived.buffer) == 5);
  std::free(arrived.buffer);
  lci::barrier();
  lci::free_comp_x(nullptr).comp (&queue)();
  lci::g_runtime_fina();
  process.npackets = packets;
  lci::set_g_default_attr(process);
  lci::global_finalize();
}

void completion_at_the_network() {
  const int me = lci::get_rank_me();
  char bytes[64] = "put";
  lci::mr_t memory = lci::register_memory(bytes, sizeof bytes);
  const lci::rmr_t key = lci::get_rmr(memory);
  lci::comp_t queue = lci::alloc_cq(), counter = lci::alloc_counter();
  const lci::rcomp_t remote = lci::register_rcomp(counter);
  const auto network = lci::comp_semantic_t::network;
  const lci::status_t answers[] = {
      post([&] { return lci::post_put_x(me, bytes, 4, queue, 32, key).comp_semantic(network)(); }),
      post([&] { return lci::post_am_x(me, bytes, 4, queue, remote).comp_semantic(network)(); }),
      post([&] { return lci::post_send_x(me, bytes, 4, 3, queue).comp_semantic(network)(); }), post([&] {
        return lci::post_comm_x(lci::direction_t::OUT, me, bytes, 4, queue)
            .remote_comp(remote)
            .comp_semantic(network)();
      })};
  for (const lci::status_t& answer : answers) {
    CHECK(answer.is_posted());
    CHECK(pop(queue).is_done());
  }
  CHECK(std::strcmp(bytes + 32, "put") == 0);
  // Without an object that could be signalled they are over when they return.
  CHECK(post([&] {
          return lci::post_am_x(me, bytes, 4, lci::COMP_NULL_RETRY, remote).comp_semantic(network)();
        }).is_done());
  char in[4];
  CHECK(lci::post_recv(me, in, 4, 3, lci::COMP_NULL).is_done());
  while (lci::counter_get(counter) < 3) lci::progress();
  lci::deregister_memory(&memory);
  lci::free_comp(&queue);
  lci::free_comp(&counter);
}

/// Its memory stays: a call after the destructor ends the program.
struct Freed : lci::comp_impl_t {
  void signal(lci::status_t) override {}
  static void operator delete(void*) {}
};
/// An object that is freed before the network is done with what it was posted with is not signalled.
void freed_before_the_network_is_done() {
  alignas(Freed) static char storage[sizeof(Freed)];
  const int me = lci::get_rank_me();
  std::vector<char> out(1 << 20, 'o'), in(1 << 20);
  lci::comp_t freed(static_cast<lci::comp_impl_t*>(new (storage) Freed));
  CHECK(lci::post_send_x(me, out.data(), out.size(), 6, freed)
            .comp_semantic(lci::comp_semantic_t::network)()
            .is_posted());
  lci::free_comp(&freed);
  CHECK(lci::post_recv(me, in.data(), in.size(), 6, lci::COMP_NULL).is_done());
  for (int i = 0; i < 1000; ++i) lci::progress();
}

/// More than there are credits, without an object that could tell when they have left.
void sends_before_receives() {
  const int ranks = lci::get_rank_n(), me = lci::get_rank_me();
  const int next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
  constexpr int kMessages = 70000;
  for (int i = 0; i < kMessages; ++i)
    CHECK(lci::post_send(next, &i, sizeof i, static_cast<lci::tag_t>(i % 1000), lci::COMP_NULL).is_done());
  lci::barrier();
  for (int i = 0; i < kMessages; ++i) {
    int got = -1;
    const lci::tag_t tag = static_cast<lci::tag_t>(i % 1000);
    const lci::status_t status = lci::post_recv(before, &got, sizeof got, tag, lci::COMP_NULL);
    CHECK(status.is_done() && status.size == sizeof got && got % 1000 == static_cast<int>(tag));
  }
  lci::barrier();
}

void signals_as_they_were_given() {
  lci::comp_t queue = lci::alloc_cq(), sync = lci::alloc_sync();
  for (const lci::errorcode_t code :
       {lci::errorcode_t::done, lci::errorcode_t::posted_backlog, lci::errorcode_t::fatal}) {
    lci::status_t given(code), got;
    given.rank = 7;
    given.tag = 1ULL << 40;
    given.buffer = &given;
    given.size = 123;
    lci::comp_signal_x(queue, given).status(given)();
    got = lci::cq_pop(queue);
    CHECK(got.error.errorcode == code && got.rank == 7 && got.tag == given.tag);
    CHECK(got.buffer == &given && got.size == 123 && got.user_context == nullptr);
    lci::comp_signal(sync, given);
    CHECK(lci::sync_test(sync, &got) && got.error.errorcode == code && got.buffer == &given);
  }
  CHECK(lci::cq_pop(queue).is_retry() && !lci::sync_test(sync, nullptr));
  lci::comp_t nothing = lci::alloc_sync_x().threshold(0)();
  CHECK(lci::sync_test(nothing, nullptr));
  lci::sync_wait(nothing, nullptr);
  lci::free_comp(&nothing);
  lci::free_comp(&queue);
  lci::free_comp(&sync);
}

void numbers_that_are_registered_again() {
  const int me = lci::get_rank_me();
  const lci::rcomp_t number = lci::reserve_rcomps(1);
  for (long round = 0; round < 5; ++round) {
    lci::comp_t queue = lci::alloc_cq();
    CHECK(lci::register_rcomp_x(queue).rcomp(number)() == number);
    lci::barrier();
    post([&] { return lci::post_am(me, &round, sizeof round, lci::COMP_NULL, number); });
    const lci::status_t arrived = pop(queue);
    CHECK(*static_cast<long*>(arrived.buffer) == round);
    std::free(arrived.buffer);
    lci::barrier();
    if (round % 2 == 0) lci::deregister_rcomp(number);
    lci::free_comp(&queue);
  }
  try {
    lci::post_am(me, nullptr, 0, lci::COMP_NULL, 70000);
    CHECK(false);
  } catch (const std::runtime_error& error) {
    CHECK(std::strstr(error.what(), "70000") != nullptr);
  }
}

long handled = 0;
void on_message(lci::status_t status) {
  handled += *static_cast<long*>(status.buffer);
  lci::get_allocator()->deallocate(status.buffer);
}

/// Objects outlive runtimes: they receive from the one with which they were registered last.
void objects_of_several_runtimes() {
  lci::comp_t handler = lci::alloc_handler(on_message), queue = lci::alloc_cq_x().zero_copy_am(true)();
  for (int round = 1; round <= 3; ++round) {
    Counting counting;
    lci::g_runtime_init();
    const int me = lci::get_rank_me();
    lci::set_allocator_x(nullptr).allocator (&counting)();
    const lci::rcomp_t first = lci::register_rcomp(handler), second = lci::register_rcomp(queue);
    lci::barrier();
    std::string large(3 * lci::get_max_bcopy_size(), 'l');
    long one = 1;
    std::memcpy(&large[0], &one, sizeof one);
    post([&] { return lci::post_am(me, &one, sizeof one, lci::COMP_NULL, first); });
    post([&] { return lci::post_am(me, &large[0], large.size(), lci::COMP_NULL, first); });
    post([&] { return lci::post_am(me, &one, sizeof one, lci::COMP_NULL, second); });
    while (handled < 2 * round) lci::progress();
    CHECK(counting.allocated == 2);
    // The message of the last round is taken when its runtime has gone.
    if (round < 3) {
      const lci::status_t arrived = pop(queue);
      CHECK(*static_cast<long*>(arrived.buffer) == 1);
      lci::put_upacket(arrived.buffer);
    } else {
      while (lci::progress().is_done()) continue;
    }
    CHECK(counting.allocated == 2);
    lci::set_allocator(nullptr);
    lci::barrier();
    lci::g_runtime_fina();
  }
  const lci::status_t late = lci::cq_pop(queue);
  CHECK(late.is_done() && *static_cast<long*>(late.buffer) == 1);
  std::free(late.buffer);
  lci::free_comp(&handler);
  lci::free_comp(&queue);
}

struct Own : lci::comp_impl_t {
  void signal(lci::status_t) override {}
};
/// Without free_comp(): the next object at its address is registered with another runtime.
void an_object_that_the_program_deletes() {
  alignas(Own) char storage[sizeof(Own)];
  lci::runtime_t first = lci::alloc_runtime(), second = lci::alloc_runtime();
  for (const lci::runtime_t runtime : {first, second}) {
    Own* const own = new (storage) Own;
    CHECK(lci::register_rcomp_x(lci::comp_t(own)).runtime(runtime)() == 1);
    own->~Own();
  }
  lci::barrier_x().runtime(first)();
  lci::free_runtime(&second);
  lci::free_runtime(&first);
}

/// What ranks publish to each other by the launcher, as LCI does before it communicates.
void published() {
  LCT_pmi_initialize();
  CHECK(LCT_pmi_initialized() == 1);
  const int me = LCT_pmi_get_rank(), ranks = LCT_pmi_get_size();
  for (int round = 0; round < 2; ++round) {
    std::string key = "key" + std::to_string(round), value = std::to_string(100 * round + me);
    LCT_pmi_publish(&key[0], &value[0]);
    LCT_pmi_barrier();
    for (int rank = 0; rank < ranks; ++rank) {
      char got[LCT_PMI_STRING_LIMIT];
      LCT_pmi_getname(rank, &key[0], got);
      CHECK(std::to_string(100 * round + rank) == got);
    }
  }
  lci::g_runtime_init();
  CHECK(lci::get_rank_me() == me && lci::get_rank_n() == ranks);
  lci::g_runtime_fina();
  CHECK(LCT_pmi_get_rank() == me);
  LCT_pmi_barrier();
  LCT_pmi_finalize();
  CHECK(LCT_pmi_initialized() == 0);
}

/// An allocator that has nothing for a message that was taken over already.
void no_memory() {
  Counting counting;
  counting.gives = false;
  lci::g_runtime_init();
  lci::set_allocator(&counting);
  lci::comp_t queue = lci::alloc_cq();
  const lci::rcomp_t number = lci::register_rcomp(queue);
  long one = 1;
  post([&] { return lci::post_am(lci::get_rank_me(), &one, sizeof one, lci::COMP_NULL, number); });
  pop(queue);
}

}  // namespace

int main(int count, char**) {
  if (count > 1) {
    no_memory();
    return 0;
  }
  attributes();
  lci::g_runtime_init();
  completion_at_the_network();
  freed_before_the_network_is_done();
  sends_before_receives();
  signals_as_they_were_given();
  numbers_that_are_registered_again();
  lci::barrier();
  lci::g_runtime_fina();
  objects_of_several_runtimes();
  an_object_that_the_program_deletes();
  published();
  std::puts("ok");
  return 0;
}
