// libfabric's objects as owned values.
#pragma once

#include "network/ofi/libfabric/library.hpp"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <memory>
#include <string>

namespace weft::network::ofi {

struct CloseObject {
  template <class Object>
  void operator()(Object* object) const noexcept {
    ::fi_close(&object->fid);
  }
};
/// Objects close in the order in which C++ destroys members: declare an object behind those it depends on.
template <class Object>
using Owned = std::unique_ptr<Object, CloseObject>;

struct FreeInfo {
  void operator()(fi_info* info) const noexcept { library().freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, FreeInfo>;

/// The text of a negative result of libfabric, such as "Connection refused".
[[nodiscard]] inline std::string error_text(long result) {
  return library().strerror(static_cast<int>(result < 0 ? -result : result));
}

}  // namespace weft::network::ofi
