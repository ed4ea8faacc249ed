// The first parcel of some bytes: a length that these do not have is no parcel.
#include "parcel/runtime/parcel_batch.hpp"

#include <weft/parcel/exceptions.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace weft::parcel {
namespace {

std::vector<std::byte> parcel_of(std::uint32_t size, std::size_t bytes) {
  const detail::ParcelHeader header{size, 3};
  std::vector<std::byte> all(bytes);
  std::memcpy(all.data(), &header, sizeof header);
  return all;
}

TEST(ParcelsOfAMessage, AreAsLongAsTheySay) {
  EXPECT_EQ(parse_parcel(parcel_of(24, 24)).size, 24U);
  EXPECT_EQ(parse_parcel(parcel_of(24, 30)).size, 24U);
}

TEST(ParcelsOfAMessage, AreMalformedWhereTheirMessageEndsBefore) {
  for (const std::uint32_t size : {25U, 32U, 0xffffffffU, 0U, 7U})
    EXPECT_THROW(static_cast<void>(parse_parcel(parcel_of(size, 24))), MalformedParcel) << size;
}

}  // namespace
}  // namespace weft::parcel
