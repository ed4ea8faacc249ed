#include "network/ibv/connection/posting.hpp"

#include "network/ibv/memory/work_id.hpp"

#include <cerrno>
#include <utility>

namespace weft::network::ibv {

void Posting::lose(Connection& connection, const std::string& why) noexcept {
  connection.is_closed = true;
  if (connection.messages != nullptr) connection.messages->is_closed = true;
  context_.peers.mark_left(connection.rank, why);
}

/// What needs its memory again is signalled, and so is every one once the completion queue is half used.
session::Sent Posting::post(Connection& connection, ibv_send_wr& request, Work work) noexcept {
  SendQueue& sends = connection.sends;
  if (connection.is_closed) {
    lose(connection, "");
    return session::Sent::never;
  }
  if (!may_post(connection)) return session::Sent::later;
  const bool is_signalled =
      work.kind != Work::Kind::inlined || sends.is_signal_due() || under_way_ >= most_ / 2;
  request.wr_id = id_of_send(connection.index, sends.position());
  if (is_signalled) request.send_flags |= IBV_SEND_SIGNALED;
  ibv_send_wr* refused = nullptr;
  const int result = ::ibv_post_send(connection.queue_pair.get(), &request, &refused);
  if (result == ENOMEM || result == EAGAIN) return session::Sent::later;
  if (result != 0) {
    lose(connection, "a message cannot be sent: " + error_text(result));
    return session::Sent::never;
  }
  ++under_way_;
  sends.add(std::move(work), is_signalled);
  return session::Sent::yes;
}

}  // namespace weft::network::ibv
