#include "network/registry/registry.hpp"

#include <weft/error.hpp>

#include "base/attributes.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace weft::network {
namespace {

std::string names(bool (*is_wanted)(const NetworkRow& row)) {
  std::string text;
  for (const NetworkRow& row : networks())
    if (row.make != nullptr && is_wanted(row)) text += (text.empty() ? "" : "|") + std::string(row.name);
  return text;
}

TEST(NetworkRegistry, AttributesOfferTheNetworksThatCanBeMade) {
  EXPECT_EQ(base::row_of(base::Attribute::network).choices,
            "auto|" + names([](const NetworkRow&) { return true; }));
  EXPECT_EQ(base::row_of(base::Attribute::remote_network).choices,
            names([](const NetworkRow& row) { return row.extent == Extent::hosts && row.name != "mixed"; }));
}

TEST(NetworkRegistry, EveryRowDescribesItself) {
  const base::Attributes attributes = base::Attributes::load();
  for (const NetworkRow& row : networks()) {
    EXPECT_FALSE(row.availability(attributes).remark.empty()) << row.name;
    if (row.make == nullptr) continue;
    EXPECT_EQ(&network_named(row.name), &row);
  }
}

TEST(NetworkRegistry, OtherNamesAreRefusedWithThoseThatThereAre) {
  for (const std::string_view name : {"verbs", "auto", "", "shm "}) {
    try {
      static_cast<void>(network_named(name));
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), "there is no network \"" + std::string(name) +
                                  "\": there are shm, sim, tcp, ofi, ibv, mixed");
    }
  }
}

}  // namespace
}  // namespace weft::network
