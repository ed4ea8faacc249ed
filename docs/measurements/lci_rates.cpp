// Rates of active messages of 8 bytes from rank 0 to the last rank, through lci.hpp and through weft's own
// interface: the figures of docs/guide/bindings/lci.md. Compiled once for each:
//     c++ -std=c++20 -O2 -DTHROUGH_LCI lci_rates.cpp -o rates_lci    with LCI::LCI
//     c++ -std=c++20 -O2 -DNDEBUG lci_rates.cpp -o rates_weft        with weft::weft
//     weft run -n 2 -- taskset and chrt of each rank ... rates_lci handler 5000000
// The first argument is handler, packets (a handler with zero_copy_am; with weft: handler) or queue. Prints
// millions of messages a second.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {
std::uint64_t arrived = 0;
}

#ifdef THROUGH_LCI
#include <lci.hpp>
namespace {
void free_payload(lci::status_t status) {
  ++arrived;
  std::free(status.buffer);
}
void return_packet(lci::status_t status) {
  ++arrived;
  lci::put_upacket(status.buffer);
}
class Job {
 public:
  explicit Job(std::string_view kind) : is_queue_(kind == "queue") {
    lci::g_runtime_init();
    target_ = is_queue_           ? lci::alloc_cq()
              : kind == "packets" ? lci::alloc_handler_x(return_packet).zero_copy_am(true)()
                                  : lci::alloc_handler(free_payload);
    remote_ = lci::register_rcomp(target_);
  }
  ~Job() {
    lci::free_comp(&target_);
    lci::g_runtime_fina();
  }
  int rank() const { return lci::get_rank_me(); }
  int ranks() const { return lci::get_rank_n(); }
  void barrier() { lci::barrier(); }
  bool post(int to, std::uint64_t& value) {
    return !lci::post_am(to, &value, sizeof value, lci::COMP_NULL_RETRY, remote_).is_retry();
  }
  void progress() { lci::progress(); }
  void drain() {
    lci::progress();
    if (!is_queue_) return;
    for (lci::status_t status = lci::cq_pop(target_); status.is_done(); status = lci::cq_pop(target_))
      free_payload(status);
  }

 private:
  bool is_queue_;
  lci::comp_t target_;
  lci::rcomp_t remote_;
};
}  // namespace
#else
#include <weft/collective.hpp>
#include <weft/weft.hpp>
namespace {
class Job {
 public:
  explicit Job(std::string_view kind) : is_queue_(kind == "queue") {
    weft::Completion& target = is_queue_ ? static_cast<weft::Completion&>(queue_) : handler_;
    remote_ = runtime_.expose(target, {.id = 1});
  }
  int rank() const { return runtime_.rank(); }
  int ranks() const { return runtime_.size(); }
  void barrier() {
    if (collective_.barrier() != weft::Outcome::ok) std::abort();
  }
  bool post(int to, std::uint64_t& value) {
    return endpoint_.post_am(to, remote_, weft::bytes_of(value), {.may_complete_now = true}).is_accepted();
  }
  void progress() { endpoint_.progress(); }
  void drain() {
    endpoint_.progress();
    if (!is_queue_) return;
    for (weft::Message message; queue_.pop(message);) Take{&sum_}(message);
  }

 private:
  struct Take {
    std::uint64_t* sum;
    void operator()(const weft::Message& message) const {
      ++arrived;
      *sum += message.as<std::uint64_t>();
    }
  };
  bool is_queue_;
  std::uint64_t sum_ = 0;
  weft::Runtime runtime_;
  weft::Endpoint endpoint_{runtime_};
  weft::Handler<Take> handler_{Take{&sum_}};
  weft::CompletionQueue queue_;
  weft::RemoteCompletion remote_;
  weft::Collective collective_{runtime_, endpoint_};
};
}  // namespace
#endif

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const std::uint64_t messages = std::strtoull(arguments[2], nullptr, 10);
  constexpr int kBurst = 64;
  Job job(arguments[1]);
  const int last = job.ranks() - 1;
  job.barrier();
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t next = 0; job.rank() == 0 && next < messages;) {
    for (int posted = 0; posted < kBurst && next < messages && job.post(last, next); ++posted) ++next;
    if (last == 0)
      job.drain();
    else
      job.progress();
  }
  if (job.rank() == last) {
    while (arrived < messages) job.drain();
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    std::printf("%.2f\n", static_cast<double>(messages) / spent.count() / 1e6);
  }
  job.barrier();
}
