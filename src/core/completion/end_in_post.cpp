#include <weft/completion/completion.hpp>
#include <weft/detail/end_in_post.hpp>
#include <weft/detail/message_access.hpp>

namespace weft::detail {

Status tell_end(Operation operation, int peer, std::uint64_t tag, Bytes bytes, Completion& completion,
                void* user_data, Outcome outcome) noexcept {
  if (completion.counts_only()) {
    completion.signal_count(1);
    return Status::posted();
  }
  Message message;
  MessageAccess::set_view(message, operation, peer, tag, bytes.data(), bytes.size(), nullptr, 0);
  MessageAccess::set_user_data(message, user_data);
  MessageAccess::set_outcome(message, outcome);
  completion.signal(message);
  return Status::posted();
}

}  // namespace weft::detail
