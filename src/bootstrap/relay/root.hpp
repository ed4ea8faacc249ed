// The root's side: the ranks of one other host.
#pragma once

#include <set>
#include <string>

#include "bootstrap/local/server.hpp"
#include "bootstrap/relay/frame_link.hpp"

namespace weft::bootstrap::relay {

/// Joins the ranks of a host to the server, which must outlive it. One thread, that of the server, calls it;
/// the owner waits for its link.
class RemoteHost final : public local::RemoteRanks {
 public:
  /// `agent`: the connection of the host's agent, which is encrypted: by it its ranks get the secret of the
  /// job.
  RemoteHost(local::Server& server, int host, sockets::Greeted agent);
  ~RemoteHost() override;

  [[nodiscard]] const FrameLink& link() const noexcept { return link_; }
  [[nodiscard]] FrameLink& link() noexcept { return link_; }
  /// Works when the link is readable or writable.
  void serve();
  /// Returns true when the host has told that the rank has ended, and with it all that the rank has sent.
  [[nodiscard]] bool has_ended(int rank) const { return ended_.contains(rank); }
  /// Has the process of a rank ended that was declared failed.
  void end_rank(int rank, const std::string& why);

  [[nodiscard]] int host() const override { return host_; }
  void answer(std::uint32_t stream, const local::Header& header, const Bytes* payload) override;
  void close(std::uint32_t stream) override;
  void departed(std::uint32_t instance, int rank, bool has_failed) override;

 private:
  bool take(const FrameHeader& frame, Bytes& payload);

  local::Server& server_;
  const int host_;
  FrameLink link_;
  std::set<int> ended_;  // ranks
};

}  // namespace weft::bootstrap::relay
