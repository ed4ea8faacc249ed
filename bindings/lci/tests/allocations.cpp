// Active messages of 8 bytes into packets: nothing is allocated for a message.
#include <atomic>
#include <new>

#include "check.hpp"

namespace {
std::atomic<long> allocations(0);
/// Counts what the default allocator would ask malloc() for.
struct Counting : lci::allocator_base_t {
  void* allocate(size_t size) override {
    ++allocations;
    return std::malloc(size);
  }
  void deallocate(void* ptr) override { std::free(ptr); }
};
long handled = 0;
void on_message(lci::status_t status) {
  handled += *static_cast<long*>(status.buffer);
  lci::put_upacket(status.buffer);
}
}  // namespace

void* operator new(size_t size) {
  ++allocations;
  void* const memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

int main() {
  lci::g_runtime_init();
  Counting counting;
  lci::set_allocator(&counting);
  lci::comp_t handler = lci::alloc_handler_x(on_message).zero_copy_am(true)();
  lci::comp_t queue = lci::alloc_cq_x().zero_copy_am(true)();
  lci::comp_t ends = lci::alloc_cq();
  const lci::rcomp_t to_handler = lci::register_rcomp(handler), to_queue = lci::register_rcomp(queue);
  const int me = lci::get_rank_me();
  long popped = 0, before = 0;
  for (long i = 0; i < 3000; ++i) {
    if (i == 1000) before = allocations;  // queues and lanes have grown by then
    long one = 1;
    post([&] { return lci::post_am(me, &one, sizeof one, lci::COMP_NULL_RETRY, to_handler); });
    post([&] {
      return lci::post_am_x(me, &one, sizeof one, lci::COMP_NULL_RETRY, to_queue).tag(5).user_context(&one)();
    });
    const lci::status_t status = pop(queue);
    popped += *static_cast<long*>(status.buffer);
    lci::put_upacket(status.buffer);
    // Its end is signalled by progress.
    post([&] {
      return lci::post_am_x(me, &one, sizeof one, ends, to_handler)
          .comp_semantic(lci::comp_semantic_t::network)();
    });
    CHECK(pop(ends).is_done());
  }
  const long after = allocations;
  while (handled < 6000) lci::progress();
  CHECK(popped == 3000);
  if (after != before) std::fprintf(stderr, "%ld allocations for 6000 messages\n", after - before);
  CHECK(after == before);
  lci::free_comp(&handler);
  lci::free_comp(&queue);
  lci::free_comp(&ends);
  lci::set_allocator(&lci::g_allocator_default);
  lci::g_runtime_fina();
  std::puts("ok");
  return 0;
}
