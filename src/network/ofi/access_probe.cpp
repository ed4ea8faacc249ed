// What a provider must do so that puts and gets of regions can be left to it, tried between two endpoints of
// this process.
#include "base/clock.hpp"
#include "network/ofi/access_domain.hpp"
#include "network/ofi/access_endpoints.hpp"

#include <weft/error.hpp>

#include <array>

namespace weft::network::ofi {

namespace {

constexpr double kLongestSeconds = 5;
constexpr std::uint64_t kKey = 2;  // of no region: generations are not 0
constexpr std::uint64_t kSignal = 0x8123456789abcdef;

class Probe {
 public:
  explicit Probe(Fabric& fabric) : fabric_(fabric), endpoints_(fabric) {
    own_ = endpoints_.insert(endpoints_.address());
  }
  ~Probe() { endpoints_.close(); }

  [[nodiscard]] Owned<fid_mr> open() { return fabric_.register_region(target_, kKey); }
  /// Puts a byte, and brings kSignal along when `flags` has FI_REMOTE_CQ_DATA; returns true when the provider
  /// says that they are there.
  [[nodiscard]] bool put(std::byte value, std::uint64_t flags = 0) {
    source_[0] = value;
    const Owned<fid_mr> local = fabric_.register_local(source_);
    const iovec piece{source_.data(), 1};
    void* descriptor = descriptor_of(local);
    const fi_rma_iov remote{0, 1, kKey};
    const fi_msg_rma message{&piece, &descriptor, 1, own_, &remote, 1, &context_, kSignal};
    bool is_put = false;
    bool is_told = flags == 0;
    const base::Deadline deadline(kLongestSeconds);
    ssize_t posted = -FI_EAGAIN;
    fi_cq_data_entry entry;
    while (!deadline.passed()) {
      if (posted == -FI_EAGAIN)
        posted = ::fi_writemsg(endpoints_.outgoing(), &message, FI_COMPLETION | FI_DELIVERY_COMPLETE | flags);
      if (posted != 0 && posted != -FI_EAGAIN) return false;
      const ssize_t count = ::fi_cq_read(&endpoints_.completions(), &entry, 1);
      if (count == 1) {
        const bool is_signal = (entry.flags & (FI_REMOTE_CQ_DATA | FI_REMOTE_WRITE)) != 0;
        (is_signal ? is_told : is_put) = true;
        if (target_[0] != value || (is_signal && entry.data != kSignal)) return false;
        if (is_put && is_told) return true;
      }
      fi_cq_err_entry error{};
      if (count == -FI_EAVAIL && ::fi_cq_readerr(&endpoints_.completions(), &error, 0) == 1) return false;
    }
    throw Error(ErrorClass::network, "ofi: a put to this rank itself does not end");
  }

 private:
  Fabric& fabric_;
  std::array<std::byte, 64> target_{};
  std::array<std::byte, 64> source_{};
  fi_context2 context_{};
  AccessEndpoints endpoints_;
  fi_addr_t own_ = FI_ADDR_UNSPEC;
};

}  // namespace

AccessFindings probe_accesses(Fabric& fabric) try {
  Probe probe(fabric);
  Owned<fid_mr> region = probe.open();
  if (!probe.put(std::byte{1})) return {"a put does not arrive", ""};
  region.reset();
  if (probe.put(std::byte{2})) return {"a key that has ended is not refused", ""};
  region = probe.open();
  if (!probe.put(std::byte{3})) return {"no put arrives any more once a key that has ended was refused", ""};
  if (fabric.immediate_bytes() < sizeof kSignal) return {"", "a write brings less than 8 bytes along"};
  if (!probe.put(std::byte{4}, FI_REMOTE_CQ_DATA)) return {"", "what a write brings along does not arrive"};
  return {};
} catch (const Error& error) {
  return {error.what(), ""};
}

}  // namespace weft::network::ofi
