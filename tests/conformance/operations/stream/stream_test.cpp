// Streams by themselves: made and freed, used by one thread at a time.
#include "conformance/operations/stream/stream_ranks.hpp"
#include "support/errors.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace weft {
namespace {

using test::error_of;
using test::expect_names;
using test::run_ranks;

TEST(Stream, is_made_and_freed_a_thousand_times) {
  run_ranks(1, {}, [](Runtime& runtime, int) {
    for (int count = 0; count < 1000; ++count) {
      Stream stream(runtime);
      ASSERT_GE(stream.index(), 1U);
      stream.close();
    }
    // And many at a time, as far as there are devices, each with one of its own.
    std::vector<std::unique_ptr<Stream>> streams;
    const std::string error = error_of([&] {
      for (;;) streams.push_back(std::make_unique<Stream>(runtime));
    });
    expect_names(error, {"no device left for a stream", "devices_max"});
    EXPECT_EQ(streams.size(), 63U);
    streams.pop_back();
    EXPECT_EQ(error_of([&] { streams.push_back(std::make_unique<Stream>(runtime)); }), "no error");
  });
}

TEST(Stream, messages_pass_after_each_of_many_times_that_it_was_made_anew) {
  run_ranks(2, {}, [](Runtime& runtime, int rank) {
    for (std::uint64_t count = 0; count < 100; ++count) {
      Stream stream(runtime);
      const StreamGroup group(runtime, std::vector<Stream*>{&stream});
      GroupStream mine = group.member();
      std::uint64_t word = count;
      if (rank == 0) {
        EXPECT_EQ(mine.send({1, 0}, 7, bytes_of(word)), Outcome::ok);
        EXPECT_EQ(mine.receive({1, 0}, 8, mutable_bytes_of(word)).outcome(), Outcome::ok);
        EXPECT_EQ(word, count + 1);
      } else {
        EXPECT_EQ(mine.receive({0, 0}, 7, mutable_bytes_of(word)).outcome(), Outcome::ok);
        EXPECT_EQ(word, count);
        word = count + 1;
        EXPECT_EQ(mine.send({0, 0}, 8, bytes_of(word)), Outcome::ok);
      }
    }
  });
}

TEST(Stream, takes_only_devices_that_exist_and_are_free) {
  run_ranks(1, {}, [](Runtime& runtime, int) {
    const Stream first(runtime, {.device = 5});
    EXPECT_EQ(first.index(), 5U);
    expect_names(error_of([&] { Stream(runtime, {.device = 5}); }), {"5", "already"});
    expect_names(error_of([&] { Stream(runtime, {.device = 0}); }), {"device 0", "1 to 63"});
    expect_names(error_of([&] { Stream(runtime, {.device = 64}); }), {"device 64", "1 to 63"});
    const Device other(runtime, {.index = 1});
    const Stream next(runtime);
    EXPECT_EQ(next.index(), 2U) << "device 1 belongs to the program";
  });
}

TEST(Stream, names_the_operations_that_are_pending_when_it_is_freed) {
  run_ranks(2, test::kNoSurprises, [](Runtime& runtime, int rank) {
    Stream stream(runtime);
    StreamGroup group(runtime, stream);
    if (rank == 0) {
      Synchronizer received;
      std::array<std::byte, 24> buffer{};
      ReceiveHandle handle;
      GroupStream mine = group.member();
      ASSERT_TRUE(
          mine.post_receive({1, 0}, 77, buffer, {.completion = &received, .handle = &handle}).is_posted());
      expect_names(error_of([&] { stream.close(); }),
                   {"stream ", "pending", "receive of 24 bytes from rank 1 with tag 77"});
      // Without effect: the receive can still be cancelled.
      EXPECT_TRUE(mine.cancel(handle));
      EXPECT_EQ(stream.wait(received).front().outcome(), Outcome::cancelled);
    }
    EXPECT_EQ(error_of([&] { stream.close(); }), "no error");
    expect_names(error_of([&] { stream->progress(); }), {"has been freed"});
  });
}

TEST(Stream, refuses_a_second_thread_and_names_both) {
  run_ranks(1, {}, [](Runtime& runtime, int) {
    Stream stream(runtime);
    std::atomic<bool> is_inside{false};
    std::atomic<bool> may_leave{false};
    std::thread other([&] {
      pthread_setname_np(pthread_self(), "first-user");
      const StreamAccess access = stream.enter();
      is_inside = true;
      while (!may_leave) std::this_thread::yield();
    });
    while (!is_inside) std::this_thread::yield();
    pthread_setname_np(pthread_self(), "second-user");
    expect_names(error_of([&] { stream.progress(); }), {"first-user", "second-user", "is inside"});
    expect_names(error_of([&] { stream->progress(); }), {"first-user", "second-user"});
    may_leave = true;
    other.join();
    EXPECT_EQ(error_of([&] { stream.progress(); }), "no error") << "another thread may use it in turn";
  });
}

TEST(Stream, may_be_used_inside_its_own_handlers) {
  run_ranks(1, {}, [](Runtime& runtime, int) {
    Stream stream(runtime);
    int arrived = 0;
    RemoteCompletion remote;
    Handler handler([&](Message& message) {
      if (++arrived < 5)
        static_cast<void>(
            stream->post_am(0, remote.on_device(static_cast<std::uint8_t>(stream.index())), message.bytes()));
    });
    remote = runtime.expose(handler, {.id = 3, .device = stream.index()});
    const std::uint64_t word = 1;
    EXPECT_TRUE(test::until([&] { return stream->post_am(0, remote, bytes_of(word)).is_accepted(); },
                            [&] { stream.progress(); }));
    EXPECT_TRUE(stream.wait_for([&] { return arrived == 5; }, test::kHangGuard));
  });
}

TEST(Stream, a_wait_for_no_time_looks_and_returns) {
  run_ranks(1, {}, [](Runtime& runtime, int) {
    Stream stream(runtime);
    Counter counter;
    EXPECT_FALSE(stream.wait_for([] { return false; }, Timeout{}));
    EXPECT_TRUE(stream.wait_for([] { return true; }, Timeout{}));
    EXPECT_FALSE(stream.wait_for(counter, std::chrono::nanoseconds(0)));
  });
}

TEST(Stream, null_is_shared_by_threads) {
  run_ranks(2, {}, [](Runtime& runtime, int rank) {
    Stream null = Stream::null(runtime);
    EXPECT_TRUE(null.is_null());
    expect_names(error_of([&] { static_cast<void>(null->progress()); }), {"null stream", "with()"});
    const std::vector<Stream*> streams{nullptr, nullptr, nullptr};
    const StreamGroup group(runtime, streams);
    std::vector<std::thread> threads;
    for (std::uint32_t index = 0; index < 3; ++index)
      threads.emplace_back([&, index] {
        GroupStream mine = group.member(index);
        for (std::uint64_t count = 0; count < 200; ++count) {
          std::uint64_t word = 1000 * index + count;
          if (rank == 0) {
            EXPECT_EQ(mine.send({1, index}, 1, bytes_of(word)), Outcome::ok);
          } else {
            std::uint64_t got = 0;
            EXPECT_EQ(mine.receive({0, index}, 1, mutable_bytes_of(got)).outcome(), Outcome::ok);
            EXPECT_EQ(got, word);
          }
        }
      });
    for (std::thread& thread : threads) thread.join();
    // Rank 0 progresses until all has come: over sockets the last messages may leave by that.
    std::uint64_t word = 0;
    GroupStream first = group.member();
    if (rank == 0) {
      EXPECT_EQ(first.receive({1, 0}, 2, mutable_bytes_of(word)).outcome(), Outcome::ok);
    } else {
      EXPECT_EQ(first.send({0, 0}, 2, bytes_of(word)), Outcome::ok);
    }
    null.wait_until([&] { return null.with([](auto& endpoint) { return endpoint.drained(); }); });
  });
}

}  // namespace
}  // namespace weft
