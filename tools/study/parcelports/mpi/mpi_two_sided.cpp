#include "study/parcelports/mpi/mpi_two_sided.hpp"

#include <weft/error.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/parcel/ports/wake_count.hpp>
#include "study/parcelports/connections/header_message.hpp"
#include "study/parcelports/connections/pending_posts.hpp"
#include "study/parcelports/mpi/mpi_library.hpp"

namespace weft::parcel::ports {

namespace {

using mpi::Library;
using mpi::Word;

constexpr int kHeaderTag = 0;
constexpr std::size_t kOriginalHeader = 512;
constexpr std::uint64_t kMostTags = 1 << 14;          // half of the least that MPI promises
constexpr std::size_t kPiece = std::size_t{1} << 30;  // counts are ints
// MPI has no wait for several things, so who sleeps looks again soon.
constexpr std::chrono::microseconds kNap(50);

struct Request final : PostState {
  Word word = 0;
  std::vector<std::byte> header;
};

std::mutex communicators_mutex;
std::vector<Word> free_communicators;

/// A communicator of the runtime's own, so that no message of the program is taken for a header. They are
/// kept for later runtimes: Open MPI 4.1 may hang in MPI_Comm_dup when one has just been freed.
Word take_communicator(const Library& library) {
  const std::lock_guard lock(communicators_mutex);
  Word communicator = 0;
  if (free_communicators.empty()) {
    check(library, library.Comm_dup(library.world, &communicator), "MPI_Comm_dup");
    check(library, library.Comm_set_errhandler(communicator, library.errors_return),
          "MPI_Comm_set_errhandler");
  } else {
    communicator = free_communicators.back();
    free_communicators.pop_back();
  }
  return communicator;
}
void give_back_communicator(Word communicator) {
  const std::lock_guard lock(communicators_mutex);
  free_communicators.push_back(communicator);
}

class MpiTwoSided final : public TwoSided {
 public:
  MpiTwoSided(const RuntimeOptions& options, std::string_view mpi_library, MpiForm form)
      : mpi_(mpi::library(mpi_library)),
        is_original_(form == MpiForm::original),
        header_bytes_(is_original_ ? kOriginalHeader
                                   : sizeof(HeaderMessage) + std::max<std::size_t>(options.zero_copy, 512)) {
    communicator_ = take_communicator(mpi_);
    check(mpi_.Comm_rank(communicator_, &rank_), "MPI_Comm_rank");
    check(mpi_.Comm_size(communicator_, &size_), "MPI_Comm_size");
    if (const char* const ranks = std::getenv("WEFT_SIZE");
        ranks != nullptr && size_ == 1 && std::string_view(ranks) != "1")
      throw Error("parcel option port=mpi: MPI has 1 rank, and the job has " + std::string(ranks) +
                  ": start it with mpiexec");
    headers_sent_ = std::vector<std::atomic<std::uint64_t>>(static_cast<std::size_t>(size_));
    int* most = nullptr;
    int is_set = 0;
    check(mpi_.Comm_get_attr(mpi_.world, mpi_.tag_ub, static_cast<void*>(&most), &is_set),
          "MPI_Comm_get_attr");
    tags_ = std::min<std::uint64_t>(kMostTags, is_set != 0 ? static_cast<std::uint64_t>(*most) : 32767);
    std::array<char, 64> own{};
    ::gethostname(own.data(), own.size() - 1);
    std::vector<std::array<char, 64>> all(static_cast<std::size_t>(size_));
    allgather(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));
    ranks_of_host_ = static_cast<int>(std::count(all.begin(), all.end(), own));
    // Headers, for which receives are posted, are as long as it says.
    std::vector<std::uint64_t> thresholds(all.size());
    const std::uint64_t threshold = options.zero_copy;
    allgather(weft::bytes_of(threshold), std::as_writable_bytes(std::span(thresholds)));
    for (std::size_t rank = 1; rank < thresholds.size(); ++rank)
      if (thresholds[rank] != thresholds[0])
        throw Error("parcel option zero_copy is '" + std::to_string(thresholds[0]) + "' on rank 0 and '" +
                    std::to_string(thresholds[rank]) + "' on rank " + std::to_string(rank) +
                    ": over MPI all ranks must have the same");
  }
  ~MpiTwoSided() override { give_back_communicator(communicator_); }

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  int ranks_of_host() const noexcept override { return ranks_of_host_; }
  bool has_failed(int) const noexcept override { return false; }  // MPI ends the job
  void allgather(Bytes mine, std::span<std::byte> all) override {
    const int count = static_cast<int>(mine.size());
    check(mpi_.Allgather(mine.data(), count, mpi_.byte, all.data(), count, mpi_.byte, communicator_),
          "MPI_Allgather");
  }

  TagPolicy tag_policy() const noexcept override {
    return is_original_ ? TagPolicy::provider : TagPolicy::window;
  }
  std::uint64_t tags() const noexcept override { return tags_; }
  std::size_t header_bytes() const noexcept override { return header_bytes_; }
  std::size_t followup_bytes() const noexcept override { return kPiece; }
  bool has_dynamic_headers() const noexcept override { return !is_original_; }

  void start(HeaderReceiver& headers, unsigned) override {
    headers_ = &headers;
    arriving_.resize(header_bytes_);
    post_header_receive();
  }
  void stop() override {
    drain_headers();
    check(mpi_.Cancel(&header_request_), "MPI_Cancel");
    check(mpi_.Wait(&header_request_, mpi_.status_ignore), "MPI_Wait");
  }

  MutableBytes header_room(Poster& poster, std::size_t size) override {
    auto state = std::make_unique<Request>();
    state->header.resize(size);
    const MutableBytes room(state->header);
    poster.state = std::move(state);
    return room;
  }
  Posted send_header(int peer, Poster& poster, std::size_t size, unsigned) override {
    Request& request = request_of(poster);
    check(mpi_.Isend(request.header.data(), static_cast<int>(size), mpi_.byte, peer, kHeaderTag,
                     communicator_, &request.word),
          "MPI_Isend");
    headers_sent_[static_cast<std::size_t>(peer)].fetch_add(1, std::memory_order_relaxed);
    return pending(poster);
  }
  Posted send(int peer, std::uint64_t tag, Bytes bytes, Poster& poster, unsigned) override {
    check(mpi_.Isend(bytes.data(), static_cast<int>(bytes.size()), mpi_.byte, peer, static_cast<int>(tag),
                     communicator_, &request_of(poster).word),
          "MPI_Isend");
    return pending(poster);
  }
  Posted receive(int peer, std::uint64_t tag, MutableBytes room, Poster& poster, unsigned) override {
    check(mpi_.Irecv(room.data(), static_cast<int>(room.size()), mpi_.byte, peer, static_cast<int>(tag),
                     communicator_, &request_of(poster).word),
          "MPI_Irecv");
    return pending(poster);
  }

  bool poll(unsigned worker) override {
    const bool has_header = poll_headers(worker);
    const bool has_ended = pending_.poll([this](Poster& poster) { return has_ended_now(poster); },
                                         [worker](Poster& poster) { poster.ended(true, worker); });
    return has_header || has_ended;
  }
  std::uint64_t wakes() const noexcept override { return wakes_.look(); }
  void park(unsigned, Timeout, std::uint64_t seen) override {
    std::unique_lock lock(sleep_mutex_);
    woken_.wait_for(lock, kNap, [&] { return wakes_.has_come(seen); });
  }
  void wake() noexcept override {
    wakes_.wake();
    // A sleeper either sees the wake-up, or waits already.
    { const std::lock_guard lock(sleep_mutex_); }
    woken_.notify_all();
  }

 private:
  void check(int code, const char* call) const { mpi::check(mpi_, code, call); }

  static Request& request_of(Poster& poster) {
    if (!poster.state) poster.state = std::make_unique<Request>();
    return static_cast<Request&>(*poster.state);
  }
  [[nodiscard]] bool has_ended_now(Poster& poster) const {
    int has_ended = 0;
    check(mpi_.Test(&request_of(poster).word, &has_ended, mpi_.status_ignore), "MPI_Test");
    return has_ended != 0;
  }
  /// Most posts have ended when they return.
  Posted pending(Poster& poster) {
    if (has_ended_now(poster)) return Posted::done;
    pending_.add(poster);
    return Posted::pending;
  }

  /// Receives the headers that still come, those that give tags back: they would be taken for headers of the
  /// next runtime.
  void drain_headers() {
    const std::vector<std::uint64_t> sent(headers_sent_.begin(), headers_sent_.end());
    std::vector<std::uint64_t> all(sent.size() * sent.size());
    allgather(std::as_bytes(std::span(sent)), std::as_writable_bytes(std::span(all)));
    std::uint64_t expected = 0;
    for (std::size_t index = static_cast<std::size_t>(rank_); index < all.size(); index += sent.size())
      expected += all[index];
    while (headers_received_ < expected) poll_headers(0);
  }

  void post_header_receive() {
    check(mpi_.Irecv(arriving_.data(), static_cast<int>(arriving_.size()), mpi_.byte, mpi_.any_source,
                     kHeaderTag, communicator_, &header_request_),
          "MPI_Irecv");
  }
  bool poll_headers(unsigned worker) {
    std::unique_lock lock(header_mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    int has_come = 0;
    mpi::Status status{};
    check(mpi_.Test(&header_request_, &has_come, &status), "MPI_Test");
    if (has_come == 0) return false;
    int count = 0;
    check(mpi_.Get_count(&status, mpi_.byte, &count), "MPI_Get_count");
    // Others may go on with the next one while this is looked at.
    std::vector<std::byte> header;
    if (!spare_.empty()) {
      header = std::move(spare_.back());
      spare_.pop_back();
    }
    header.resize(header_bytes_);
    header.swap(arriving_);
    post_header_receive();
    ++headers_received_;
    lock.unlock();
    headers_->on_header(HeaderReceiver::kUnknown, Bytes(header).first(static_cast<std::size_t>(count)),
                        worker);
    lock.lock();
    spare_.push_back(std::move(header));
    return true;
  }

  const Library& mpi_;
  const bool is_original_;
  const std::size_t header_bytes_;
  Word communicator_ = 0;
  int rank_ = 0;
  int size_ = 1;
  int ranks_of_host_ = 1;
  std::uint64_t tags_ = 0;
  HeaderReceiver* headers_ = nullptr;
  std::vector<std::atomic<std::uint64_t>> headers_sent_;  // by rank
  std::mutex header_mutex_;                               // of the standing receive
  std::uint64_t headers_received_ = 0;
  Word header_request_ = 0;
  std::vector<std::byte> arriving_;
  std::vector<std::vector<std::byte>> spare_;
  PendingPosts pending_;
  WakeCount<> wakes_;
  std::mutex sleep_mutex_;
  std::condition_variable woken_;
};

}  // namespace

std::unique_ptr<TwoSided> make_mpi_two_sided(PortSetup& setup, MpiForm form) {
  if (setup.is_in_process())
    throw Error("parcel option port=" + std::string(setup.options().port) +
                ": its ranks are those of MPI, not ranks of one process");
  return std::make_unique<MpiTwoSided>(setup.options(), setup.own("mpi_library"), form);
}

}  // namespace weft::parcel::ports
