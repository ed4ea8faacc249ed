#include "base/host/host_id.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <charconv>

namespace weft::base {

std::string host_id_of_rank(std::string_view attribute, int rank) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorClass::attribute, "attribute host_id is \"" + std::string(attribute) + "\": " + what);
  };
  if (attribute == "auto") return {};
  std::string name;
  for (std::string_view rest = attribute; !rest.empty();) {
    if (!rest.starts_with("%r")) {
      name += rest.front();
      rest.remove_prefix(1);
      continue;
    }
    rest.remove_prefix(2);
    int number = rank;
    if (rest.size() > 1 && (rest[0] == '/' || rest[0] == '%') && rest[1] >= '0' && rest[1] <= '9') {
      int divisor = 0;
      const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), divisor);
      if (error != std::errc{} || divisor == 0) refuse("a rank cannot be divided by 0 or by such a number");
      number = rest[0] == '/' ? rank / divisor : rank % divisor;
      rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    }
    name += std::to_string(number);
  }
  if (name.size() > kMaximumHostId)
    refuse("the name of a host has at most " + std::to_string(kMaximumHostId) + " bytes");
  return name;
}

}  // namespace weft::base
