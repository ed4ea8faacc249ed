#include "network/ofi/libfabric/fabric.hpp"

#include <weft/error.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <array>
#include <cstdlib>
#include <cstring>

namespace weft::network::ofi {

namespace {

constexpr std::uint32_t kInterface = FI_VERSION(1, 17);

/// Providers in the order in which "auto" tries them. Those with sockets come first: their processes can be
/// killed at any moment without leaving anything behind, and idle ranks sleep on a descriptor.
/// Not shm: weft's own network for ranks of one host is faster, and what survives a killed rank hung there.
constexpr std::array<const char*, 4> kPreferred = {"tcp;ofi_rxm", "tcp", "net", "verbs;ofi_rxm"};

/// Transfers under way in each direction of an endpoint. Providers allocate memory in proportion, some of
/// them a page and more for each.
constexpr std::size_t kTransfers = 256;

Info make_hints(std::string_view provider, std::string_view address) {
  // Equal to fi_allocinfo(), which is inlined and would need the library at link time.
  Info hints(library().dupinfo(nullptr));
  if (hints == nullptr) throw Error(ErrorClass::network, "ofi: no memory for libfabric's hints");
  hints->caps = FI_MSG | FI_RMA;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode =
      FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  hints->domain_attr->threading = FI_THREAD_SAFE;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->tx_attr->msg_order = FI_ORDER_SAS;
  hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->tx_attr->size = kTransfers;
  hints->rx_attr->size = kTransfers;
  // libfabric frees the provider's name and the address.
  hints->fabric_attr->prov_name = ::strdup(std::string(provider).c_str());
  if (uses_sockets(provider)) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    if (::inet_pton(AF_INET, std::string(address).c_str(), &own.sin_addr) != 1)
      throw Error(ErrorClass::network, "attribute ofi_address is \"" + std::string(address) +
                                           "\": it must be an IPv4 address of this host, like 127.0.0.1");
    hints->addr_format = FI_SOCKADDR_IN;
    hints->src_addr = std::malloc(sizeof own);
    if (hints->src_addr == nullptr) throw Error(ErrorClass::network, "ofi: no memory for libfabric's hints");
    std::memcpy(hints->src_addr, &own, sizeof own);
    hints->src_addrlen = sizeof own;
  }
  return hints;
}

/// Returns the information that libfabric has for exactly this provider, or nothing.
Info find(std::string_view provider, std::string_view address) {
  const Info hints = make_hints(provider, address);
  fi_info* found = nullptr;
  if (library().getinfo(kInterface, nullptr, nullptr, 0, hints.get(), &found) != 0) return nullptr;
  const Info list(found);
  for (const fi_info* info = list.get(); info != nullptr; info = info->next)
    if (info->fabric_attr->prov_name == provider) return Info(library().dupinfo(info));
  return nullptr;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

}  // namespace

bool uses_sockets(std::string_view provider) noexcept {
  return provider.starts_with("tcp") || provider.starts_with("net") || provider.starts_with("udp") ||
         provider.starts_with("sockets");
}

bool is_usable(std::string_view provider, std::string_view address) {
  return find(provider, address) != nullptr;
}

std::vector<std::string> usable_providers(std::string_view address) {
  std::vector<std::string> names;
  for (const char* name : kPreferred)
    if (is_usable(name, address)) names.emplace_back(name);
  return names;
}

Fabric::Fabric(std::string_view provider, std::string_view address) {
  if (provider == "shm")
    throw Error(ErrorClass::network,
                "attribute ofi_provider is \"shm\", which weft does not use: ranks of one host have "
                "WEFT_NETWORK=shm; "
                "libfabric has here: " +
                    joined(usable_providers(address)));
  if (provider == "auto") {
    for (std::size_t next = 0; next < kPreferred.size() && info_ == nullptr; ++next)
      info_ = find(kPreferred[next], address);
  } else {
    info_ = find(provider, address);
  }
  if (info_ == nullptr)
    throw Error(ErrorClass::network,
                "attribute ofi_provider is \"" + std::string(provider) +
                    "\", and libfabric has none of that name here that sends reliable datagrams from " +
                    std::string(address) +
                    " and reaches remote memory; it has: " + joined(usable_providers(address)));
  fid_fabric* fabric = nullptr;
  check(library().fabric(info_->fabric_attr, &fabric, nullptr), "fi_fabric");
  fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  check(::fi_domain(fabric_.get(), info_.get(), &domain, nullptr), "fi_domain");
  domain_.reset(domain);
}

void Fabric::check(long result, const char* call) const {
  if (result >= 0) return;
  throw Error(ErrorClass::network, "ofi: " + std::string(call) + " of the provider \"" +
                                       std::string(provider()) + "\" failed: " + error_text(result));
}

std::size_t Fabric::immediate_bytes() const noexcept {
  // With shared receive buffers (library.cpp), ofi_rxm over verbs reports each such write as messages of no
  // bytes.
  if (provider().starts_with("verbs")) return 0;
  const std::size_t carried = info_->domain_attr->cq_data_size;
  return carried >= 8 ? 8 : carried >= 4 ? 4 : 0;
}

Owned<fid_mr> Fabric::open_registration(std::span<std::byte> memory, std::uint64_t access, std::uint64_t key,
                                        fid_ep* endpoint) {
  fid_mr* made = nullptr;
  int result = ::fi_mr_reg(domain_.get(), memory.data(), memory.size(), access, 0, key, 0, &made, nullptr);
  Owned<fid_mr> registration(made);
  if (result == 0 && endpoint != nullptr && (info_->domain_attr->mr_mode & FI_MR_ENDPOINT) != 0) {
    result = ::fi_mr_bind(made, &endpoint->fid, 0);
    if (result == 0) result = ::fi_mr_enable(made);
  }
  if (result != 0)
    throw Error(ErrorClass::network, "ofi: " + std::to_string(memory.size()) +
                                         " bytes cannot be registered with the provider \"" +
                                         std::string(provider()) + "\": " + error_text(result));
  return registration;
}

Owned<fid_mr> Fabric::register_region(std::span<std::byte> memory, std::uint64_t key) {
  if ((info_->domain_attr->mr_mode & (FI_MR_PROV_KEY | FI_MR_ENDPOINT | FI_MR_VIRT_ADDR)) != 0)
    throw Error(ErrorClass::network, "ofi: the provider \"" + std::string(provider()) +
                                         "\" makes keys of its own, for one endpoint each, or names memory "
                                         "by its address");
  return open_registration(memory, FI_REMOTE_READ | FI_REMOTE_WRITE, key, nullptr);
}

Owned<fid_mr> Fabric::register_local(std::span<std::byte> memory) {
  if ((info_->domain_attr->mr_mode & FI_MR_LOCAL) == 0) return nullptr;
  return open_registration(memory, FI_SEND | FI_RECV | FI_READ | FI_WRITE, next_key(), nullptr);
}

}  // namespace weft::network::ofi
