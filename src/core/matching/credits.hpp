// Credits: the number of unexpected messages that a rank stores for each of its peers.
//
// A sender takes a credit for every message that travels with its payload, and gets it back when the message
// has matched its receive. Credits return an eighth at a time from each of three words, so that at most three
// eighths of them are ever on hold (counted by the thread of a serial endpoint, by the first other thread,
// and by all others).
//
// Where the way to a peer is long, the messages under way would be limited by the credits that come back in a
// round trip: the receiver then grants more, as long as messages find their receives.
#pragma once

#include <weft/detail/bias.hpp>
#include <weft/options.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace weft::core {

/// Counters by (device of the peer, peer); rows are allocated at first use.
template <class Account>
class AccountTable {
 public:
  static constexpr std::uint32_t kDevices = 256;
  explicit AccountTable(int ranks) noexcept : ranks_(static_cast<std::size_t>(ranks)) {}

  [[nodiscard]] Account& at(int peer, std::uint8_t device) {
    // Pairs with the release below.
    Account* row = rows_[device].load(std::memory_order_acquire);
    return (row != nullptr ? row : make(device))[peer];
  }
  template <class Visit>
  void for_each(const Visit& visit) {
    for (std::uint32_t device = 0; device < kDevices; ++device)
      if (Account* row = rows_[device].load(std::memory_order_acquire); row != nullptr)
        for (std::size_t peer = 0; peer < ranks_; ++peer)
          visit(static_cast<int>(peer), static_cast<std::uint8_t>(device), row[peer]);
  }

 private:
  Account* make(std::uint8_t device) {
    const std::lock_guard lock(mutex_);  // first contact only
    if (Account* row = rows_[device].load(std::memory_order_relaxed); row != nullptr) return row;
    owned_.push_back(std::make_unique<Account[]>(ranks_));
    rows_[device].store(owned_.back().get(), std::memory_order_release);
    return owned_.back().get();
  }

  const std::size_t ranks_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Account[]>> owned_;
  std::array<std::atomic<Account*>, kDevices> rows_{};
};

/// A sending device's balance with every device of its peers, for one message class. It outlives the device,
/// as the ledgers of its peers do, which owe their credits to the next device of the same index.
class Credits {
 public:
  Credits(int ranks, std::uint32_t limit) noexcept : accounts_(ranks), limit_(limit) {}

  [[nodiscard]] std::uint32_t limit() const noexcept { return limit_; }

  /// Takes up to `count` credits; returns the number taken. `exclusive`: the caller is the only thread that
  /// uses the device; then no locked instruction is executed.
  [[nodiscard]] std::uint32_t take_up_to(std::uint32_t count, int peer, std::uint8_t device,
                                         bool exclusive) noexcept {
    Account& account = accounts_.at(peer, device);
    std::uint64_t taken = account.taken.load(std::memory_order_relaxed);
    for (;;) {
      const auto out = static_cast<std::uint32_t>(taken - account.returned.load(std::memory_order_relaxed));
      const std::uint32_t most = limit_ + account.extra.load(std::memory_order_relaxed);
      const std::uint32_t free = most - out;
      const std::uint32_t granted = count < free ? count : free;
      if (granted == 0) return 0;
      if (exclusive) {
        account.taken.store(taken + granted, std::memory_order_relaxed);
        return granted;
      }
      if (account.taken.compare_exchange_weak(taken, taken + granted, std::memory_order_relaxed))
        return granted;
    }
  }
  /// Called for each refusal; returns true when there were many since a credit last came back.
  [[nodiscard]] bool has_waited_too_long(int peer, std::uint8_t device) noexcept {
    Account& account = accounts_.at(peer, device);
    const std::uint32_t refusals = account.refusals.load(std::memory_order_relaxed) + 1;
    account.refusals.store(refusals, std::memory_order_relaxed);
    return refusals > kRefusalLimit;
  }
  /// Gives up credits that were not needed.
  void undo(std::uint32_t count, int peer, std::uint8_t device) noexcept {
    accounts_.at(peer, device).taken.fetch_sub(count, std::memory_order_relaxed);
  }
  /// Counts returned credits. Returns false when the peer returns more than it has.
  bool give(int peer, std::uint8_t device, std::uint32_t count, bool exclusive) noexcept {
    Account& account = accounts_.at(peer, device);
    const std::uint64_t returned = account.returned.load(std::memory_order_relaxed);
    const std::uint64_t out = account.taken.load(std::memory_order_relaxed) - returned;
    if (count > out) return false;
    if (exclusive)
      account.returned.store(returned + count, std::memory_order_relaxed);
    else
      account.returned.fetch_add(count, std::memory_order_relaxed);
    account.refusals.store(0, std::memory_order_relaxed);
    return true;
  }
  /// The peer grants so many more from now on. Returns false when that cannot be.
  bool raise(int peer, std::uint8_t device, std::uint32_t by) noexcept {
    Account& account = accounts_.at(peer, device);
    if (account.extra.load(std::memory_order_relaxed) + by > kMostExtra) return false;
    account.extra.fetch_add(by, std::memory_order_relaxed);
    return true;
  }
  static constexpr std::uint32_t kMostExtra = 1U << 16;
  /// The number of credits that were ever taken and not given up again.
  [[nodiscard]] std::uint64_t taken() noexcept {
    std::uint64_t sum = 0;
    accounts_.for_each([&](int, std::uint8_t, const Account& account) {
      sum += account.taken.load(std::memory_order_relaxed);
    });
    return sum;
  }

 private:
  static constexpr std::uint32_t kRefusalLimit =
      2000;  // some tens of microseconds of a thread that tries again
  struct Account {
    std::atomic<std::uint64_t> taken{0};     // by senders
    std::atomic<std::uint64_t> returned{0};  // by progress
    std::atomic<std::uint32_t> refusals{0};  // since a credit came back; approximate
    std::atomic<std::uint32_t> extra{0};     // granted beyond the limit
  };
  AccountTable<Account> accounts_;
  const std::uint32_t limit_;
};

/// The Credits of a device, by message class.
class SendCredits {
 public:
  SendCredits(int ranks, std::uint32_t limit) noexcept
      : credits_{Credits(ranks, limit), Credits(ranks, limit), Credits(ranks, limit)} {}
  [[nodiscard]] Credits& of(MessageClass message_class) noexcept {
    return credits_[static_cast<std::size_t>(message_class)];
  }
  [[nodiscard]] static constexpr std::size_t classes() noexcept { return 3; }
  /// Credits::taken() of all classes.
  [[nodiscard]] std::uint64_t taken() noexcept {
    std::uint64_t sum = 0;
    for (Credits& credits : credits_) sum += credits.taken();
    return sum;
  }

 private:
  std::array<Credits, 3> credits_;
};

/// The credits that a receiving device owes the devices of its peers, for one message class. It outlives the
/// device: messages that arrived there may match their receives later.
class CreditLedger {
 public:
  /// `kept`: the number of credits that the ledgers of the device have stored for collect().
  CreditLedger(int ranks, std::uint32_t device, std::uint32_t limit, std::atomic<std::uint32_t>& kept,
               std::uint8_t message_class = 0) noexcept
      : accounts_(ranks),
        device_(device),
        limit_(limit),
        batch_(limit < 16 ? 1 : std::bit_floor(limit / 8)),
        message_class_(message_class),
        kept_(kept) {}

  /// Counts messages that have matched their receives. Returns the number of credits to return to the peer
  /// now; 0: none yet. `exclusive`: the caller is the only thread that progresses the device.
  [[nodiscard]] std::uint32_t consume(int peer, std::uint8_t device, std::uint32_t messages,
                                      bool exclusive) noexcept {
    Account& account = accounts_.at(peer, device);
    if (!exclusive) return whole_batches(add(account, messages * kSettled) / kSettled, messages);
    const std::uint64_t before = account.consumed.load(std::memory_order_relaxed);
    account.consumed.store(before + messages, std::memory_order_relaxed);
    return whole_batches(before, messages);
  }
  /// consume() for one message that was admitted and waits no longer. Any thread.
  [[nodiscard]] std::uint32_t consume_waiting(int peer, std::uint8_t device) noexcept {
    return whole_batches(add(accounts_.at(peer, device), kSettled - 1) / kSettled, 1);
  }
  /// Counts messages that begin to wait for their receives. Returns false when the peer has no credits for
  /// them. Any thread; for a peer that sends without credits, threads that call this at the same time may
  /// each admit as many as one of them may.
  [[nodiscard]] bool admit(int peer, std::uint8_t device, std::uint32_t messages = 1) noexcept {
    Account& account = accounts_.at(peer, device);
    if (is_own(account)) {
      // Only this thread changes its own word, so the sum was true at a moment.
      const std::uint64_t sum =
          account.own.load(std::memory_order_relaxed) + account.by_any.load(std::memory_order_acquire);
      if (waiting_in(sum) + messages > most_of(account)) return false;
      add_own(account, messages);
      return true;
    }
    account.by_any.fetch_add(messages, std::memory_order_acq_rel);
    if (waiting(account) <= most_of(account)) return true;
    account.by_any.fetch_sub(messages, std::memory_order_release);
    return false;
  }
  /// Grants the peer up to `by` further credits, so that it has `most` at most; returns how many. 0 where
  /// messages wait: it is receives that are missing. They are granted when this returns, and to be told.
  [[nodiscard]] std::uint32_t raise(int peer, std::uint8_t device, std::uint32_t by,
                                    std::uint32_t most) noexcept {
    Account& account = accounts_.at(peer, device);
    std::uint32_t extra = account.extra.load(std::memory_order_relaxed);
    const std::uint32_t now = limit_ + extra;
    if (now >= most || waiting(account) * 8 > now) return 0;
    const std::uint32_t more = by < most - now ? by : most - now;
    return account.extra.compare_exchange_strong(extra, extra + more, std::memory_order_relaxed) ? more : 0;
  }
  /// The peer could not be told.
  void lower(int peer, std::uint8_t device, std::uint32_t by) noexcept {
    accounts_.at(peer, device).extra.fetch_sub(by, std::memory_order_relaxed);
  }
  /// Messages that this thread has admitted do not wait after all.
  void forget(int peer, std::uint8_t device, std::uint32_t messages = 1) noexcept {
    add(accounts_.at(peer, device), std::uint64_t{0} - messages);
  }
  /// The network had no room for returned credits: stores them for collect().
  void keep(int peer, std::uint8_t device, std::uint32_t count) noexcept {
    accounts_.at(peer, device).kept.fetch_add(count, std::memory_order_relaxed);
    // Pairs with the acquire in CreditLedgers::has_kept().
    kept_.fetch_add(count, std::memory_order_release);
  }
  /// Calls send(peer, device, count) for all stored credits, until it returns false.
  template <class Send>
  std::size_t collect(const Send& send) noexcept {
    std::size_t sent = 0;
    accounts_.for_each([&](int peer, std::uint8_t device, Account& account) {
      if (account.kept.load(std::memory_order_relaxed) == 0) return;
      const std::uint32_t count = account.kept.exchange(0, std::memory_order_relaxed);
      kept_.fetch_sub(count, std::memory_order_relaxed);
      if (count == 0) return;
      if (send(peer, device, count))
        ++sent;
      else
        keep(peer, device, count);
    });
    return sent;
  }
  /// Numbers of messages with a credit that have arrived, and of those among them that wait for their
  /// receives.
  struct Arrivals {
    std::uint64_t all = 0;
    std::uint64_t waiting = 0;
  };
  [[nodiscard]] Arrivals arrivals() noexcept {
    Arrivals sum;
    accounts_.for_each([&](int, std::uint8_t, const Account& account) {
      sum.waiting += waiting(account);
      sum.all += account.consumed.load(std::memory_order_relaxed) +
                 account.own.load(std::memory_order_relaxed) / kSettled +
                 account.by_any.load(std::memory_order_relaxed) / kSettled;
    });
    sum.all += sum.waiting;
    return sum;
  }
  /// The device whose arrivals are counted here.
  [[nodiscard]] std::uint32_t device() const noexcept { return device_; }
  [[nodiscard]] std::uint8_t message_class() const noexcept { return message_class_; }

 private:
  // Two counts in one number, because a message that matches its late receive changes both: the number of
  // messages consumed, and the number of messages of the peer that wait. Each of two such words may hold a
  // negative number of waiting messages, because one thread may consume what another has admitted; their sum
  // is valid.
  static constexpr std::uint64_t kSettled = 1U << 24;  // far more than a peer has credits
  static constexpr std::uint64_t kWaiting = kSettled - 1;
  static constexpr std::uint64_t kNone = kSettled / 2;  // initial value of a word, around which it is kept
  struct Account {
    std::atomic<std::uint64_t> consumed{0};  // by the one thread that progresses the device
    std::atomic<std::uint64_t> own{kNone};   // by the thread that came first, without locked instructions
    std::atomic<std::uint64_t> by_any{kNone};
    std::atomic<std::uintptr_t> owner{0};  // mark of the thread that came first
    std::atomic<std::uint32_t> kept{0};
    std::atomic<std::uint32_t> extra{0};  // granted beyond the limit
  };
  [[nodiscard]] std::uint32_t most_of(const Account& account) const noexcept {
    return limit_ + account.extra.load(std::memory_order_relaxed);
  }

  /// Returns true when `own` is the calling thread's.
  [[nodiscard]] static bool is_own(Account& account) noexcept {
    const std::uintptr_t me = detail::ProcessThreads::mark();
    std::uintptr_t owner = account.owner.load(std::memory_order_relaxed);
    return owner == me ||
           (owner == 0 && account.owner.compare_exchange_strong(owner, me, std::memory_order_relaxed));
  }
  /// Changes the calling thread's word, and returns its value before.
  static std::uint64_t add(Account& account, std::uint64_t change) noexcept {
    return is_own(account) ? add_own(account, change)
                           : account.by_any.fetch_add(change, std::memory_order_acq_rel);
  }
  static std::uint64_t add_own(Account& account, std::uint64_t change) noexcept {
    const std::uint64_t before = account.own.load(std::memory_order_relaxed);
    const std::uint64_t after = before + change;
    account.own.store(after, std::memory_order_release);
    if ((after & kWaiting) - kNone / 2 >= kNone) [[unlikely]]
      balance(account);
    return before;
  }
  /// Moves the number of waiting messages from `own` to the other word: where one thread only admits and
  /// another only consumes, both words would drift without bound. Only for the owner. For a moment the sum is
  /// too small, never too large: no message is refused because of that.
  [[gnu::noinline]] static void balance(Account& account) noexcept {
    const std::uint64_t own = account.own.load(std::memory_order_relaxed);
    const std::uint64_t waiting = own & kWaiting;
    if (waiting > kNone) {
      account.own.store(own - (waiting - kNone), std::memory_order_release);
      account.by_any.fetch_add(waiting - kNone, std::memory_order_acq_rel);
    } else {
      account.by_any.fetch_sub(kNone - waiting, std::memory_order_acq_rel);
      account.own.store(own + (kNone - waiting), std::memory_order_release);
    }
  }
  /// Returns the number of waiting messages in both words, at a moment during the call.
  [[nodiscard]] static std::uint64_t waiting(const Account& account) noexcept {
    for (;;) {
      const std::uint64_t own = account.own.load(std::memory_order_acquire);
      const std::uint64_t by_any = account.by_any.load(std::memory_order_acquire);
      if (account.own.load(std::memory_order_relaxed) == own) return waiting_in(own + by_any);
    }
  }
  /// Returns the number of waiting messages in the sum of both words, in which the two kNone cancel out; a
  /// negative number counts as 0.
  [[nodiscard]] static std::uint64_t waiting_in(std::uint64_t sum) noexcept {
    const std::uint64_t waiting = sum & kWaiting;
    return waiting < kNone ? waiting : 0;
  }
  /// Returns the number of credits in the batches that become full when `messages` more than `before` are
  /// consumed.
  [[nodiscard]] std::uint32_t whole_batches(std::uint64_t before, std::uint32_t messages) const noexcept {
    const std::uint64_t whole = ~(std::uint64_t{batch_} - 1);
    return static_cast<std::uint32_t>(((before + messages) & whole) - (before & whole));
  }

  AccountTable<Account> accounts_;
  const std::uint32_t device_;
  const std::uint32_t limit_;
  const std::uint32_t batch_;  // a power of two
  const std::uint8_t message_class_;
  std::atomic<std::uint32_t>& kept_;
};

/// The ledgers of a device, by message class.
class CreditLedgers {
 public:
  CreditLedgers(int ranks, std::uint32_t device, std::uint32_t limit) noexcept
      : ledgers_{CreditLedger(ranks, device, limit, kept_, 0), CreditLedger(ranks, device, limit, kept_, 1),
                 CreditLedger(ranks, device, limit, kept_, 2)} {}

  [[nodiscard]] CreditLedger& of(MessageClass message_class) noexcept {
    return ledgers_[static_cast<std::size_t>(message_class)];
  }
  [[nodiscard]] bool has_kept() const noexcept { return kept_.load(std::memory_order_acquire) != 0; }
  [[nodiscard]] std::array<CreditLedger, 3>& all() noexcept { return ledgers_; }
  [[nodiscard]] CreditLedger::Arrivals arrivals() noexcept {
    CreditLedger::Arrivals sum;
    for (CreditLedger& ledger : ledgers_) {
      const CreditLedger::Arrivals of_class = ledger.arrivals();
      sum.all += of_class.all;
      sum.waiting += of_class.waiting;
    }
    return sum;
  }

 private:
  std::atomic<std::uint32_t> kept_{0};
  std::array<CreditLedger, 3> ledgers_;
};

}  // namespace weft::core
