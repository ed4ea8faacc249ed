// The same through lci.hpp: messages of 8 bytes to this rank itself.
#include <lci.hpp>

#include "instructions.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace weft::budget {
namespace {

std::uint64_t arrived = 0;

void free_payload(lci::status_t status) {
  ++arrived;
  std::free(status.buffer);
}
void return_packet(lci::status_t status) {
  ++arrived;
  lci::put_upacket(status.buffer);
}

/// Active messages to `target`; `post` posts one, `drain` takes what has come after each burst.
template <class Post, class Drain>
void exchange(std::uint64_t messages, lci::comp_t target, const Post& post, const Drain& drain) {
  const lci::rcomp_t remote = lci::register_rcomp(target);
  const int self = lci::get_rank_me();
  std::uint64_t next = 0;
  while (next < messages) {
    for (std::uint64_t count = 0; count < kBurst; ++count) {
      if (post(self, &next, remote).is_retry()) break;
      ++next;
    }
    lci::progress();
    drain();
  }
  while (arrived < next) {
    lci::progress();
    drain();
  }
  lci::free_comp(&target);
}

lci::status_t post_unobserved(int rank, void* value, lci::rcomp_t remote) {
  return lci::post_am(rank, value, sizeof(std::uint64_t), lci::COMP_NULL_RETRY, remote);
}

void to_handler(std::uint64_t messages) {
  exchange(messages, lci::alloc_handler(free_payload), post_unobserved, [] {});
}

void packets(std::uint64_t messages) {
  exchange(messages, lci::alloc_handler_x(return_packet).zero_copy_am(true)(), post_unobserved, [] {});
}

void to_queue(std::uint64_t messages) {
  const lci::comp_t queue = lci::alloc_cq();
  exchange(messages, queue, post_unobserved, [&] {
    for (lci::status_t status = lci::cq_pop(queue); status.is_done(); status = lci::cq_pop(queue))
      free_payload(status);
  });
}

void observed(std::uint64_t messages) {
  lci::comp_t ends = lci::alloc_cq();
  const lci::device_t device = lci::get_default_device();
  std::uint64_t ended = 0;
  exchange(
      messages, lci::alloc_handler(free_payload),
      [&](int rank, void* value, lci::rcomp_t remote) {
        return lci::post_am_x(rank, value, sizeof(std::uint64_t), ends, remote)
            .device(device)
            .tag(3)
            .user_context(value)
            .allow_done(false)();
      },
      [&] {
        while (lci::cq_pop(ends).is_done()) ++ended;
      });
  if (ended != arrived) std::abort();
  lci::free_comp(&ends);
}

void matched(std::uint64_t messages) {
  lci::comp_t ends = lci::alloc_cq();
  const int self = lci::get_rank_me();
  for (std::uint64_t count = 0; count < messages; ++count) {
    std::uint64_t in = 0;
    if (!lci::post_recv_x(self, &in, sizeof in, 5, ends).allow_done(false)().is_posted()) std::abort();
    while (lci::post_send(self, &count, sizeof count, 5, lci::COMP_NULL_RETRY).is_retry()) lci::progress();
    while (lci::cq_pop(ends).is_retry()) lci::progress();
    if (in != count) std::abort();
  }
  lci::free_comp(&ends);
}

constexpr Path kPaths[] = {
    {"lci_handler", to_handler}, {"lci_packets", packets}, {"lci_queue", to_queue},
    {"lci_observed", observed},  {"lci_matched", matched},
};

}  // namespace
}  // namespace weft::budget

int main(int count, char** arguments) {
  const bool is_run = count > 2;
  if (is_run) lci::g_runtime_init();
  const int result = weft::budget::run_path(count, arguments, weft::budget::kPaths);
  if (is_run) lci::g_runtime_fina();
  return result;
}
