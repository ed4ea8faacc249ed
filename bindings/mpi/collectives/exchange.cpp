#include "bindings/mpi/collectives/exchange.hpp"
#include "bindings/mpi/collectives/algorithms.hpp"
#include "bindings/mpi/communicators/fail_on.hpp"

#include <algorithm>
#include <string>

namespace weft::mpi {

namespace {

/// All 32 bits are the collective's: bit 31 is set where communicators are made.
int tag_of(const Channel& channel, int offset) noexcept {
  return static_cast<int>(static_cast<std::uint32_t>(channel.tag) + static_cast<std::uint32_t>(offset));
}

}  // namespace

Exchange::Wrong Exchange::ending_of(const Request& request) noexcept {
  int error = request.status.MPI_ERROR;
  if (request.what != Request::What::receive) return {error, request.peer};
  const MPI_Count bytes = bytes_in(request.status);
  if (bytes != request.expected && (error == MPI_SUCCESS || error == MPI_ERR_TYPE)) error = MPI_ERR_COUNT;
  return {error, request.peer, bytes, request.expected};
}

/// A message that travels in pieces, until all of them have ended. Receives are posted once the first piece
/// has turned out to have the right length: the sender has as many pieces then.
class Exchange::Cut final : public RequestOwner {
 public:
  static void send(Exchange& exchange, const CutMessage& message, const void* buffer, MPI_Count count,
                   Datatype& type, int to, int tag) {
    Cut& cut = make(exchange, message, type, to, tag);
    const std::byte* bytes = shifted(buffer, type.true_lb);
    if (!type.is_dense(count)) {
      cut.packed_ = make_block(count * type.size);
      pack_elements(type, count, buffer, cut.packed_.get());
      bytes = cut.packed_.get();
    }
    for (int piece = 0; piece < message.pieces(); ++piece) {
      Request& request = *cut.requests_[piece];
      if (post_message(request, bytes + message.begin(piece), message.length(piece), byte_type, to, tag,
                       exchange.channel_.context, SendMode::standard))
        cut.finish(request);
    }
  }

  static void receive(Exchange& exchange, const CutMessage& message, void* buffer, MPI_Count count,
                      Datatype& type, int from, int tag) {
    Cut& cut = make(exchange, message, type, from, tag);
    cut.to_ = buffer;
    cut.count_ = count;
    if (!type.is_dense(count)) cut.packed_ = make_block(count * type.size);
    cut.post_receive(0);
  }

  void finish(Request& request) noexcept override {
    const int error = ending_of(request).error;
    if (error != MPI_SUCCESS) error_.store(error, std::memory_order_relaxed);
    if (&request == requests_[0] && request.what == Request::What::receive) {
      for (int piece = 1; piece < message_.pieces(); ++piece)
        if (error == MPI_SUCCESS)
          post_receive(piece);
        else
          end_piece(*requests_[piece]);
    }
    end_piece(request);
  }

 private:
  Cut(Exchange& exchange, const CutMessage& message, Datatype& type, int peer, int tag)
      : exchange_(exchange), message_(message), type_(type), peer_(peer), tag_(tag), left_(message.pieces()) {
    for (int piece = 0; piece < message.pieces(); ++piece) {
      requests_[piece] = take_request(exchange.channel_.communicator);
      requests_[piece]->owner = this;
    }
  }
  ~Cut() = default;

  static Cut& make(Exchange& exchange, const CutMessage& message, Datatype& type, int peer, int tag) {
    Block memory = make_block(sizeof(Cut));
    Cut& cut = *new (memory.get()) Cut(exchange, message, type, peer, tag);
    static_cast<void>(memory.release());
    exchange.pending_.fetch_add(1, std::memory_order_relaxed);
    return cut;
  }

  void post_receive(int piece) {
    std::byte* const bytes = packed_ != nullptr ? packed_.get() : shifted(to_, type_->true_lb);
    requests_[piece]->expected = message_.length(piece);
    post_buffer(*requests_[piece], bytes + message_.begin(piece), message_.length(piece), byte_type, peer_,
                tag_, exchange_.channel_.context, false);
  }

  void end_piece(Request& request) noexcept {
    give_request(&request);
    // Each piece is there for who ends the last one.
    if (left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    const int error = error_.load(std::memory_order_relaxed);
    if (packed_ != nullptr && error == MPI_SUCCESS)
      unpack_elements(type_, count_, packed_.get(), type_->size * count_, to_);
    Exchange& exchange = exchange_;
    const int peer = peer_;
    const Block memory(reinterpret_cast<std::byte*>(this));
    this->~Cut();
    if (error != MPI_SUCCESS) exchange.note({error, peer});
    exchange.end();
  }

  Exchange& exchange_;
  const CutMessage message_;
  const Type type_;
  const int peer_, tag_;
  std::atomic<int> left_;
  std::atomic<int> error_{MPI_SUCCESS};
  Request* requests_[CutMessage::kMostPieces] = {};
  // Of a receive; a send has none.
  void* to_ = nullptr;
  MPI_Count count_ = 0;
  Block packed_;  // elements that are not one block in memory
};

void Exchange::send(const void* buffer, MPI_Count count, Datatype& type, int to, int tag_offset) {
  if (to == MPI_PROC_NULL || has_told()) return;
  const int tag = tag_of(channel_, tag_offset);
  if (const CutMessage cut = cut_of(count, type, to); cut.pieces() > 1) [[unlikely]]
    return Cut::send(*this, cut, buffer, count, type, to, tag);
  Request* const request = take_request(channel_.communicator);
  request->owner = this;
  pending_.fetch_add(1, std::memory_order_relaxed);
  if (!post_message(*request, buffer, count, type, to, tag, channel_.context, SendMode::standard)) return;
  give_request(request);
  pending_.fetch_sub(1, std::memory_order_relaxed);  // never the last one: the coroutine counts, too
}

void Exchange::receive(void* buffer, MPI_Count count, Datatype& type, int from, int tag_offset) {
  if (from == MPI_PROC_NULL || has_told()) return;
  const int tag = tag_of(channel_, tag_offset);
  if (const CutMessage cut = cut_of(count, type, from); cut.pieces() > 1) [[unlikely]]
    return Cut::receive(*this, cut, buffer, count, type, from, tag);
  Request* const request = take_request(channel_.communicator);
  request->owner = this;
  request->expected = count * type.size;
  pending_.fetch_add(1, std::memory_order_relaxed);
  post_buffer(*request, buffer, count, type, from, tag, channel_.context, false);
}

/// Behind a message of this length no other one of the same member is awaited in a collective before it has
/// come; neighbours may have several.
CutMessage Exchange::cut_of(MPI_Count count, const Datatype& type, int member) const {
  const MPI_Count bytes = count * type.size;
  if (bytes < CutMessage::kShortest) return {bytes, 0};
  if (channel_.is_of_neighbours()) return {bytes, 0};
  return cut_message(bytes, channel_.communicator.peer(member), traffic_ == Traffic::both_ways);
}

void Exchange::copy(const Datatype& from_type, MPI_Count from_count, const void* from,
                    const Datatype& to_type, MPI_Count to_count, void* to) {
  const MPI_Count sent = from_count * from_type.size, room = to_count * to_type.size;
  copy_elements(from_type, from_count, from, to_type, to_count, to);
  if (sent != room) [[unlikely]]
    note({sent > room ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT, channel_.rank(), std::min(sent, room), room});
}

void Exchange::finish(Request& request) noexcept {
  if (request.status.MPI_ERROR != MPI_SUCCESS ||
      (request.what == Request::What::receive && bytes_in(request.status) != request.expected)) [[unlikely]]
    note(ending_of(request));
  give_request(&request);
  end();
}

void Exchange::end() noexcept {
  if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) waiting_.resume();
}

void Exchange::await_resume() {
  pending_.store(1, std::memory_order_relaxed);
  check();
}

void Exchange::note(const Wrong& wrong) noexcept {
  int none = MPI_SUCCESS;
  if (!error_.compare_exchange_strong(none, wrong.error, std::memory_order_relaxed)) return;
  first_wrong_ = wrong;
  tell_of_failure(channel_);
}

void Exchange::fail() const {
  take_what_still_comes(channel_);
  const auto [error, from, bytes, awaited] = first_wrong_;
  Communicator* const communicator = &channel_.communicator;
  if (error != MPI_ERR_TRUNCATE && error != MPI_ERR_COUNT)
    fail_on(communicator, error, "a member, rank %d, has ended or left the job", from);
  const bool is_own = from == channel_.rank() && !channel_.communicator.is_inter();
  const std::string sender = "rank " + std::to_string(from);
  const auto notice = static_cast<MPI_Count>(kNoticeBytes);
  if (error == MPI_ERR_COUNT && bytes == notice && !is_own)
    fail_on(communicator, error,
            "%s has failed in this collective, for a reason that its own error tells, or has passed another "
            "count",
            sender.c_str());
  const bool is_longer = error == MPI_ERR_TRUNCATE;
  std::string length = is_longer ? "is longer than awaited" : "is shorter than awaited";
  if (awaited > 0 || bytes > 0)
    length = is_longer
                 ? "has more than the " + std::to_string(awaited) + " bytes that are awaited"
                 : "has " + std::to_string(bytes) + " bytes, and " + std::to_string(awaited) + " are awaited";
  fail_on(communicator, error,
          "%s %s: the ranks have passed different counts, or called different collectives%s",
          is_own ? "what this rank sends to itself" : ("a message from " + sender).c_str(), length.c_str(),
          is_longer && awaited < notice && !is_own ? ", or that one has failed in this one" : "");
}

}  // namespace weft::mpi
