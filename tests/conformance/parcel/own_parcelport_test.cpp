// A parcelport that a program brings: ranks of one process, which put messages into each other's mailboxes.
// It is the example of docs/guide/parcels.md.
#include <gtest/gtest.h>

#include <weft/parcel/ports/parcelport_kind.hpp>
#include <weft/parcel/ports/wake_count.hpp>
#include <weft/testing/in_process_job.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/parcel_ranks.hpp"

namespace weft::parcel {
namespace {

/// A message in a mailbox: its bytes are the receiver's.
struct Letter final : IncomingMessage {
  std::vector<std::byte> bytes;
  std::vector<std::vector<std::byte>> chunks;
};

class MailboxPort final : public Parcelport {
 public:
  MailboxPort(std::unique_ptr<weft::Runtime> ranks, std::size_t capacity)
      : ranks_(std::move(ranks)), capacity_(capacity), addresses_(static_cast<std::size_t>(ranks_->size())) {
    const auto own = reinterpret_cast<std::uintptr_t>(this);
    ranks_->allgather(weft::bytes_of(own), std::as_writable_bytes(std::span(addresses_)));
  }

  int rank() const noexcept override { return ranks_->rank(); }
  int size() const noexcept override { return ranks_->size(); }
  void allgather(Bytes mine, std::span<std::byte> all) override { ranks_->allgather(mine, all); }
  PortLimits limits() const noexcept override { return {0, 65536}; }  // no small messages of parcels
  bool has_failed(int) const noexcept override { return false; }
  std::string description() const override { return "capacity=" + std::to_string(capacity_); }

  void start(Receiver& receiver, unsigned) override { receiver_ = &receiver; }
  /// Others may still be inside deliver().
  void stop() override { ranks_->barrier(); }

  bool try_send_small(int peer, Bytes parcels, unsigned) override {
    return port_of(peer).deliver(letter_of(parcels));
  }
  bool try_send(std::unique_ptr<OutgoingMessage>& message, unsigned) override {
    std::unique_ptr<Letter> letter = letter_of(message->head.bytes());
    for (const Bytes chunk : message->chunks) {
      letter->chunks.emplace_back(chunk.begin(), chunk.end());
      letter->chunk_sizes.push_back(chunk.size());
    }
    if (!port_of(message->peer).deliver(std::move(letter))) return false;
    receiver_->sent(std::move(message), true);
    return true;
  }

  bool poll(unsigned) override {
    std::unique_ptr<Letter> letter;
    {
      const std::lock_guard lock(mutex_);
      if (box_.empty()) return false;
      letter = std::move(box_.front());
      box_.pop_front();
    }
    if (letter->chunks.empty()) {
      receiver_->on_small(letter->source, letter->head);
    } else if (receiver_->place(*letter)) {
      for (std::size_t index = 0; index < letter->chunks.size(); ++index)
        std::copy(letter->chunks[index].begin(), letter->chunks[index].end(),
                  letter->landings[index].begin());
      receiver_->arrived(std::move(letter));
    }
    return true;
  }
  std::uint64_t wakes() const noexcept override { return wakes_.look(); }
  void park(unsigned, Timeout longest, std::uint64_t seen) override {
    std::unique_lock lock(mutex_);
    woken_.wait_for(lock, std::chrono::nanoseconds(std::min<std::int64_t>(longest.count(), 1'000'000'000)),
                    [&] { return !box_.empty() || wakes_.has_come(seen); });
  }
  void wake() noexcept override {
    {
      const std::lock_guard lock(mutex_);
      wakes_.wake();
    }
    woken_.notify_all();
  }

 private:
  MailboxPort& port_of(int rank) const {
    return *reinterpret_cast<MailboxPort*>(addresses_[static_cast<std::size_t>(rank)]);
  }
  std::unique_ptr<Letter> letter_of(Bytes head) const {
    auto letter = std::make_unique<Letter>();
    letter->source = rank();
    letter->bytes.assign(head.begin(), head.end());
    letter->head = letter->bytes;
    return letter;
  }
  bool deliver(std::unique_ptr<Letter> letter) {
    {
      const std::lock_guard lock(mutex_);
      if (box_.size() >= capacity_) return false;
      box_.push_back(std::move(letter));
    }
    woken_.notify_all();
    return true;
  }

  const std::unique_ptr<weft::Runtime> ranks_;
  const std::size_t capacity_;
  std::vector<std::uintptr_t> addresses_;  // of the ports, by rank
  Receiver* receiver_ = nullptr;
  std::mutex mutex_;
  std::condition_variable woken_;
  std::deque<std::unique_ptr<Letter>> box_;
  WakeCount<> wakes_;
};

std::unique_ptr<Parcelport> make_mailbox_port(PortSetup& setup) {
  if (!setup.is_in_process()) throw Error("port=mailbox: its ranks must be those of one process");
  const std::size_t capacities[] = {64, 1};
  return std::make_unique<MailboxPort>(setup.open_transport(),
                                       capacities[setup.choice("capacity", {"64", "1"})]);
}

void register_mailbox() {
  static const bool is_done = [] {
    register_parcelport({.name = "mailbox", .options = {{"capacity"}}, .make = make_mailbox_port});
    return true;
  }();
  static_cast<void>(is_done);
}

std::vector<std::uint64_t> reversed(std::vector<std::uint64_t> values) {
  return {values.rbegin(), values.rend()};
}
int doubled(int value) { return 2 * value; }

template <class Call>
std::string error_when(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ParcelportOfYourOwn, IsChosenByNameAndCarriesParcelsAndArrays) {
  register_mailbox();
  for (const char* const text : {"", "capacity=1,aggregation=queued"}) {
    test::run_parcel_ranks(
        3, {"mailbox", false, Aggregation::adaptive, 2, 1, "mailbox", text}, [&](Runtime& runtime) {
          EXPECT_TRUE(runtime.description().starts_with(
              *text == '\0' ? "port=mailbox,capacity=64,aggregation=adaptive,workers=2,"
                            : "port=mailbox,capacity=1,aggregation=queued,workers=2,"))
              << runtime.description();
          runtime.run([&] {
            std::vector<std::uint64_t> values(100'000);
            std::iota(values.begin(), values.end(), std::uint64_t{7});
            for (int rank = 0; rank < runtime.size(); ++rank) {
              EXPECT_EQ(runtime.async(rank, action<&reversed>, values).get(), reversed(values));
              std::vector<Future<int>> answers;
              for (int count = 0; count < 500; ++count)
                answers.push_back(runtime.async(rank, action<&doubled>, count));
              for (int count = 0; count < 500; ++count)
                EXPECT_EQ(answers[static_cast<std::size_t>(count)].get(), 2 * count);
            }
          });
          runtime.barrier();
        });
  }
}

TEST(ParcelportOfYourOwn, HasOptionsThatAreCheckedAndCompared) {
  register_mailbox();
  InProcessJob job(2);
  const auto start = [&job](int rank, const char* text) {
    return error_when([&] { const Runtime runtime(job, rank, {.text = text, .workers = 1}); });
  };
  EXPECT_EQ(start(0, "port=mailbox,capacity=2"), "parcel option capacity is '2'; it must be 64 or 1");
  EXPECT_EQ(start(0, "port=mailbox,devices=2"),
            "the parcel options progress and devices mean nothing to port=mailbox");
  EXPECT_EQ(start(0, "capacity=1").find("there is no parcel option 'capacity'"), 0U);
  const char* const expected =
      "parcel option capacity is '1' on rank 0 and '64' on rank 1: all ranks must have the same";
  std::thread first([&] { EXPECT_EQ(start(0, "port=mailbox,capacity=1"), expected); });
  EXPECT_EQ(start(1, "port=mailbox,capacity=64"), expected);
  first.join();
  EXPECT_EQ(error_when([] { const Runtime runtime({.text = "port=mailbox"}); }),
            "port=mailbox: its ranks must be those of one process");
}

TEST(ParcelportOfYourOwn, IsRegisteredOnceByAWordAndWithOptionsThatNobodyElseHas) {
  register_mailbox();
  const auto error = [](const char* name, std::vector<PortOption> options = {}) {
    return error_when(
        [&] { register_parcelport({.name = name, .options = options, .make = make_mailbox_port}); });
  };
  EXPECT_EQ(error("mailbox"), "there is a parcelport 'mailbox' already: register another name");
  EXPECT_EQ(error("weft"), "there is a parcelport 'weft' already: register another name");
  EXPECT_EQ(error("a,b"), "parcel port is 'a,b'; it must be up to 50 letters, digits, '-', '_' or '.'");
  EXPECT_EQ(error(""), "a parcelport has no name");
  EXPECT_EQ(error("taken", {{"stack"}}),
            "parcelport 'taken' has an option 'stack', which all parcelports have: name it otherwise");
  EXPECT_EQ(error_when([] { register_parcelport({.name = "empty"}); }),
            "parcelport 'empty' has no function that makes it");
}

TEST(ParcelportOfYourOwn, SaysWhyThereIsNoneHere) {
  static const bool is_registered = [] {
    register_parcelport({.name = "elsewhere",
                         .why_not = [] { return std::string("this machine has no such network"); },
                         .make = make_mailbox_port});
    return true;
  }();
  EXPECT_TRUE(is_registered);
  EXPECT_EQ(error_when([] { const Runtime runtime({.text = "port=elsewhere"}); }),
            "parcel option port is 'elsewhere', which is not here: this machine has no such network");
}

TEST(ParcelportOfYourOwn, ThatIsGivenAsAnObjectTakesNoOptionsOfOthers) {
  InProcessJob job(1);
  auto port = [&job] {
    return std::make_unique<MailboxPort>(
        std::make_unique<weft::Runtime>(job, 0, weft::RuntimeOptions{.name = "own"}), std::size_t{4});
  };
  EXPECT_EQ(
      error_when([&] { const Runtime runtime(port(), {.text = "port=tcp", .workers = 1}); }),
      "the parcel options port, progress and devices are not for a parcelport that the program has made");
  Runtime runtime(port(), {.workers = 1});
  EXPECT_TRUE(runtime.description().starts_with("port=(own),capacity=4,")) << runtime.description();
  EXPECT_EQ(runtime.async(0, action<&doubled>, 4).get(), 8);
}

}  // namespace
}  // namespace weft::parcel
