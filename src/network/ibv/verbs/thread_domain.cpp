#include "network/ibv/verbs/thread_domain.hpp"

namespace weft::network::ibv {

ThreadDomain::ThreadDomain(const Device& device) noexcept {
  ibv_td_init_attr plain{};
  thread_.reset(verbs().alloc_td(&device.context(), &plain));
  if (thread_ == nullptr) return;
  ibv_parent_domain_init_attr wanted{};
  wanted.pd = &device.domain();
  wanted.td = thread_.get();
  domain_.reset(verbs().alloc_parent_domain(&device.context(), &wanted));
  if (domain_ == nullptr) thread_.reset();
}

}  // namespace weft::network::ibv
