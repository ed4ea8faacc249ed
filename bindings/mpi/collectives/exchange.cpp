#include "bindings/mpi/collectives/exchange.hpp"
#include "bindings/mpi/collectives/algorithms.hpp"
#include "bindings/mpi/communicators/fail_on.hpp"

namespace weft::mpi {

namespace {

/// All 32 bits are the collective's: bit 31 is set where communicators are made.
int tag_of(const Channel& channel, int offset) noexcept {
  return static_cast<int>(static_cast<std::uint32_t>(channel.tag) + static_cast<std::uint32_t>(offset));
}

/// How a message has ended; MPI_ERR_COUNT where it was shorter than the buffer for it.
int error_of(const Request& request) noexcept {
  const int error = request.status.MPI_ERROR;
  if (request.what != Request::What::receive || bytes_in(request.status) == request.expected) return error;
  return error == MPI_SUCCESS || error == MPI_ERR_TYPE ? MPI_ERR_COUNT : error;
}

}  // namespace

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
    const int error = error_of(request);
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
    const Block memory(reinterpret_cast<std::byte*>(this));
    this->~Cut();
    exchange.end(error);
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
    note(sent > room ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT);
}

void Exchange::finish(Request& request) noexcept {
  const int error = error_of(request);
  give_request(&request);
  end(error);
}

void Exchange::end(int error) noexcept {
  if (error != MPI_SUCCESS) [[unlikely]]
    note(error);
  if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) waiting_.resume();
}

void Exchange::await_resume() {
  pending_.store(1, std::memory_order_relaxed);
  check();
}

void Exchange::note(int error) noexcept {
  int none = MPI_SUCCESS;
  if (error_.compare_exchange_strong(none, error, std::memory_order_relaxed)) tell_of_failure(channel_);
}

void Exchange::fail() const {
  take_what_still_comes(channel_);
  const int error = error_.load(std::memory_order_relaxed);
  if (error == MPI_ERR_TRUNCATE)
    fail_on(
        &channel_.communicator, error,
        "a message is longer than the buffer for it: its sender has failed in this collective, or the ranks "
        "have passed different counts");
  if (error == MPI_ERR_COUNT)
    fail_on(&channel_.communicator, error,
            "a message is shorter than the buffer for it: its sender has failed in this collective, or the "
            "ranks have passed different counts");
  fail_on(&channel_.communicator, error, "a member has ended or left the job");
}

}  // namespace weft::mpi
