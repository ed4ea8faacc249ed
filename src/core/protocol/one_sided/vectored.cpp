#include "core/protocol/one_sided/vectored.hpp"

#include "base/refuse.hpp"
#include "concurrent/racy_read.hpp"
#include "core/completion/object_end.hpp"

#include <weft/detail/message_access.hpp>
#include <weft/error.hpp>

#include <algorithm>
#include <new>
#include <string>

namespace weft::core {

namespace {

constexpr std::uint32_t kRecords = 256;  // of a device; each posts any number of pieces

}  // namespace

struct VectoredAccesses::Record {
  Record* next = nullptr;
  std::uint32_t index = 0;
  Operation operation = Operation::put;
  int peer = 0;
  std::uint8_t epoch = 0;  // epoch of the flushes
  bool signals = false;    // all pieces have ended; the signal remains to be sent
  AccessOptions options;
  std::unique_ptr<Piece[]> pieces;  // reused: once grown, without allocation
  std::size_t capacity = 0;
  std::size_t count = 0;
  std::size_t posted = 0;              // number of pieces posted; owned by the thread that posts them
  std::atomic<std::uint64_t> open{0};  // pieces that have not ended, and one while more may be posted
  // The number of uses of the record, and in the last byte the first outcome that was not ok.
  std::atomic<std::uint64_t> result{0};

  [[nodiscard]] Outcome outcome() const noexcept {
    return static_cast<Outcome>(result.load(std::memory_order_relaxed) & 0xff);
  }
  /// Stores an outcome; `before` is the value of `result` when the outcome became possible.
  void fail(std::uint64_t before, Outcome outcome) noexcept {
    if ((before & 0xff) == 0)
      result.compare_exchange_strong(before, before | static_cast<std::uint64_t>(outcome),
                                     std::memory_order_relaxed);
  }
};

/// The completion object of the pieces, with their record as user data.
class VectoredAccesses::PieceEnded final : public Completion {
 public:
  explicit PieceEnded(VectoredAccesses& owner) noexcept : owner_(owner) {}
  ~PieceEnded() override { withdraw(); }
  void signal(Message& message) noexcept override {
    owner_.ended(*static_cast<Record*>(message.user_data()), message.outcome());
  }
  [[nodiscard]] bool ready() const noexcept override { return true; }

 private:
  VectoredAccesses& owner_;
};

VectoredAccesses::VectoredAccesses(const Context& context, OneSided& one_sided, Backlog& backlog,
                                   std::atomic<std::uint32_t>& working)
    : context_(context),
      one_sided_(one_sided),
      backlog_(backlog),
      working_(working),
      free_(std::min(context.requests, kRecords)),
      records_(new Record[free_.capacity()]),
      piece_completed_(new PieceEnded(*this)) {
  for (std::uint32_t index = 0; index < free_.capacity(); ++index) records_[index].index = index;
}

VectoredAccesses::~VectoredAccesses() = default;

VectoredAccesses::Record* VectoredAccesses::take(std::size_t count) noexcept {
  const std::uint32_t index = free_.take();
  if (index == concurrent::IndexPool<>::kNone) return nullptr;
  Record& record = records_[index];
  if (count > record.capacity) {
    record.pieces.reset(new (std::nothrow) Piece[count]);
    record.capacity = record.pieces != nullptr ? count : 0;
  }
  if (count > record.capacity) {
    free_.put(index);
    return nullptr;
  }
  record.count = count;
  return &record;
}

VectoredAccesses::Piece& VectoredAccesses::piece(Record& record, std::size_t index) noexcept {
  return record.pieces[index];
}

void VectoredAccesses::check_signal(std::size_t count, const AccessOptions& options, Operation operation) {
  if (count == 0 && options.signal.generation() != 0)
    base::refuse(ErrorClass::target, operation == Operation::put ? "post_put" : "post_get",
                 "an empty list names no region whose owner could be signalled");
}

Status VectoredAccesses::start(Record& record, Operation operation, int peer, const AccessOptions& options,
                               Caller caller) {
  record.operation = operation;
  record.peer = peer;
  record.options = options;
  detail::NamedCompletion::note_named_by(options.completion, context_.device_number);
  record.signals = false;
  record.posted = 0;
  record.open.store(1, std::memory_order_relaxed);
  // Pairs with the acquire in expire().
  record.result.store((record.result.load(std::memory_order_relaxed) | 0xff) + 1, std::memory_order_release);
  record.epoch = one_sided_.requests().flushes().enter(peer);
  outstanding_.fetch_add(1, std::memory_order_relaxed);
  const Status status = post_pieces(record, caller);
  if (status.is_retry()) {
    if (record.posted == 0 && options.may_retry && !caller.from_handler) {
      one_sided_.requests().flushes().leave(peer, record.epoch);
      free(record);
      return status;
    }
    working_.fetch_add(1, std::memory_order_relaxed);
    advancing_.add(record);
    return Status::posted();
  }
  return leave(record) ? finish(record, true) : Status::posted();
}

/// Posts the remaining pieces, until one is refused (retry) or has failed.
Status VectoredAccesses::post_pieces(Record& record, Caller caller) noexcept {
  AccessOptions options;
  options.completion = piece_completed_.get();
  options.user_data = &record;
  options.device = record.options.device;
  options.may_complete_now = true;
  while (record.posted < record.count && record.outcome() == Outcome::ok) {
    const Status status = post_piece(record, record.pieces[record.posted], options, caller);
    if (status.is_retry()) return status;
    ++record.posted;
  }
  return Status::done();
}

Status VectoredAccesses::post_piece(Record& record, const Piece& piece, const AccessOptions& options,
                                    Caller caller) noexcept {
  // Counted before the post, because the piece may end before the post returns.
  record.open.fetch_add(1, std::memory_order_relaxed);
  const Status status =
      one_sided_.post({record.operation, record.peer, piece.where, piece.data, piece.size, options}, backlog_,
                      {caller.exclusive});
  if (!status.is_posted()) record.open.fetch_sub(1, std::memory_order_relaxed);
  return status;
}

void VectoredAccesses::ended(Record& record, Outcome outcome) noexcept {
  if (outcome != Outcome::ok) record.fail(record.result.load(std::memory_order_relaxed), outcome);
  if (leave(record)) static_cast<void>(finish(record, false));
}

/// Returns true when the caller was the last user of the record.
bool VectoredAccesses::leave(Record& record) noexcept {
  // Acquire and release: the thread that finishes the record sees the effects of all others.
  return record.open.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

Status VectoredAccesses::finish(Record& record, bool in_post) noexcept {
  const Outcome outcome = record.outcome();
  const AccessOptions& options = record.options;
  if (outcome == Outcome::ok && options.signal.generation() != 0 && !record.signals) {
    record.signals = true;
    record.open.store(1, std::memory_order_relaxed);
    working_.fetch_add(1, std::memory_order_relaxed);
    advancing_.add(record);
    return Status::posted();
  }
  Completion* completion = options.completion;
  if (completion == nullptr && outcome != Outcome::ok) {
    const Piece& last = record.pieces[record.posted - 1];
    one_sided_.requests().count_failure(record.operation, last.where, last.size, outcome);
  }
  if (in_post && outcome == Outcome::ok && options.may_complete_now) completion = nullptr;
  Message message;
  detail::MessageAccess::set_view(message, record.operation, record.peer, options.tag, nullptr, 0, nullptr,
                                  0);
  detail::MessageAccess::set_device(message, context_.device);
  detail::MessageAccess::set_user_data(message, options.user_data);
  detail::MessageAccess::set_outcome(message, outcome);
  one_sided_.requests().flushes().leave(record.peer, record.epoch);
  free(record);
  if (completion == nullptr) return Status::done();
  context_.ends.signal(*completion, message);
  return Status::posted();
}

void VectoredAccesses::free(Record& record) noexcept {
  record.options.completion = nullptr;
  free_.put(record.index);
  outstanding_.fetch_sub(1, std::memory_order_release);
}

Step VectoredAccesses::advance(Record& record, Caller caller) noexcept {
  const std::size_t before = record.posted;
  Status status;
  if (record.signals && record.outcome() == Outcome::ok) {
    AccessOptions options;
    options.completion = piece_completed_.get();
    options.user_data = &record;
    options.signal = record.options.signal;
    options.tag = record.options.tag;
    options.device = record.options.device;
    options.may_complete_now = true;
    const Piece& last = record.pieces[record.count - 1];
    status = post_piece(record, {last.where, last.data, 0}, options, caller);
  } else if (!record.signals) {
    status = post_pieces(record, caller);
  }
  if (status.is_retry()) return record.posted != before ? Step::moved : Step::idle;
  if (leave(record)) static_cast<void>(finish(record, false));
  return Step::finished;
}

WEFT_READS_RACILY void VectoredAccesses::expire(const Deadlines& deadlines) noexcept {
  for (std::uint32_t index = 0; index < free_.capacity() && outstanding() != 0; ++index) {
    Record& record = records_[index];
    const std::uint64_t before = record.result.load(std::memory_order_acquire);
    // Without effect when the record has been reused.
    if (deadlines.is_due(concurrent::racy_read(record.options.completion)))
      record.fail(before, Outcome::timed_out);
  }
  one_sided_.requests().expire({deadlines, piece_completed_.get(),
                                [](const void* vectored, const void* user_data) noexcept {
                                  return static_cast<const VectoredAccesses*>(vectored)->has_expired(
                                      user_data);
                                },
                                this});
}

/// Returns true when the pointer is one of the records, and its access has timed out.
bool VectoredAccesses::has_expired(const void* record) const noexcept {
  for (std::uint32_t index = 0; index < free_.capacity(); ++index)
    if (&records_[index] == record) return records_[index].outcome() == Outcome::timed_out;
  return false;
}

/// Records that have ended name no completion object.
WEFT_READS_RACILY bool VectoredAccesses::may_name(const Completion& object) const noexcept {
  if (outstanding() == 0) return false;
  for (std::uint32_t index = 0; index < free_.capacity(); ++index)
    if (concurrent::racy_read(records_[index].options.completion) == &object) return true;
  return false;
}

WEFT_READS_RACILY void VectoredAccesses::forget_object(const Completion& object,
                                                       DetachedOperations& instead) noexcept {
  for (std::uint32_t index = 0; index < free_.capacity() && outstanding() != 0; ++index) {
    AccessOptions& options = records_[index].options;
    if (concurrent::racy_read(options.completion) != &object) continue;
    instead.add();
    *const_cast<Completion* volatile*>(&options.completion) = &instead;
  }
}

std::size_t VectoredAccesses::step(Caller caller) noexcept {
  return advancing_.run(working_, [&](Record& record) { return advance(record, caller); });
}

}  // namespace weft::core
