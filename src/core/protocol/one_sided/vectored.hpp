// Puts and gets of several pieces of memory under one post and one completion.
//
// Each piece is an access of its own. A record keeps the list and counts the pieces that have not ended;
// refused pieces are posted again by step(). After the last piece the signal, if one was asked for, is sent
// as an access of 0 bytes.
#pragma once

#include "concurrent/index_pool.hpp"
#include "core/backlog/backlog.hpp"
#include "core/backlog/caller.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/one_sided/one_sided.hpp"
#include "core/protocol/work_list.hpp"

#include <weft/completion/completion.hpp>
#include <weft/options.hpp>
#include <weft/remote_region.hpp>

#include <atomic>
#include <memory>

namespace weft::core {

class DetachedOperations;

class VectoredAccesses {
 public:
  /// `working`: as in WorkList, shared with other protocols.
  VectoredAccesses(const Context& context, OneSided& one_sided, Backlog& backlog,
                   std::atomic<std::uint32_t>& working);
  ~VectoredAccesses();
  VectoredAccesses(const VectoredAccesses&) = delete;
  VectoredAccesses& operator=(const VectoredAccesses&) = delete;

  struct Piece {
    RemoteAddress where;
    std::byte* data;  // only read by a put
    std::size_t size;
  };
  /// Posts `count` pieces, which `piece_at(index)` returns. Throws weft::Error, and posts nothing, when one
  /// of them is invalid. Returns retry when there is no record or, with options.may_retry outside of a
  /// handler, when the first piece is refused.
  template <class PieceAt>
  Status post(Operation operation, int peer, std::size_t count, const PieceAt& piece_at,
              const AccessOptions& options, Caller caller);

  /// Posts pieces that were refused. One thread at a time. Returns the number of steps that made progress.
  std::size_t step(Caller caller) noexcept;
  /// Ends the accesses that are due, and their pieces. Only for the thread that may call step().
  void expire(const Deadlines& deadlines) noexcept;
  /// Vectored accesses that name an object, as AccessRequests::may_name() and forget_object().
  [[nodiscard]] bool may_name(const Completion& object) const noexcept;
  void forget_object(const Completion& object, DetachedOperations& instead) noexcept;
  /// The number of vectored accesses of this rank that have not ended.
  [[nodiscard]] std::uint32_t outstanding() const noexcept {
    return outstanding_.load(std::memory_order_relaxed);
  }

 private:
  struct Record;
  class PieceEnded;

  [[nodiscard]] Record* take(std::size_t count) noexcept;
  [[nodiscard]] static Piece& piece(Record& record, std::size_t index) noexcept;
  static void check_signal(std::size_t count, const AccessOptions& options, Operation operation);
  Status start(Record& record, Operation operation, int peer, const AccessOptions& options, Caller caller);
  [[nodiscard]] Status post_pieces(Record& record, Caller caller) noexcept;
  [[nodiscard]] Status post_piece(Record& record, const Piece& piece, const AccessOptions& options,
                                  Caller caller) noexcept;
  void ended(Record& record, Outcome outcome) noexcept;
  [[nodiscard]] bool has_expired(const void* record) const noexcept;
  [[nodiscard]] bool leave(Record& record) noexcept;
  Status finish(Record& record, bool in_post) noexcept;
  void free(Record& record) noexcept;
  Step advance(Record& record, Caller caller) noexcept;

  const Context& context_;
  OneSided& one_sided_;
  Backlog& backlog_;
  std::atomic<std::uint32_t>& working_;
  concurrent::IndexPool<> free_;
  std::unique_ptr<Record[]> records_;
  std::unique_ptr<PieceEnded> piece_completed_;
  std::atomic<std::uint32_t> outstanding_{0};
  WorkList<Record> advancing_;
};

template <class PieceAt>
Status VectoredAccesses::post(Operation operation, int peer, std::size_t count, const PieceAt& piece_at,
                              const AccessOptions& options, Caller caller) {
  for (std::size_t index = 0; index < count; ++index) {
    const Piece each = piece_at(index);
    one_sided_.check({operation, peer, each.where, each.data, each.size, options});
  }
  check_signal(count, options, operation);
  Record* const record = take(count);
  if (record == nullptr) return Status::retry(Reason::no_request);
  for (std::size_t index = 0; index < count; ++index) piece(*record, index) = piece_at(index);
  return start(*record, operation, peer, options, caller);
}

}  // namespace weft::core
