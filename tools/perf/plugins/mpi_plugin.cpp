// Any MPI: nonblocking sends and receives on the world communicator, and a window for puts and gets. Compiled
// once for every implementation; its own mpiexec starts the ranks.
#include <mpi.h>

// MPICH needs channels so that threads do not block each other. Release 4.0 aborts when it is asked for more
// than one.
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40100000
#define WEFT_PERF_MPICH_CHANNELS
#endif

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "perf/measure/idle_strategy.hpp"
#include "perf/plugins/plugin_entry.hpp"

namespace weft::tools::perf {
namespace {

class MpiTransport {
 public:
  static constexpr bool kHasMatching = true;
  static constexpr bool kHasAccess = true;
  static constexpr bool kHasActiveMessages = true;

  /// `yields`: threads share cores; libraries that spin in their waits would starve them.
  MpiTransport(MPI_Comm communicator, int tag_base, bool yields, std::size_t am_size)
      : communicator_(communicator), tag_base_(tag_base), yields_(yields), am_size_(am_size) {
    MPI_Comm_rank(communicator_, &rank_);
  }
  ~MpiTransport() {
    for (MPI_Request& each : am_receives_) {
      MPI_Cancel(&each);
      MPI_Wait(&each, MPI_STATUS_IGNORE);
    }
    if (window_ == MPI_WIN_NULL) return;
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  void progress() {
    if (sink_ != nullptr) return take_ams();
    int flag = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, communicator_, &flag, MPI_STATUS_IGNORE);
  }

  [[nodiscard]] int ranks() const {
    int size = 0;
    MPI_Comm_size(communicator_, &size);
    return size;
  }
  void post_receive(std::uint64_t tag, ByteSpan buffer) { post_receive_from(1 - rank_, tag, buffer); }
  void post_receive_from(int source, std::uint64_t tag, ByteSpan buffer) {
    MPI_Irecv(buffer.data(), static_cast<int>(buffer.size()), MPI_BYTE, source,
              tag_base_ + static_cast<int>(tag), communicator_, &receives_.emplace_back());
  }
  void post_receive_by(Wildcard wildcard, std::uint64_t tag, ByteSpan buffer) {
    const bool is_from_any = wildcard == Wildcard::any_source;
    MPI_Irecv(buffer.data(), static_cast<int>(buffer.size()), MPI_BYTE,
              is_from_any ? MPI_ANY_SOURCE : 1 - rank_,
              is_from_any ? tag_base_ + static_cast<int>(tag) : MPI_ANY_TAG, communicator_,
              &receives_.emplace_back());
  }
  void wait_receives() { wait(receives_); }
  [[nodiscard]] bool receives_pending() { return !test(receives_); }
  void post_send(std::uint64_t tag, ByteView bytes) { post_send_to(1 - rank_, tag, bytes); }
  void post_send_to(int target, std::uint64_t tag, ByteView bytes) {
    MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, target,
              tag_base_ + static_cast<int>(tag), communicator_, &sends_.emplace_back());
  }
#ifdef WEFT_PERF_MPIX_STREAMS
  // A multiplexed communicator has no receives from any index: the collector asks each stream in turn.
  void use_stream(int stream) { stream_ = stream; }
  [[nodiscard]] int stream() const { return stream_; }
  void post_send_to_stream(int index, std::uint64_t tag, ByteView bytes) {
    MPIX_Stream_isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 1 - rank_,
                      static_cast<int>(tag), communicator_, stream_, index, &sends_.emplace_back());
  }
  void post_receive_from_stream(int index, std::uint64_t tag, ByteSpan buffer) {
    MPIX_Stream_irecv(buffer.data(), static_cast<int>(buffer.size()), MPI_BYTE, 1 - rank_,
                      static_cast<int>(tag), communicator_, index, stream_, &receives_.emplace_back());
  }
  void post_receive_from_any_stream(int index, std::uint64_t tag, ByteSpan buffer) {
    post_receive_from_stream(index, tag, buffer);
  }
#endif
  void wait_sends() {
    wait(sends_);
    if (!am_sends_.empty()) wait(am_sends_);
  }

  void allreduce(std::span<const double> mine, std::span<double> sum) {
    const int count = static_cast<int>(mine.size());
    if (yields_) {
      MPI_Iallreduce(mine.data(), sum.data(), count, MPI_DOUBLE, MPI_SUM, communicator_,
                     &receives_.emplace_back());
      wait(receives_);
    } else {
      MPI_Allreduce(mine.data(), sum.data(), count, MPI_DOUBLE, MPI_SUM, communicator_);
    }
  }

  /// Receives are posted in advance, and again as soon as they have ended, in this order.
  void expect_am(AmSink& sink) {
    const std::size_t count = am_receives_for(am_size_);
    am_buffers_.resize(count * am_size_);
    am_receives_.reserve(count);
    for (; am_receives_.size() < count; ++am_head_) {
      am_receives_.emplace_back();
      post_am_receive();
    }
    am_head_ = 0;
    sink_ = &sink;
  }
  void post_am(ByteView bytes) {
    MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 1 - rank_, tag_base_ + kAmTag,
              communicator_, &am_sends_.emplace_back());
    if (am_sends_.size() == am_receives_for(am_size_)) wait(am_sends_, IdleStrategy::Awaits::stream);
  }

  /// Receives are posted in advance and end in this order; every step is an MPI_Test.
  void start_polling(std::size_t window) {
    polled_.resize(window);
    leaving_.resize(window);
    polled_receives_.resize(window, MPI_REQUEST_NULL);
    polled_sends_.resize(window, MPI_REQUEST_NULL);
    for (am_head_ = 0; am_head_ < window; ++am_head_) post_polled();
    am_head_ = 0;
  }
  [[nodiscard]] bool poll(std::uint64_t& word) {
    int done = 0;
    MPI_Test(&polled_receives_[am_head_], &done, MPI_STATUS_IGNORE);
    if (done == 0) return false;
    word = polled_[am_head_];
    post_polled();
    if (++am_head_ == polled_.size()) am_head_ = 0;
    return true;
  }
  void poll_send(std::uint64_t word) {
    test_until_done(polled_sends_[send_head_]);
    leaving_[send_head_] = word;
    MPI_Isend(&leaving_[send_head_], sizeof word, MPI_BYTE, 1 - rank_, tag_base_ + kAmTag, communicator_,
              &polled_sends_[send_head_]);
    if (++send_head_ == leaving_.size()) send_head_ = 0;
  }
  void finish_polling() {
    for (MPI_Request& each : polled_sends_) test_until_done(each);
    for (MPI_Request& each : polled_receives_) {
      MPI_Cancel(&each);
      test_until_done(each);
    }
  }

  void expose(std::size_t bytes) {
    void* memory = nullptr;
    MPI_Win_allocate(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, communicator_, &memory, &window_);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
    memory_ = {static_cast<std::byte*>(memory), bytes};
  }
  [[nodiscard]] ByteSpan memory() const {
    if (window_ != MPI_WIN_NULL) MPI_Win_sync(window_);
    return memory_;
  }
  [[nodiscard]] auto& access() { return *this; }
  void post_put(std::size_t offset, ByteView bytes) {
    const int size = static_cast<int>(bytes.size());
    MPI_Put(bytes.data(), size, MPI_BYTE, 1 - rank_, static_cast<MPI_Aint>(offset), size, MPI_BYTE, window_);
  }
  void post_get(std::size_t offset, ByteSpan buffer) {
    const int size = static_cast<int>(buffer.size());
    MPI_Get(buffer.data(), size, MPI_BYTE, 1 - rank_, static_cast<MPI_Aint>(offset), size, MPI_BYTE, window_);
  }
  void post_add(std::size_t offset, const std::uint64_t& operand) {
    MPI_Accumulate(&operand, 1, MPI_UINT64_T, 1 - rank_, static_cast<MPI_Aint>(offset), 1, MPI_UINT64_T,
                   MPI_SUM, window_);
  }
  void post_fetch_add(std::size_t offset, const std::uint64_t& operand, std::uint64_t& before) {
    MPI_Fetch_and_op(&operand, &before, MPI_UINT64_T, 1 - rank_, static_cast<MPI_Aint>(offset), MPI_SUM,
                     window_);
  }
  void flush() { MPI_Win_flush(1 - rank_, window_); }

 private:
  static constexpr int kAmTag = 2;  // between those of control and of data
  /// The number of receives posted in advance, and of sends pending at a time: for large messages as many as
  /// take 64 MiB.
  static std::size_t am_receives_for(std::size_t size) {
    return std::clamp<std::size_t>((std::size_t{64} << 20) / std::max<std::size_t>(size, 1), 4, 64);
  }

  void post_am_receive() {
    MPI_Irecv(am_buffers_.data() + am_head_ * am_size_, static_cast<int>(am_size_), MPI_BYTE, 1 - rank_,
              tag_base_ + kAmTag, communicator_, &am_receives_[am_head_]);
  }
  void post_polled() {
    MPI_Irecv(&polled_[am_head_], sizeof polled_[am_head_], MPI_BYTE, 1 - rank_, tag_base_ + kAmTag,
              communicator_, &polled_receives_[am_head_]);
  }
  static void test_until_done(MPI_Request& request) {
    for (int done = 0; done == 0;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
  void take_ams() {
    for (std::size_t taken = 0; taken < am_receives_.size(); ++taken) {
      int done = 0;
      MPI_Test(&am_receives_[am_head_], &done, MPI_STATUS_IGNORE);
      if (done == 0) return;
      sink_->take(am_buffers_.data() + am_head_ * am_size_, am_size_);
      post_am_receive();
      am_head_ = am_head_ + 1 == am_receives_.size() ? 0 : am_head_ + 1;
    }
  }

  /// A poll for IdleStrategy: tests the request that is waited for.
  struct Polled {
    MpiTransport& transport;
    std::vector<MPI_Request>& requests;
    bool done = false;
    void progress() { done = transport.test(requests); }
  };
  static bool test(std::vector<MPI_Request>& requests) {
    int done = 1;
    MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
    if (done != 0) requests.clear();
    return done != 0;
  }
  void wait(std::vector<MPI_Request>& requests, IdleStrategy::Awaits awaits = IdleStrategy::Awaits::answer) {
    if (yields_) {
      Polled polled{*this, requests};
      for (IdleStrategy idle(true, awaits); !polled.done;) idle.poll(polled);
      return;
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    requests.clear();
  }

  const MPI_Comm communicator_;
  const int tag_base_;
  const bool yields_;
  const std::size_t am_size_;
  [[maybe_unused]] int stream_ = 0;  // only MPICH with streams sends to one
  int rank_ = 0;
  MPI_Win window_ = MPI_WIN_NULL;
  ByteSpan memory_;
  std::vector<MPI_Request> receives_;
  std::vector<MPI_Request> sends_;
  AmSink* sink_ = nullptr;
  std::size_t am_head_ = 0;  // of the receive that ends next
  std::vector<std::byte> am_buffers_;
  std::vector<MPI_Request> am_receives_;
  std::vector<MPI_Request> am_sends_;
  std::size_t send_head_ = 0;
  std::vector<std::uint64_t> polled_;
  std::vector<std::uint64_t> leaving_;
  std::vector<MPI_Request> polled_receives_;
  std::vector<MPI_Request> polled_sends_;
};

/// Threads with resources of their own have a communicator each; other threads share the world and differ by
/// tag.
class MpiLibrary {
 public:
  using Transport = MpiTransport;

  explicit MpiLibrary(PluginCall& call) : task_(*call.task) {
#if defined(WEFT_PERF_MPIX_STREAMS)
    ::setenv(kChannels, std::to_string(task_.threads).c_str(), 0);
#elif defined(WEFT_PERF_MPICH_CHANNELS)
    if (task_.threads > 1 && !task_.shared) ::setenv(kChannels, std::to_string(task_.threads).c_str(), 0);
#endif
    const int wanted = task_.threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, wanted, &provided);
    if (provided < wanted) throw Error("this MPI was built without MPI_THREAD_MULTIPLE");
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != task_.ranks) {
      throw Error(fmt::format("{} ranks where {} were started: is mpiexec of another MPI than the library?",
                              size, task_.ranks));
    }
  }
  ~MpiLibrary() {
    for (MPI_Comm& each : communicators_) MPI_Comm_free(&each);
#ifdef WEFT_PERF_MPIX_STREAMS
    for (MPIX_Stream& each : streams_) MPIX_Stream_free(&each);
#endif
    MPI_Finalize();
  }
  MpiLibrary(const MpiLibrary&) = delete;
  MpiLibrary& operator=(const MpiLibrary&) = delete;

  [[nodiscard]] std::unique_ptr<MpiTransport> open(int thread) {
    constexpr int kTags = 1 << 14;  // more than a workload uses
    if ((task_.threads == 1 && !kHasStreams) || task_.shared)
      return std::make_unique<MpiTransport>(MPI_COMM_WORLD, thread * kTags, task_.yields, task_.size);
#ifdef WEFT_PERF_MPIX_STREAMS
    if (task_.measurement.starts_with("streams-to-one/")) return open_multiplexed(thread);
#endif
    duplicate(communicators_.emplace_back());
    return std::make_unique<MpiTransport>(communicators_.back(), 0, task_.yields, task_.size);
  }

  [[nodiscard]] std::string description() const {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    std::string version(text, static_cast<std::size_t>(length));
    version = version.substr(0, version.find_first_of(",\n"));
    std::ranges::replace(version, '\t', ' ');
    const auto doubled = std::ranges::unique(version, [](char a, char b) { return a == ' ' && b == ' '; });
    version.erase(doubled.begin(), doubled.end());
    if (const char* pml = std::getenv("OMPI_MCA_pml"); pml != nullptr)
      version += fmt::format(" with pml {}", pml);
    int level = 0;
    MPI_Query_thread(&level);
    if (level == MPI_THREAD_MULTIPLE) version += ", MPI_THREAD_MULTIPLE granted";
    return version;
  }

 private:
#ifdef WEFT_PERF_MPIX_STREAMS
  static constexpr bool kHasStreams = true;
  static constexpr const char* kChannels = "MPIR_CVAR_CH4_RESERVE_VCIS";
  void duplicate(MPI_Comm& communicator) {
    if (MPIX_Stream_create(MPI_INFO_NULL, &streams_.emplace_back()) != MPI_SUCCESS ||
        MPIX_Stream_comm_create(MPI_COMM_WORLD, streams_.back(), &communicator) != MPI_SUCCESS)
      throw Error(fmt::format("stream {} of this MPICH cannot be created ({})", streams_.size(), kChannels));
  }
  /// One communicator with the streams of all threads.
  [[nodiscard]] std::unique_ptr<MpiTransport> open_multiplexed(int thread) {
    if (thread == 0) {
      for (int number = 0; number < task_.threads; ++number)
        if (MPIX_Stream_create(MPI_INFO_NULL, &streams_.emplace_back()) != MPI_SUCCESS)
          throw Error(fmt::format("stream {} of this MPICH cannot be created ({})", number, kChannels));
      if (MPIX_Stream_comm_create_multiplex(MPI_COMM_WORLD, task_.threads, streams_.data(),
                                            &communicators_.emplace_back()) != MPI_SUCCESS)
        throw Error("this MPICH makes no multiplexed stream communicators");
    }
    auto transport = std::make_unique<MpiTransport>(communicators_.front(), 0, task_.yields, task_.size);
    transport->use_stream(thread);
    return transport;
  }
  std::vector<MPIX_Stream> streams_;
#else
  static constexpr bool kHasStreams = false;
  [[maybe_unused]] static constexpr const char* kChannels = "MPIR_CVAR_CH4_NUM_VCIS";
  static void duplicate(MPI_Comm& communicator) { MPI_Comm_dup(MPI_COMM_WORLD, &communicator); }
#endif

  const Task& task_;
  std::vector<MPI_Comm> communicators_;
};

}  // namespace
}  // namespace weft::tools::perf

WEFT_PERF_PLUGIN(weft::tools::perf::MpiLibrary)
