#include <weft/parcel/detail/future_state.hpp>

#include <string>

namespace weft::parcel::detail {

void throw_no_future(const char* call) {
  throw FutureMisuse(
      std::string(call) +
      " of a future that has no value to give: it was made without one, moved from, or its value "
      "was taken by get(), then() or co_await; several consumers need a SharedFuture");
}

void throw_no_promise(const char* call, const char* what) {
  throw FutureMisuse(std::string(call) + " of a promise " + what);
}

}  // namespace weft::parcel::detail
