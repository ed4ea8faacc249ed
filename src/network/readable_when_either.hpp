// Sleeping on two descriptors as on one.
#pragma once

#include "base/descriptor.hpp"

#include <sys/epoll.h>

namespace weft::network {

/// Returns a descriptor that is readable when one of the two is, which must outlive it; an empty one, with
/// errno, when there can be none.
[[nodiscard]] inline base::Descriptor readable_when_either(int first, int second) {
  base::Descriptor made(::epoll_create1(EPOLL_CLOEXEC));
  for (const int descriptor : {first, second}) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (!made || ::epoll_ctl(made.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) return base::Descriptor();
  }
  return made;
}

}  // namespace weft::network
