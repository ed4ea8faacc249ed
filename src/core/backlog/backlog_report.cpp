// Lists the posts in a backlog, for explanations.
#include "core/backlog/backlog.hpp"

namespace weft::core {

namespace {

const char* state_of(Reason reason) noexcept {
  switch (reason) {
    case Reason::no_slot:
      return "refused: the lane to the peer is full (no_slot)";
    case Reason::no_packet:
      return "refused: no packet is free (no_packet)";
    case Reason::no_credit:
      return "refused: the peer has stopped its senders, or no credit is left (no_credit)";
    case Reason::no_request:
      return "refused: too many operations are in flight (no_request)";
    case Reason::not_ready:
      return "refused: the peer has not opened the device or exposed the handle (not_ready)";
    case Reason::lock_contended:
    case Reason::backlog:
    case Reason::in_flight:
    case Reason::none:
      break;
  }
  return "refused, waits in the backlog";
}

PendingOperation operation_of(const PendingPost& post, Backlog::ShowReceive show_receive) noexcept {
  PendingOperation operation;
  operation.peer = post.peer;
  operation.size = post.size;
  if (const auto* send = std::get_if<PendingSend>(&post.other); post.operation == Operation::send && send) {
    operation.kind = PendingKind::send;
    operation.has_tag = true;
    operation.tag = send->tag;
    operation.engine = send->options.engine;
    operation.completion = send->options.completion;
  } else if (const auto* receive = std::get_if<PendingReceive>(&post.other);
             post.operation == Operation::receive && receive) {
    operation.kind = PendingKind::receive;
    operation.peer = receive->source;
    operation.has_tag = true;
    operation.tag = receive->tag;
    operation.size = receive->buffer.size();
    operation.engine = receive->options.engine;
    operation.completion = receive->options.completion;
    show_receive(receive->buffer, operation);
  } else if (const auto* access = std::get_if<PendingAccess>(&post.other);
             post.operation != Operation::active_message_sent && access) {
    operation.kind = post.operation == Operation::put   ? PendingKind::put
                     : post.operation == Operation::get ? PendingKind::get
                                                        : PendingKind::atomic;
    operation.completion = access->options.completion;
  } else {
    if (const auto* parts = std::get_if<PendingParts>(&post.other);
        post.operation == Operation::multipart_message && parts)
      operation.size += parts->size;
    operation.kind = PendingKind::active_message;
    operation.has_tag = true;
    operation.tag = post.options.tag;
    operation.completion = post.options.completion;
  }
  return operation;
}

}  // namespace

void Backlog::describe(PendingList& list, ShowReceive show_receive) noexcept {
  if (empty()) return;
  sort_list();
  for (int peer = 0; peer < ranks_; ++peer) {
    const PeerQueue& queue = peers_[static_cast<std::size_t>(peer)];
    const auto& [normal, control, bulk] = queue.classes;
    for (const List* each : {&queue.receives, &queue.sends, &normal.answers, &normal.requests,
                             &control.answers, &control.requests, &bulk.answers, &bulk.requests})
      for (const PendingPost* post = each->first; post != nullptr; post = post->next) {
        PendingOperation operation = operation_of(*post, show_receive);
        const bool is_first = post == each->first;
        operation.state = is_first ? state_of(each->refusal) : "waits in the backlog behind others";
        if (is_first && each->refusal == Reason::not_ready && operation.kind == PendingKind::active_message)
          operation.remote_id = post->remote.id();
        // Records of the backlog have no generation: a later use of the same record may look like this one.
        operation.identity = std::uint64_t{1} << 63 | post->index;
        list.add(operation);
      }
  }
}

}  // namespace weft::core
