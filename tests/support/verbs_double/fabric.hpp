// A double of verbs: devices of one process, between whose queue pairs work requests are carried out in
// memory, as verbs say; it fails on request. What is wrong by the rules of verbs completes with the error
// that a device would report: keys that name no registration, messages that are longer than their buffer,
// peers that are gone; a completion queue that overflows is lost.
// Sources: fabric.cpp, carrying.cpp.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <span>
#include <vector>

namespace weft::test::verbs {

/// What goes wrong, and how often. Zeros: nothing.
struct Faults {
  std::uint64_t seed = 0;          // completions of several queue pairs come in an order that it chooses, and
                                   // polls return fewer than there are
  std::uint32_t refuse_sends = 0;  // every so-manieth post of a reliable queue pair answers ENOMEM
  std::uint32_t lose_datagrams = 0;    // every so-manieth datagram is lost
  std::uint32_t double_datagrams = 0;  // every so-manieth datagram comes twice
  std::uint32_t no_receiver =
      0;  // every so-manieth time the receiver is not ready, although a buffer is posted
  std::uint32_t fail_sends =
      0;  // so many of the work requests to come fail, as if the peer were out of reach
  std::uint32_t fail_datagrams =
      0;                           // so many of the datagrams to come fail, and their queue pair stops (SQE)
  std::uint32_t too_long = 0;      // so many of the messages to come are longer than their buffer
  bool hides_completions = false;  // polls find nothing
  bool has_no_atomics = false;     // of devices that are opened from now on
  // So many of the next calls that make one of these fail:
  std::uint32_t refuse_pairs = 0;
  std::uint32_t refuse_routes = 0;
  std::uint32_t refuse_registrations = 0;
  std::uint32_t refuse_thread_domains = 0;
  // Entries that queues of networks to come have at most; 0: as many as soft-RoCE's.
  std::uint32_t most_receives = 0;
  std::uint32_t most_completions = 0;
};

/// Threads that are inside calls of one object. A second one would wait in the lock of a provider.
struct Inside {
  std::atomic<std::uint32_t> threads{0};
};

/// Used by one thread at a time, by its contract.
struct ThreadDomain : ibv_td, Inside {};

struct Domain : ibv_pd {
  ibv_pd* root = nullptr;  // in which memory is registered
  ThreadDomain* threads = nullptr;
};

struct CompletionQueue : ibv_cq, Inside {
  std::deque<ibv_wc> entries;
  bool is_armed = false;
};

struct Receive {
  std::uint64_t id;
  ibv_sge piece;
};

struct ReceiveQueue : ibv_srq, Inside {
  std::deque<Receive> receives;
  std::uint32_t most = 0;
};

struct Send {
  ibv_send_wr request;
  std::vector<ibv_sge> pieces;
  std::vector<std::byte> inlined;
};

struct QueuePair : ibv_qp, Inside {
  ibv_qp_cap limits{};
  ThreadDomain* threads = nullptr;
  std::uint32_t peer = 0;              // number of the queue pair that it is connected with
  std::uint32_t key = 0;               // of datagrams
  std::deque<Send> sends;              // posted and not carried out
  std::uint32_t unretired = 0;         // work requests whose place in the queue is not free yet
  std::deque<std::uint32_t> retiring;  // for each completion to come: the places that it frees
  std::uint32_t unsignalled = 0;       // carried out since the last completion
  std::deque<Receive> receives;        // of datagrams
};

struct Channel : ibv_comp_channel {
  CompletionQueue* queue = nullptr;
};

[[nodiscard]] inline std::byte* at(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }
[[nodiscard]] ibv_wc entry_of(const QueuePair& pair, std::uint64_t id, ibv_wc_opcode opcode,
                              ibv_wc_status status);

class Fabric {
 public:
  static Fabric& instance();

  void set(const Faults& faults);
  /// Returns true when the next call that makes such an object shall fail, with errno.
  [[nodiscard]] bool refuses(std::uint32_t Faults::*objects);
  /// Returns how many entries a queue has at most.
  [[nodiscard]] std::uint32_t limit(std::uint32_t Faults::*objects, std::uint32_t otherwise);
  /// Work requests that have failed so far.
  [[nodiscard]] std::uint64_t failed() const noexcept { return failed_; }
  /// Messages that were carried so far, and receive buffers that are posted now, of all devices.
  [[nodiscard]] std::uint64_t carried() const noexcept { return carried_; }
  [[nodiscard]] std::size_t posted_receives();
  /// Work requests that were taken so far, of reliable queue pairs.
  [[nodiscard]] std::uint64_t requests() const noexcept { return requests_; }
  /// Registrations that there are now, of all devices.
  [[nodiscard]] std::size_t registrations();
  /// Registrations that have been made so far.
  [[nodiscard]] std::size_t made_registrations() const noexcept { return next_key_ - kFirstKey; }
  [[nodiscard]] bool has_atomics();
  /// For each thread domain that has some the number of its queue pairs, in order.
  [[nodiscard]] std::vector<std::size_t> pairs_by_thread_domain();
  /// Brings a datagram to every queue pair for datagrams, as if a stranger had sent it.
  void bring(std::span<const std::byte> datagram);
  /// Calls so far that found another thread inside the same object.
  [[nodiscard]] std::uint64_t met() const noexcept { return met_; }
  /// Raises an event of all queue pairs that were given `pair_context`; null: of all devices.
  void raise(ibv_event_type type, void* pair_context);

  // The functions of a device, on objects of this fabric.
  int post_send(QueuePair& from, ibv_send_wr* request, ibv_send_wr** refused);
  int post_receive(ReceiveQueue& queue, ibv_recv_wr* request, ibv_recv_wr** refused);
  int post_receive(QueuePair& of, ibv_recv_wr* request, ibv_recv_wr** refused);
  int poll(CompletionQueue& queue, std::span<ibv_wc> entries);
  void arm(CompletionQueue& queue);
  int modify(QueuePair& pair, const ibv_qp_attr& attributes, int which);
  void add(QueuePair& pair);
  void remove(QueuePair& pair);
  void add(ReceiveQueue& queue);
  void remove(ReceiveQueue& queue);
  void add(ibv_mr& registration, int access);
  void remove(ibv_mr& registration);
  void open(ibv_context& context);
  void close(ibv_context& context);
  [[nodiscard]] bool take_event(ibv_context& context, ibv_async_event& event);

 private:
  /// A thread is inside while this lives.
  class Visit {
   public:
    Visit(Inside& object, std::atomic<std::uint64_t>& met) noexcept : object_(object) {
      if (object_.threads.fetch_add(1) != 0) ++met;
    }
    ~Visit() { object_.threads.fetch_sub(1); }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    Inside& object_;
  };
  struct Registered {
    ibv_mr* registration;
    int access;
  };
  enum class Carried : std::uint8_t { yes, later };

  void add_event(ibv_event_type type, ibv_context* context, ibv_qp* pair);
  void carry(QueuePair& from);
  void carry_all();
  Carried carry_first(QueuePair& from);
  Carried send(QueuePair& from, const Send& send);
  void send_datagram(QueuePair& from, const Send& send);
  /// Returns false when the queue pair has no buffer for it.
  bool deliver_datagram(QueuePair& to, std::span<const std::byte> payload);
  Carried access(QueuePair& from, const Send& send);
  Carried change(QueuePair& from, const Send& send);
  void end_access(QueuePair& from, QueuePair& to, const Send& send, ibv_wc_status status);
  void complete_send(QueuePair& from, const Send& send, ibv_wc_status status);
  void complete(ibv_cq* queue, const ibv_wc& entry);
  void fail(QueuePair& pair);
  [[nodiscard]] QueuePair* peer_of(const QueuePair& from) const;
  [[nodiscard]] bool covers(std::uint32_t key, std::uint64_t address, std::size_t size, int access,
                            const ibv_pd* domain) const;
  [[nodiscard]] bool gather(const QueuePair& from, const Send& send, std::vector<std::byte>& bytes) const;
  [[nodiscard]] bool is_turn(std::uint32_t every, std::uint64_t& count) const noexcept {
    return every != 0 && ++count % every == 0;
  }

  std::mutex mutex_;
  Faults faults_;
  std::minstd_rand random_;
  std::map<std::uint32_t, QueuePair*> pairs_;          // by number
  std::map<std::uint32_t, Registered> registrations_;  // by key
  std::set<const ReceiveQueue*> receive_queues_;
  std::set<QueuePair*> busy_;  // with sends that are not carried out
  std::map<ibv_context*, std::deque<ibv_async_event>> events_;
  std::uint32_t next_pair_ = 16;
  static constexpr std::uint32_t kFirstKey = 0x100;
  std::atomic<std::uint32_t> next_key_ = kFirstKey;
  struct Turns {
    std::uint64_t posts = 0;
    std::uint64_t lost = 0;
    std::uint64_t doubled = 0;
    std::uint64_t messages = 0;
  } turns_;  // since set(), so that no test depends on those before it
  std::uint64_t failed_ = 0;
  std::atomic<std::uint64_t> carried_{0};
  std::atomic<std::uint64_t> requests_{0};
  std::atomic<std::uint64_t> met_{0};
};

/// Makes weft's network over verbs use this fabric instead of the devices of this host.
void install();

}  // namespace weft::test::verbs
