// Exceptions of actions, on their way to the caller.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include <weft/parcel/exceptions.hpp>

#include "conformance/parcel/over_parcelports.hpp"

namespace weft::parcel {
namespace {

using test::ParcelSettings;

class Exceptions : public test::OverParcelports {};

class BadCell : public std::runtime_error {
 public:
  BadCell() : std::runtime_error("bad cell") {}
  explicit BadCell(std::vector<int> which) : BadCell() { cells = std::move(which); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(cells);
  }
  std::vector<int> cells;
};
class Derived : public BadCell {};
struct Last final : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};
WEFT_PARCEL_EXCEPTION(BadCell);
WEFT_PARCEL_EXCEPTION(std::out_of_range);
WEFT_PARCEL_EXCEPTION(Last);

void throw_one(Runtime& runtime, int which) {
  switch (which) {
    case 0:
      throw BadCell(std::vector<int>(5000, 7));
    case 1:
      throw std::out_of_range("row 9");
    case 2:
      throw Last("the last");
    case 3:
      throw Derived();
    case 4:
      throw std::length_error("not registered");
    case 5:
      throw 5;
    default:
      runtime.async((runtime.rank() + 1) % runtime.size(), action<&throw_one>, which - 10).get();
  }
}

TEST_P(Exceptions, KeepTheirRegisteredType) {
  run(3, [](Runtime& runtime) {
    const int other = (runtime.rank() + 1) % 3;
    const auto call = [&](int which) { runtime.async(other, action<&throw_one>, which).get(); };
    try {
      call(0);
      ADD_FAILURE() << "did not throw";
    } catch (const BadCell& error) {
      EXPECT_EQ(error.cells, std::vector<int>(5000, 7));
      EXPECT_EQ(rank_of(error), other);
    }
    try {
      call(1);
      ADD_FAILURE() << "did not throw";
    } catch (const std::exception& error) {  // one base, not two
      EXPECT_STREQ(error.what(), "row 9");
      EXPECT_NE(dynamic_cast<const std::out_of_range*>(&error), nullptr);
    }
    EXPECT_THROW(call(2), Last);
    for (const int unregistered : {3, 4, 5}) {
      try {
        call(unregistered);
        ADD_FAILURE() << "did not throw";
      } catch (const RemoteError& error) {
        EXPECT_EQ(error.rank(), other);
        EXPECT_EQ(rank_of(error), other);
      }
    }
    EXPECT_THROW(call(10), BadCell) << "over two ranks";
    EXPECT_THROW(call(14), RemoteError);
    EXPECT_THROW(runtime.async(runtime.rank(), action<&throw_one>, 4).get(), std::length_error);
    EXPECT_EQ(rank_of(std::runtime_error("here")), std::nullopt);
  });
}

Future<int> throws_later(Runtime& runtime) {
  co_await runtime.spawn([] {});
  throw std::out_of_range("later");
}
TEST_P(Exceptions, KeepTheirTypeFromCoroutines) {
  run(2, [](Runtime& runtime) {
    EXPECT_THROW(runtime.async(1 - runtime.rank(), action<&throws_later>).get(), std::out_of_range);
  });
}

INSTANTIATE_TEST_SUITE_P(Configurations, Exceptions,
                         testing::Values(ParcelSettings{"shm_adaptive", false, Aggregation::adaptive},
                                         ParcelSettings{"tcp_adaptive", false, Aggregation::adaptive, 1, 1,
                                                        "tcp"},
                                         ParcelSettings{"loopback_adaptive", true, Aggregation::adaptive}),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace weft::parcel
