// An endpoint of libfabric with all that it needs, connected to the peer's.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <fmt/core.h>
#include <weft/error.hpp>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "perf/libraries/plugin_call.hpp"
#include "perf/workloads/transport.hpp"

namespace weft::tools::perf {

class OfiPort {
 public:
  struct Close {
    void operator()(fid_mr* region) const { fi_close(&region->fid); }
  };
  using Region = std::unique_ptr<fid_mr, Close>;
  /// Memory, as named by the peer.
  struct Remote {
    std::uint64_t address = 0;
    std::uint64_t key = 0;
  };

  /// `shared`: used by several threads. `window`: receives that are posted at a time.
  OfiPort(const std::string& provider, bool shared, std::size_t window, Meeting& meeting)
      : meeting_(meeting), provider_(provider) {
    find(shared, window);
    inject_bytes = info_->tx_attr->inject_size;
    check(fi_fabric(info_->fabric_attr, &fabric_, nullptr), "fi_fabric");
    check(fi_domain(fabric_, info_, &domain_, nullptr), "fi_domain");
    fi_cq_attr queue{};
    queue.format = FI_CQ_FORMAT_CONTEXT;
    queue.size = info_->tx_attr->size + info_->rx_attr->size;
    check(fi_cq_open(domain_, &queue, &completions, nullptr), "fi_cq_open");
    fi_av_attr addresses{};
    check(fi_av_open(domain_, &addresses, &addresses_, nullptr), "fi_av_open");
    check(fi_endpoint(domain_, info_, &endpoint, nullptr), "fi_endpoint");
    check(fi_ep_bind(endpoint, &completions->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    check(fi_ep_bind(endpoint, &addresses_->fid, 0), "fi_ep_bind");
    check(fi_enable(endpoint), "fi_enable");
    std::byte name[256];
    std::size_t size = sizeof name;
    check(fi_getname(&endpoint->fid, name, &size), "fi_getname");
    const std::vector<std::byte> theirs = meeting.swap({name, size});
    if (fi_av_insert(addresses_, theirs.data(), 1, &peer, 0, nullptr) != 1)
      throw Error(fmt::format("fi_av_insert: provider {} does not take the peer's address", provider_));
  }
  /// Waits for the peer, which may still be using this side.
  ~OfiPort() {
    fi_close(&endpoint->fid);
    meeting_.swap({});
    fi_close(&addresses_->fid);
    fi_close(&completions->fid);
    fi_close(&domain_->fid);
    fi_close(&fabric_->fid);
    fi_freeinfo(info_);
  }
  OfiPort(const OfiPort&) = delete;
  OfiPort& operator=(const OfiPort&) = delete;

  [[nodiscard]] Region register_memory(ByteSpan memory) {
    fid_mr* region = nullptr;
    check(fi_mr_reg(domain_, memory.data(), memory.size(), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, next_key_++,
                    0, &region, nullptr),
          "fi_mr_reg");
    return Region(region);
  }
  [[nodiscard]] Remote remote_of(fid_mr* region, ByteSpan memory) const {
    const bool by_address = (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    return {by_address ? reinterpret_cast<std::uint64_t>(memory.data()) : 0, fi_mr_key(region)};
  }
  /// Throws weft::Error, with the error of the queue when there is one.
  [[noreturn]] void fail(ssize_t result, const char* what) {
    fi_cq_err_entry error{};
    if (result == -FI_EAVAIL && fi_cq_readerr(completions, &error, 0) > 0) result = -error.err;
    throw Error(
        fmt::format("{}: provider {} says {}", what, provider_, fi_strerror(static_cast<int>(-result))));
  }

  fid_ep* endpoint = nullptr;
  fid_cq* completions = nullptr;
  fi_addr_t peer = FI_ADDR_UNSPEC;
  std::size_t inject_bytes = 0;

 private:
  void find(bool shared, std::size_t window) {
    constexpr std::size_t kUsual = 1024;  // receives, a number that every provider accepts
    fi_info* const hints = fi_allocinfo();
    hints->caps = FI_MSG | FI_TAGGED | FI_RMA;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_PROV_KEY | FI_MR_ALLOCATED;
    hints->domain_attr->threading = shared ? FI_THREAD_SAFE : FI_THREAD_DOMAIN;
    hints->tx_attr->msg_order = FI_ORDER_SAS;
    hints->rx_attr->msg_order = FI_ORDER_SAS;
    if (window > kUsual) hints->rx_attr->size = 2 * window;
    hints->fabric_attr->prov_name = ::strdup(provider_.c_str());
    const bool is_socket = provider_.starts_with("tcp");
    // An address of this host, since all ranks run on it.
    const int result = fi_getinfo(FI_VERSION(1, 17), is_socket ? "127.0.0.1" : nullptr, nullptr,
                                  is_socket ? FI_SOURCE : 0, hints, &info_);
    fi_freeinfo(hints);
    if (result != 0)
      throw Error(fmt::format("libfabric has no provider {} here that can do it: {}", provider_,
                              fi_strerror(-result)));
  }
  void check(int result, const char* call) const {
    if (result != 0) throw Error(fmt::format("{} of provider {}: {}", call, provider_, fi_strerror(-result)));
  }

  Meeting& meeting_;
  const std::string provider_;
  std::uint64_t next_key_ = 1;
  fi_info* info_ = nullptr;
  fid_fabric* fabric_ = nullptr;
  fid_domain* domain_ = nullptr;
  fid_av* addresses_ = nullptr;
};

}  // namespace weft::tools::perf
