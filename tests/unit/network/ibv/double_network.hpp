// Ranks on the network over verbs, with the double of verbs below.
#pragma once

#include "conformance/network/stage.hpp"
#include "support/verbs_double/fabric.hpp"

#include <gtest/gtest.h>

namespace weft::network::ibv {

using weft::test::verbs::Fabric;
using weft::test::verbs::Faults;
using weft::test::verbs::install;

/// Each test begins and ends without faults.
class OverDouble : public testing::Test {
 protected:
  OverDouble() {
    install();
    Fabric::instance().set({});
  }
  ~OverDouble() override { Fabric::instance().set({}); }

  [[nodiscard]] static std::vector<AttributeSetting> settings(std::vector<AttributeSetting> others = {}) {
    others.push_back({"network", "ibv"});
    return others;
  }
};

}  // namespace weft::network::ibv
