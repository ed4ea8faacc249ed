// What every parcelport promises when parcels cannot be read, when answers are not what their calls wait for,
// and when calls cannot be made.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "conformance/parcel/over_parcelports.hpp"

namespace weft::parcel {
namespace {

class ParcelFaults : public test::OverParcelports {};

/// Throws where it is written or read, as its first member says.
struct Delicate {
  enum Fault : int { none, when_written, when_read };
  int fault = none;
  std::vector<double> array;
};
template <class Archive>
void serialize(Archive& archive, Delicate& value) {
  archive(value.fault);
  if (Archive::is_writer && value.fault == Delicate::when_written)
    throw std::runtime_error("cannot be written");
  archive(value.array);
  if (!Archive::is_writer && value.fault == Delicate::when_read) throw std::runtime_error("cannot be read");
}
Delicate make_delicate(int fault, std::size_t size) { return {fault, std::vector<double>(size, 0.5)}; }
std::size_t size_of(Delicate value) { return value.array.size(); }
int two_times(int value) { return 2 * value; }

std::string text_of_error(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

// Both without and with arrays that travel by themselves.
constexpr std::size_t kSizes[] = {3, 100'000};

TEST_P(ParcelFaults, AResultThatCannotBeReadIsAnExceptionOfItsCall) {
  run(2, [](Runtime& runtime) {
    const int other = 1 - runtime.rank();
    for (const std::size_t size : kSizes) {
      EXPECT_EQ(text_of_error(
                    [&] { runtime.async(other, action<&make_delicate>, Delicate::when_read, size).get(); }),
                "cannot be read");
      EXPECT_EQ(runtime.async(other, action<&make_delicate>, Delicate::none, size).get().array.size(), size);
    }
    runtime.wait_quiet();
    EXPECT_EQ(runtime.counters().sent, runtime.counters().received) << "no answer is answered";
    runtime.barrier();
  });
}

TEST_P(ParcelFaults, AResultThatCannotBeWrittenIsAnExceptionOfItsCall) {
  run(2, [](Runtime& runtime) {
    const int other = 1 - runtime.rank();
    for (const std::size_t size : kSizes)
      EXPECT_EQ(text_of_error([&] {
                  runtime.async(other, action<&make_delicate>, Delicate::when_written, size).get();
                }),
                "rank " + std::to_string(other) + ": cannot be written");
    EXPECT_EQ(runtime.async(other, action<&two_times>, 4).get(), 8);
  });
}

TEST_P(ParcelFaults, ArgumentsThatCannotBeReadAreAnExceptionOfTheirCallAlone) {
  run(2, [](Runtime& runtime) {
    const int other = 1 - runtime.rank();
    for (const std::size_t size : kSizes) {
      std::vector<Future<std::size_t>> good;
      for (int count = 0; count < 20; ++count)
        good.push_back(runtime.async(other, action<&size_of>, make_delicate(Delicate::none, size)));
      auto bad = runtime.async(other, action<&size_of>, make_delicate(Delicate::when_read, size));
      for (int count = 0; count < 20; ++count)
        good.push_back(runtime.async(other, action<&size_of>, make_delicate(Delicate::none, size)));
      EXPECT_EQ(text_of_error([&] { bad.get(); }),
                "rank " + std::to_string(other) + ": the parcel was dropped: cannot be read");
      for (auto& each : good) EXPECT_EQ(each.get(), size);
    }
    runtime.wait_quiet();
    EXPECT_EQ(runtime.counters().malformed, 2U);
    runtime.barrier();
  });
}

TEST_P(ParcelFaults, ParcelsThatAreDroppedCountForTheEndOfAll) {
  run(2, [](Runtime& runtime) {
    for (const std::size_t size : kSizes)
      for (int count = 0; count < 10; ++count)
        runtime.apply(1 - runtime.rank(), action<&size_of>,
                      make_delicate(count % 2 == 0 ? Delicate::none : Delicate::when_read, size));
    runtime.wait_quiet();
    EXPECT_EQ(runtime.counters().malformed, 10U);
    EXPECT_EQ(runtime.counters().received, 20U);
    runtime.barrier();
  });
}

TEST_P(ParcelFaults, ACallWhoseArgumentsCannotBeWrittenThrows) {
  run(2, [](Runtime& runtime) {
    const int other = 1 - runtime.rank();
    EXPECT_EQ(
        text_of_error([&] {
          static_cast<void>(runtime.async(other, action<&size_of>, make_delicate(Delicate::when_written, 5)));
        }),
        "cannot be written");
    EXPECT_EQ(runtime.async(other, action<&two_times>, 4).get(), 8);
  });
}

std::string text_here() { return "text"; }

/// Calls text_here() there as if it gave a T.
template <class T>
std::pair<Future<T>, std::uint64_t> call_as(Runtime& runtime, int rank) {
  using Call = Action<&text_here>;
  auto state = detail::make_state<T>(&runtime.scheduler());
  const std::uint64_t call = detail::begin_call(runtime.core(), rank, *state, detail::answer_operations<T>);
  detail::send_call<Call>(runtime.core(), rank, call);
  return {Future<T>(std::move(state)), call};
}

TEST_P(ParcelFaults, AnAnswerOfAnotherTypeEndsItsCallWithAnError) {
  run(2, [](Runtime& runtime) {
    const int other = 1 - runtime.rank();
    EXPECT_EQ(call_as<std::string>(runtime, other).first.get(), "text");
    EXPECT_EQ(text_of_error([&] { call_as<std::uint64_t>(runtime, other).first.get(); }),
              "the answer has a value of another type than its call waits for");
    runtime.wait_quiet();
    EXPECT_EQ(runtime.counters().malformed, 1U);
    runtime.barrier();
  });
}

TEST_P(ParcelFaults, AnAnswerThatNobodyWaitsForIsCounted) {
  run(2, [](Runtime& runtime) {
    const int other = 1 - runtime.rank();
    runtime.run([&] {
      auto [future, call] = call_as<std::string>(runtime, other);
      detail::withdraw_call(runtime.core(), other, call);
    });
    runtime.wait_quiet();
    EXPECT_EQ(runtime.counters().late, 1U);
    EXPECT_EQ(runtime.counters().malformed, 0U);
    runtime.barrier();
  });
}

TEST_P(ParcelFaults, BytesThatAreNoParcelsEndNothingAndTheJobEnds) {
  run(2, [](Runtime& runtime) {
    const std::vector<std::byte> garbage(40, std::byte{0});
    if (runtime.rank() == 0)
      while (!runtime.port().try_send_small(1, garbage, runtime.workers())) std::this_thread::yield();
    EXPECT_EQ(runtime.async(1 - runtime.rank(), action<&two_times>, 4).get(), 8);
    runtime.wait_quiet();
    if (runtime.rank() == 1) {
      EXPECT_EQ(runtime.counters().malformed, 1U);
    }
    runtime.barrier();
  });
}

void run_nothing(const detail::ParcelOrigin&, Reader&, detail::ParcelBytes&) {}
detail::DecodedParcel* decode_nothing(const detail::ParcelOrigin&, Reader&) { return nullptr; }

TEST_P(ParcelFaults, AnActionThatIsKnownLateIsRefusedAtTheCaller) {
  struct Late {};
  run(2, [](Runtime& runtime) {
    runtime.barrier();
    const detail::ActionEntry late(typeid(Late), &run_nothing, &decode_nothing);
    const std::string text =
        text_of_error([&] { detail::check_call(runtime.core(), 1 - runtime.rank(), late); });
    EXPECT_NE(text.find("Late was called on rank " + std::to_string(1 - runtime.rank()) +
                        ", which does not know it: its library was loaded after the parcel runtime had "
                        "started; load it on all ranks before that"),
              std::string::npos)
        << text;
    EXPECT_EQ(runtime.async(1 - runtime.rank(), action<&two_times>, 4).get(), 8);
  });
}

TEST_P(ParcelFaults, AnActionWhoseLibraryIsUnloadedIsAnExceptionOfTheCall) {
  struct Unloaded {};
  auto entry = std::make_unique<detail::ActionEntry>(typeid(Unloaded), &run_nothing, &decode_nothing);
  std::atomic<int> ready{0};
  run(2, [&](Runtime& runtime) {
    const std::uint32_t index = entry->index();
    runtime.barrier();
    if (++ready == 2 || test::is_rank_of_mpi()) entry.reset();
    runtime.barrier();
    const int other = 1 - runtime.rank();
    auto state = detail::make_state<void>(&runtime.scheduler());
    const std::uint64_t call =
        detail::begin_call(runtime.core(), other, *state, detail::answer_operations<void>);
    detail::send_values(runtime.core(), other, index, call, std::tuple<>(), [](Writer&, const auto&) {});
    const std::string text = text_of_error([&] { Future<void>(std::move(state)).get(); });
    EXPECT_NE(text.find("names an action that this rank does not have"), std::string::npos) << text;
  });
}

WEFT_INSTANTIATE_OVER_PARCELPORTS(ParcelFaults);

}  // namespace
}  // namespace weft::parcel
