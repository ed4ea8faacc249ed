// Messages in both forms, to every kind of completion object.
#include <string>
#include <thread>

#include "check.hpp"

namespace {

int handled = 0;
long sum = 0;
void on_message(lci::status_t status) {
  CHECK(status.is_done());
  CHECK(status.get_size() == sizeof(long));
  long value = 0;
  std::memcpy(&value, status.get_buffer(), sizeof value);
  std::free(status.get_buffer());
  sum += value + static_cast<long>(status.get_tag());
  ++handled;
}

struct Own : lci::comp_impl_t {
  void signal(lci::status_t status) override {
    ++signals;
    last = status;
    if (status.user_context == nullptr) std::free(status.buffer);  // of what has arrived
  }
  int signals = 0;
  lci::status_t last;
};

struct Counting : lci::allocator_base_t {
  void* allocate(size_t size) override {
    ++allocated;
    return std::malloc(size);
  }
  void deallocate(void* ptr) override {
    ++deallocated;
    std::free(ptr);
  }
  int allocated = 0;
  int deallocated = 0;
};

void active_messages() {
  const int me = lci::get_rank_me(), ranks = lci::get_rank_n(), next = (me + 1) % ranks;
  const int before = (me + ranks - 1) % ranks;
  lci::comp_t handler = lci::alloc_handler(on_message);
  lci::comp_t local = lci::alloc_cq();
  const lci::rcomp_t remote = lci::register_rcomp(handler);
  lci::barrier();
  for (long i = 0; i < 100; ++i) {
    long value = i;
    post([&] { return lci::post_am(next, &value, sizeof value, lci::COMP_NULL_RETRY, remote); });
  }
  for (long i = 0; i < 100; ++i) {
    long value = i;
    // In any order of arguments, and kept as an object.
    auto operation = lci::post_am_x(next, &value, sizeof value, local, remote).tag(3);
    operation = operation.device(lci::get_default_device()).user_context(&value).allow_done(i % 2 == 0);
    const lci::status_t status = post([&] { return operation(); });
    CHECK(i % 2 == 0 || status.is_posted());
    const lci::status_t ended = finish(status, local);
    CHECK(ended.is_done() && ended.user_context == &value && ended.rank == next);
    CHECK(ended.buffer == &value && ended.size == sizeof value && ended.tag == 3);
  }
  while (handled < 200) lci::progress();
  CHECK(sum == 2 * 4950 + 300);
  handled = 0;

  // Queues, of every size.
  lci::comp_t queue = lci::alloc_cq();
  const lci::rcomp_t to_queue = lci::register_rcomp(queue);
  CHECK(to_queue == remote + 1);
  lci::barrier();
  const size_t packet = lci::get_max_bcopy_size();
  for (size_t size : {size_t{0}, size_t{8}, size_t{100}, packet, packet + 1, 8 * packet}) {
    std::string text(size, static_cast<char>('a' + me % 20));
    const lci::status_t status =
        post([&] { return lci::post_am_x(next, &text[0], size, local, to_queue).tag(size)(); });
    const lci::status_t arrived = pop(queue);
    CHECK(arrived.is_done() && arrived.rank == before && arrived.size == size && arrived.tag == size);
    CHECK(std::string(static_cast<char*>(arrived.buffer), size) ==
          std::string(size, static_cast<char>('a' + before % 20)));
    std::free(arrived.buffer);
    finish(status, local);
    lci::barrier();
  }

  // A program's own object, locally and from afar.
  Own* const own = new Own;
  lci::comp_t mine(own);
  const lci::rcomp_t to_mine = lci::register_rcomp(mine);
  lci::barrier();
  int number = me;
  const lci::status_t status = post(
      lci::post_am_x(next, &number, sizeof number, mine, to_mine).allow_done(false).user_context(&number));
  CHECK(status.is_posted());
  while (own->signals < 2) lci::progress();
  lci::comp_signal(mine, lci::status_t(&number));
  CHECK(own->signals == 3 && own->last.user_context == &number);
  lci::barrier();
  lci::deregister_rcomp(to_mine);
  lci::free_comp(&mine);
  CHECK(mine.is_empty());
  lci::free_comp(&queue);
  lci::free_comp(&handler);
  lci::free_comp(&local);
}

void packets() {
  const int me = lci::get_rank_me(), ranks = lci::get_rank_n(), next = (me + 1) % ranks;
  lci::comp_t queue = lci::alloc_cq_x().zero_copy_am(true)();
  const lci::rcomp_t remote = lci::register_rcomp(queue);
  lci::barrier();
  for (int i = 0; i < 3000; ++i) {
    void* packet = nullptr;
    while ((packet = lci::get_upacket()) == nullptr) lci::progress();
    *static_cast<int*>(packet) = i;
    const size_t sizes[] = {64, 2048, 2049, lci::get_max_bcopy_size()};
    const size_t size = sizes[i % 4];  // copied, or taken as they are
    const lci::status_t status =
        post([&] { return lci::post_am(next, packet, size, lci::COMP_NULL_RETRY, remote); });
    CHECK(status.is_done());
    const lci::status_t arrived = pop(queue);
    CHECK(arrived.size == size && *static_cast<int*>(arrived.buffer) == i);
    lci::put_upacket(arrived.buffer);
  }
  void* const unused = lci::get_upacket();
  CHECK(unused != nullptr);
  lci::put_upacket(unused);
  lci::barrier();
  lci::free_comp(&queue);
}

void allocators() {
  Counting counting;
  lci::set_allocator(&counting);
  CHECK(lci::get_allocator() == &counting);
  lci::comp_t queue = lci::alloc_cq();
  const lci::rcomp_t remote = lci::register_rcomp(queue);
  lci::barrier();
  const size_t large = 3 * lci::get_max_bcopy_size();
  std::string text(large, 'x');
  for (size_t size : {size_t{8}, large}) {
    post([&] { return lci::post_am(lci::get_rank_me(), &text[0], size, lci::COMP_NULL, remote); });
    const lci::status_t arrived = pop(queue);
    CHECK(arrived.size == size && static_cast<char*>(arrived.buffer)[size - 1] == 'x');
    lci::get_allocator()->deallocate(arrived.buffer);
  }
  CHECK(counting.allocated == 2 && counting.deallocated == 2);
  lci::barrier();
  lci::free_comp(&queue);
  lci::set_allocator(nullptr);
}

void sends_and_receives() {
  const int me = lci::get_rank_me(), ranks = lci::get_rank_n(), next = (me + 1) % ranks;
  const int before = (me + ranks - 1) % ranks;
  lci::comp_t sync = lci::alloc_sync_x().threshold(2)();
  CHECK(sync.get_attr_sync_threshold() == 2);
  std::string out(100000, static_cast<char>('a' + me % 20)), in(100000, ' ');
  for (size_t size : {size_t{0}, size_t{8}, size_t{5000}, size_t{100000}}) {
    lci::status_t both[2];
    int signals = 0;
    const lci::status_t receive =
        post([&] { return lci::post_recv_x(before, &in[0], size, 7, sync).user_context(&in)(); });
    signals += receive.is_posted() ? 1 : 0;
    const lci::status_t send =
        post([&] { return lci::post_send_x(next, &out[0], size, 7, sync).user_context(&out)(); });
    signals += send.is_posted() ? 1 : 0;
    for (; signals < 2; ++signals) lci::comp_signal(sync, lci::status_t(&both));
    while (!lci::sync_test(sync, both)) lci::progress();
    for (const lci::status_t& each : both) {
      CHECK(each.is_done());
      if (each.user_context == &in) CHECK(each.rank == before && each.size == size && each.tag == 7);
      if (each.user_context == &out) CHECK(each.rank == next && each.size == size);
    }
    CHECK(in.substr(0, size) == std::string(size, static_cast<char>('a' + before % 20)));
  }
  lci::barrier();

  // Without completion objects, and by every policy.
  long value = me;
  post([&] { return lci::post_send(next, &value, sizeof value, 1, lci::COMP_NULL); });
  post([&] {
    return lci::post_send_x(next, &value, sizeof value, 2, lci::COMP_NULL)
        .matching_policy(lci::matching_policy_t::tag_only)();
  });
  post([&] {
    return lci::post_send_x(next, &value, sizeof value, 3, lci::COMP_NULL)
        .matching_policy(lci::matching_policy_t::rank_only)();
  });
  post([&] {
    return lci::post_send_x(next, &value, sizeof value, 4, lci::COMP_NULL)
        .matching_policy(lci::matching_policy_t::none)();
  });
  const int sources[] = {before, lci::ANY_SOURCE, before, lci::ANY_SOURCE};
  const lci::tag_t tags[] = {1, 2, lci::ANY_TAG, lci::ANY_TAG};
  for (int i = 0; i < 4; ++i) {
    long got = -1;
    const lci::status_t status = lci::post_recv(sources[i], &got, sizeof got, tags[i], lci::COMP_NULL);
    CHECK(status.is_done() && got == before && status.rank == before);
    CHECK(status.tag == static_cast<lci::tag_t>(i + 1) && status.size == sizeof got);
  }
  long none = -1;
  const lci::status_t nothing = lci::post_recv(before, &none, sizeof none, 99, lci::COMP_NULL_RETRY);
  CHECK(nothing.is_retry());
  lci::barrier();

  // A matching engine of the program's own keeps messages apart; post_comm is any operation.
  lci::matching_engine_t engine = lci::alloc_matching_engine();
  lci::comp_t queue = lci::alloc_cq();
  long first = -1, second = -1;
  lci::status_t status = lci::post_comm_x(lci::direction_t::IN, before, &first, sizeof first, queue)
                             .tag(5)
                             .matching_engine(engine)
                             .allow_done(false)();
  CHECK(status.is_posted());
  status = lci::post_recv_x(before, &second, sizeof second, 5, queue).allow_done(false)();
  CHECK(status.is_posted());
  value = 10;
  post([&] {
    return lci::post_comm_x(lci::direction_t::OUT, next, &value, sizeof value, lci::COMP_NULL)
        .matching_engine(engine)
        .tag(5)();
  });
  value = 20;
  post([&] { return lci::post_send(next, &value, sizeof value, 5, lci::COMP_NULL); });
  pop(queue);
  pop(queue);
  CHECK(first == 10 && second == 20);
  lci::barrier();
  lci::free_matching_engine(&engine);
  lci::free_comp(&queue);
  lci::free_comp(&sync);
}

void resources() {
  lci::device_t device = lci::alloc_device();
  lci::endpoint_t endpoint = lci::alloc_endpoint_x().device(device)();
  CHECK(device.get_attr_uid() == 1);
  lci::comp_t counter = lci::alloc_counter();
  const lci::rcomp_t remote = lci::register_rcomp(counter);
  lci::barrier_x().device(device)();
  const int next = (lci::get_rank_me() + 1) % lci::get_rank_n();
  // More than any backlog holds, without an answer retry.
  char byte = 'b';
  for (int i = 0; i < 5000; ++i) {
    const lci::status_t status =
        lci::post_am_x(next, &byte, 1, lci::COMP_NULL, remote).endpoint(endpoint).allow_retry(false)();
    CHECK(status.is_done());
  }
  while (lci::counter_get(counter) < 5000) lci::progress_x().device(device)();
  lci::wait_drained_x().device(device)();
  CHECK(lci::test_drained_x().endpoint(endpoint)());
  lci::counter_set(counter, -2);
  lci::comp_signal(counter, lci::status_t(lci::errorcode_t::done));
  CHECK(lci::counter_get(counter) == -1);
  lci::barrier_x().device(device)();
  lci::free_comp(&counter);
  lci::free_endpoint(&endpoint);
  lci::free_device(&device);
  CHECK(device.is_empty());

  const lci::rcomp_t reserved = lci::reserve_rcomps(3);
  lci::comp_t queue = lci::alloc_cq();
  CHECK(lci::register_rcomp_x(queue).rcomp(reserved + 2)() == reserved + 2);
  CHECK(lci::register_rcomp(queue) == reserved + 3);
  lci::free_comp(&queue);

  // A second runtime beside the global one.
  lci::runtime_t other = lci::alloc_runtime();
  lci::barrier_x().runtime(other)();
  lci::free_runtime(&other);
}

}  // namespace

int main() {
  lci::global_initialize();
  const int me = lci::get_rank_me();
  lci::global_attr_t attributes = lci::get_g_default_attr();
  attributes.cq_default_length = 1000;
  lci::set_g_default_attr(attributes);
  lci::g_runtime_init();
  CHECK(lci::get_rank_me() == me);
  CHECK(lci::get_g_runtime().get_attr_max_tag() == 4294967295U);
  active_messages();
  packets();
  allocators();
  sends_and_receives();
  resources();
  lci::barrier();
  lci::g_runtime_fina();
  lci::global_finalize();
  CHECK(!lci::is_active());
  std::puts("ok");
  return 0;
}
