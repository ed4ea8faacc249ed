#include "unit/fuzz/decoders.hpp"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace weft::fuzz {

namespace {

std::vector<std::vector<Decoder> (*)()>& registered() {
  static std::vector<std::vector<Decoder> (*)()> all;
  return all;
}

}  // namespace

Registration::Registration(std::vector<Decoder> (*decoders)()) { registered().push_back(decoders); }

std::vector<Decoder> all_decoders() {
  std::vector<Decoder> all;
  for (const auto& decoders : registered())
    for (Decoder& each : decoders()) all.push_back(std::move(each));
  std::sort(all.begin(), all.end(),
            [](const Decoder& one, const Decoder& other) { return std::strcmp(one.name, other.name) < 0; });
  return all;
}

Pair::Pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
  own = base::Descriptor(ends[0]);
  peer = base::Descriptor(ends[1]);
}

Pair::Pair(Bytes sent) : Pair() {
  static_cast<void>(::send(peer.get(), sent.data(), sent.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  ::shutdown(peer.get(), SHUT_WR);
}

File::File(Bytes bytes) : file_(::memfd_create("weft-fuzz", MFD_CLOEXEC)) {
  if (::write(file_.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
}

std::string File::path() const { return "/proc/self/fd/" + std::to_string(file_.get()); }

}  // namespace weft::fuzz
