#include "network/ofi/libfabric/endpoint_objects.hpp"

namespace weft::network::ofi {

Owned<fid_av> open_addresses(const Fabric& fabric) {
  fi_av_attr attributes{};
  attributes.type = FI_AV_UNSPEC;
  fid_av* addresses = nullptr;
  fabric.check(::fi_av_open(&fabric.domain(), &attributes, &addresses, nullptr), "fi_av_open");
  return Owned<fid_av>(addresses);
}

Completions open_completions(const Fabric& fabric) {
  const fi_info& info = fabric.info();
  fi_cq_attr attributes{};
  attributes.format = FI_CQ_FORMAT_DATA;
  attributes.size = info.tx_attr->size + info.rx_attr->size;
  attributes.wait_obj = FI_WAIT_FD;
  fid_cq* queue = nullptr;
  if (::fi_cq_open(&fabric.domain(), &attributes, &queue, nullptr) != 0) {
    // Some providers have no object to sleep on.
    attributes.wait_obj = FI_WAIT_NONE;
    fabric.check(::fi_cq_open(&fabric.domain(), &attributes, &queue, nullptr), "fi_cq_open");
  }
  Completions made{Owned<fid_cq>(queue), -1};
  if (attributes.wait_obj == FI_WAIT_FD && ::fi_control(&queue->fid, FI_GETWAIT, &made.wait_descriptor) != 0)
    made.wait_descriptor = -1;
  return made;
}

Owned<fid_ep> open_endpoint(const Fabric& fabric, fid_cq& completions, fid_av& addresses) {
  fid_ep* made = nullptr;
  fabric.check(::fi_endpoint(&fabric.domain(), &fabric.info(), &made, nullptr), "fi_endpoint");
  Owned<fid_ep> endpoint(made);
  fabric.check(::fi_ep_bind(made, &completions.fid, FI_SEND | FI_RECV), "fi_ep_bind");
  fabric.check(::fi_ep_bind(made, &addresses.fid, 0), "fi_ep_bind");
  fabric.check(::fi_enable(made), "fi_enable");
  return endpoint;
}

std::vector<std::byte> address_of(const Fabric& fabric, fid_ep& endpoint) {
  std::vector<std::byte> address(64);
  std::size_t bytes = address.size();
  if (::fi_getname(&endpoint.fid, address.data(), &bytes) == -FI_ETOOSMALL) address.resize(bytes);
  fabric.check(::fi_getname(&endpoint.fid, address.data(), &bytes), "fi_getname");
  address.resize(bytes);
  return address;
}

}  // namespace weft::network::ofi
