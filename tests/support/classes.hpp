// Every message class.
#pragma once

#include <weft/options.hpp>

#include <array>

namespace weft::test {

constexpr std::array kClasses{MessageClass::normal, MessageClass::control, MessageClass::bulk};

}  // namespace weft::test
