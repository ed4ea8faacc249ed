// UCX through its UCP interface: active messages, tags, puts and gets. One worker, single-threaded mode.
#include <ucp/api/ucp.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <type_traits>

#include "perf/measure/idle_strategy.hpp"
#include "perf/plugins/plugin_entry.hpp"

namespace weft::tools::perf {
namespace {

void check(ucs_status_t status, const char* call) {
  if (status != UCS_OK) throw Error(fmt::format("{}: {}", call, ucs_status_string(status)));
}

/// Callbacks of a shared worker run in whichever thread progresses it, so that its counts are atomic.
template <bool kShared>
class UcxTransport {
  using Count = std::conditional_t<kShared, std::atomic<std::size_t>, std::size_t>;

 public:
  static constexpr bool kHasMatching = true;
  static constexpr bool kHasAccess = true;
  static constexpr bool kHasActiveMessages = true;

  /// Takes over the worker unless it is shared.
  UcxTransport(int rank, Meeting& meeting, ucp_context_h context, ucp_worker_h worker, int thread,
               bool yields)
      : rank_(rank),
        meeting_(meeting),
        context_(context),
        worker_(worker),
        am_id_(1 + static_cast<unsigned>(thread)),
        tag_base_(static_cast<std::uint64_t>(thread) << 32),
        yields_(yields) {
    connect();
  }
  ~UcxTransport() {
    finish(ucp_worker_flush_nbx(worker_, &kPlain));
    meeting_.gather({});
    ucp_request_param_t close{};
    close.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    close.flags = UCP_EP_CLOSE_FLAG_FORCE;
    for (const ucp_ep_h endpoint : endpoints_)
      if (endpoint != nullptr) finish(ucp_ep_close_nbx(endpoint, &close));
    if (key_ != nullptr) ucp_rkey_destroy(key_);
    if (region_ != nullptr) ucp_mem_unmap(context_, region_);
    meeting_.gather({});
    if (!kShared) ucp_worker_destroy(worker_);
  }
  UcxTransport(const UcxTransport&) = delete;
  UcxTransport& operator=(const UcxTransport&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return static_cast<int>(endpoints_.size()); }
  /// Receives from any sender with that tag: the workload must give each source a tag of its own.
  void post_receive_from(int /*source*/, std::uint64_t tag, ByteSpan buffer) { post_receive(tag, buffer); }
  void post_send_to(int target, std::uint64_t tag, ByteView bytes) {
    send(endpoints_[static_cast<std::size_t>(target)], tag, bytes);
  }
  void progress() { ucp_worker_progress(worker_); }

  void post_receive(std::uint64_t tag, ByteSpan buffer) { post_masked(tag, ~std::uint64_t{0}, buffer); }
  /// No receive of UCX names a source.
  void post_receive_by(Wildcard wildcard, std::uint64_t tag, ByteSpan buffer) {
    post_masked(tag, ~std::uint64_t{0} << (wildcard == Wildcard::any_tag ? 32 : 0), buffer);
  }
  void post_masked(std::uint64_t tag, std::uint64_t mask, ByteSpan buffer) {
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.cb.recv = received;
    param.user_data = this;
    ++receives_;  // the callback may run in another thread
    const ucs_status_ptr_t request =
        ucp_tag_recv_nbx(worker_, buffer.data(), buffer.size(), tag_base_ + tag, mask, &param);
    if (UCS_PTR_IS_PTR(request)) return;
    --receives_;  // the message had arrived already
    if (request != nullptr) check(UCS_PTR_STATUS(request), "ucp_tag_recv_nbx");
  }
  void wait_receives() {
    IdleStrategy idle(yields_);
    while (receives_ != 0) idle.poll(*this);
    check(failure_, "a receive");
  }
  /// Waits for receives asleep instead of polling; the context has the feature for it.
  void wait_receives_asleep() {
    while (receives_ != 0)
      if (ucp_worker_progress(worker_) == 0) {
        const ucs_status_t status = ucp_worker_wait(worker_);
        if (status != UCS_OK) check(status, "ucp_worker_wait");
      }
    check(failure_, "a receive");
  }
  [[nodiscard]] bool receives_pending() const { return receives_ != 0; }

  void post_send(std::uint64_t tag, ByteView bytes) { send(endpoint_, tag, bytes); }
  void wait_sends() {
    IdleStrategy idle(yields_);
    while (sends_ != 0) idle.poll(*this);
    check(failure_, "a send");
  }

  void expect_am(AmSink& sink) {
    sink_ = &sink;
    ucp_am_handler_param_t param{};
    param.field_mask =
        UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    param.id = am_id_;
    param.cb = am_received;
    param.arg = this;
    check(ucp_worker_set_am_recv_handler(worker_, &param), "ucp_worker_set_am_recv_handler");
  }
  void post_am(ByteView bytes) {
    constexpr std::size_t kMostPending = 64;  // UCX never refuses, and queues without bound
    const ucp_request_param_t param = completing();
    note(ucp_am_send_nbx(endpoint_, am_id_, nullptr, 0, bytes.data(), bytes.size(), &param),
         "ucp_am_send_nbx");
    for (IdleStrategy idle(yields_, IdleStrategy::Awaits::stream); sends_ >= kMostPending;) idle.poll(*this);
  }

  void expose(std::size_t bytes) {
    ucp_mem_map_params_t map{};
    map.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
    map.length = bytes;
    map.flags = UCP_MEM_MAP_ALLOCATE;
    check(ucp_mem_map(context_, &map, &region_), "ucp_mem_map");
    ucp_mem_attr_t attributes{};
    attributes.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
    check(ucp_mem_query(region_, &attributes), "ucp_mem_query");
    memory_ = {static_cast<std::byte*>(attributes.address), bytes};
    void* packed = nullptr;
    std::size_t size = 0;
    check(ucp_rkey_pack(context_, region_, &packed, &size), "ucp_rkey_pack");
    const std::vector<std::byte> theirs = meeting_.swap({static_cast<const std::byte*>(packed), size});
    ucp_rkey_buffer_release(packed);
    const auto own = reinterpret_cast<std::uint64_t>(attributes.address);
    const std::vector<std::byte> address = meeting_.swap(std::as_bytes(std::span(&own, 1)));
    std::memcpy(&remote_, address.data(), sizeof remote_);
    check(ucp_ep_rkey_unpack(endpoint_, theirs.data(), &key_), "ucp_ep_rkey_unpack");
  }
  [[nodiscard]] ByteSpan memory() const { return memory_; }
  [[nodiscard]] auto& access() { return *this; }
  void post_put(std::size_t offset, ByteView bytes) {
    const ucp_request_param_t param = completing();
    note(ucp_put_nbx(endpoint_, bytes.data(), bytes.size(), remote_ + offset, key_, &param), "ucp_put_nbx");
  }
  void post_get(std::size_t offset, ByteSpan buffer) {
    const ucp_request_param_t param = completing();
    note(ucp_get_nbx(endpoint_, buffer.data(), buffer.size(), remote_ + offset, key_, &param), "ucp_get_nbx");
  }
  void post_add(std::size_t offset, const std::uint64_t& operand) { add(offset, operand, nullptr); }
  void post_fetch_add(std::size_t offset, const std::uint64_t& operand, std::uint64_t& before) {
    add(offset, operand, &before);
  }
  void flush() {
    finish(ucp_ep_flush_nbx(endpoint_, &kPlain));
    wait_sends();
  }

 private:
  static constexpr ucp_request_param_t kPlain{};

  [[gnu::always_inline]] void send(ucp_ep_h endpoint, std::uint64_t tag, ByteView bytes) {
    const ucp_request_param_t param = completing();
    note(ucp_tag_send_nbx(endpoint, bytes.data(), bytes.size(), tag_base_ + tag, &param), "ucp_tag_send_nbx");
  }
  [[gnu::always_inline]] void add(std::size_t offset, const std::uint64_t& operand, std::uint64_t* before) {
    ucp_request_param_t param = completing();
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
    param.datatype = ucp_dt_make_contig(sizeof operand);
    if (before != nullptr) {
      param.op_attr_mask |= UCP_OP_ATTR_FIELD_REPLY_BUFFER;
      param.reply_buffer = before;
    }
    note(ucp_atomic_op_nbx(endpoint_, UCP_ATOMIC_OP_ADD, &operand, 1, remote_ + offset, key_, &param),
         "ucp_atomic_op_nbx");
  }
  void connect() {
    ucp_address_t* address = nullptr;
    std::size_t size = 0;
    check(ucp_worker_get_address(worker_, &address, &size), "ucp_worker_get_address");
    const std::vector<std::vector<std::byte>> all =
        meeting_.gather({reinterpret_cast<const std::byte*>(address), size});
    ucp_worker_release_address(worker_, address);
    endpoints_.resize(all.size(), nullptr);
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      if (static_cast<int>(rank) == rank_) continue;
      ucp_ep_params_t params{};
      params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
      params.address = reinterpret_cast<const ucp_address_t*>(all[rank].data());
      check(ucp_ep_create(worker_, &params, &endpoints_[rank]), "ucp_ep_create");
    }
    endpoint_ = endpoints_[rank_ == 0 ? 1 : 0];
  }
  [[nodiscard]] ucp_request_param_t completing() {
    ucp_request_param_t param;
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.cb.send = sent;
    param.user_data = this;
    ++sends_;  // before the post: the callback may run in another thread
    return param;
  }
  void note(ucs_status_ptr_t request, const char* call) {
    if (UCS_PTR_IS_PTR(request)) return;
    --sends_;  // the send has ended already
    if (request != nullptr) check(UCS_PTR_STATUS(request), call);
  }
  void finish(ucs_status_ptr_t request) {
    if (request == nullptr || UCS_PTR_IS_ERR(request)) return;
    while (ucp_request_check_status(request) == UCS_INPROGRESS) progress();
    ucp_request_free(request);
  }

  static void received(void* request, ucs_status_t status, const ucp_tag_recv_info_t*, void* self) {
    auto& transport = *static_cast<UcxTransport*>(self);
    if (status != UCS_OK) transport.failure_ = status;
    --transport.receives_;
    ucp_request_free(request);
  }
  static void sent(void* request, ucs_status_t status, void* self) {
    auto& transport = *static_cast<UcxTransport*>(self);
    if (status != UCS_OK) transport.failure_ = status;
    --transport.sends_;
    ucp_request_free(request);
  }
  /// A message too large to have come along: its bytes are fetched.
  struct Fetch {
    UcxTransport& transport;
    std::vector<std::byte> bytes;
  };
  ucs_status_t fetch(void* description, std::size_t size) {
    auto* const fetched = new Fetch{*this, std::vector<std::byte>(size)};
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.cb.recv_am = am_fetched;
    param.user_data = fetched;
    const ucs_status_ptr_t request =
        ucp_am_recv_data_nbx(worker_, description, fetched->bytes.data(), size, &param);
    if (!UCS_PTR_IS_PTR(request)) am_fetched(nullptr, UCS_PTR_STATUS(request), size, fetched);
    return UCS_INPROGRESS;
  }
  static void am_fetched(void* request, ucs_status_t status, std::size_t size, void* fetch) {
    const std::unique_ptr<Fetch> fetched(static_cast<Fetch*>(fetch));
    if (status != UCS_OK) fetched->transport.failure_ = status;
    fetched->transport.sink_->take(fetched->bytes.data(), size);
    if (request != nullptr) ucp_request_free(request);
  }
  static ucs_status_t am_received(void* self, const void*, std::size_t, void* data, std::size_t size,
                                  const ucp_am_recv_param_t* param) {
    auto& transport = *static_cast<UcxTransport*>(self);
    if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) return transport.fetch(data, size);
    transport.sink_->take(data, size);
    return UCS_OK;
  }

  const int rank_;
  Meeting& meeting_;
  const ucp_context_h context_;
  const ucp_worker_h worker_;
  const unsigned am_id_;  // of this thread, whose worker may be shared
  const std::uint64_t tag_base_;
  const bool yields_;
  std::vector<ucp_ep_h> endpoints_;  // by rank; none for this one
  ucp_ep_h endpoint_ = nullptr;      // of the other rank, when there are two
  ucp_mem_h region_ = nullptr;
  ucp_rkey_h key_ = nullptr;
  ByteSpan memory_;
  std::uint64_t remote_ = 0;
  Count receives_{0};
  Count sends_{0};
  AmSink* sink_ = nullptr;
  ucs_status_t failure_ = UCS_OK;
};

template <bool kShared>
class UcxLibrary {
 public:
  using Transport = UcxTransport<kShared>;

  explicit UcxLibrary(PluginCall& call)
      : rank_(call.rank), threads_(call.task->threads), yields_(call.task->yields), meeting_(*call.meeting) {
    ucp_config_t* config = nullptr;
    check(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read");
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED;
    params.features = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_RMA;
    if (call.task->measurement.find("add-rate/") != std::string::npos) params.features |= UCP_FEATURE_AMO64;
    const bool sleeps =
        call.task->measurement.starts_with("idle/") || call.task->measurement.starts_with("wake-up/");
    if (sleeps) params.features |= UCP_FEATURE_WAKEUP;
    params.mt_workers_shared = threads_ > 1 ? 1 : 0;
    const ucs_status_t made = ucp_init(&params, config, &context_);
    ucp_config_release(config);
    check(made, "ucp_init");
    if (kShared) shared_ = make_worker(UCS_THREAD_MODE_MULTI);
  }
  ~UcxLibrary() {
    if (kShared) ucp_worker_destroy(shared_);
    ucp_cleanup(context_);
  }
  UcxLibrary(const UcxLibrary&) = delete;
  UcxLibrary& operator=(const UcxLibrary&) = delete;

  [[nodiscard]] std::unique_ptr<Transport> open(int thread) {
    return std::make_unique<Transport>(
        rank_, meeting_, context_, kShared ? shared_ : make_worker(UCS_THREAD_MODE_SINGLE), thread, yields_);
  }
  [[nodiscard]] std::string description() const {
    const char* transports = std::getenv("UCX_TLS");
    return fmt::format("UCX {}, UCX_TLS {}", ucp_get_version_string(),
                       transports == nullptr ? "as installed" : transports);
  }

 private:
  ucp_worker_h make_worker(ucs_thread_mode_t mode) {
    ucp_worker_params_t params{};
    params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    params.thread_mode = mode;
    ucp_worker_h worker = nullptr;
    check(ucp_worker_create(context_, &params, &worker), "ucp_worker_create");
    ucp_worker_attr_t attributes{};
    attributes.field_mask = UCP_WORKER_ATTR_FIELD_THREAD_MODE;
    check(ucp_worker_query(worker, &attributes), "ucp_worker_query");
    if (attributes.thread_mode < mode) throw Error("this UCX was built without workers for several threads");
    return worker;
  }

  const int rank_;
  const int threads_;
  const bool yields_;
  Meeting& meeting_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h shared_ = nullptr;
};

}  // namespace
}  // namespace weft::tools::perf

extern "C" [[gnu::visibility("default")]] void weft_perf_plugin_1(weft::tools::perf::PluginCall& call) {
  using namespace weft::tools::perf;
  call.task->shared ? answer<UcxLibrary<true>>(call) : answer<UcxLibrary<false>>(call);
}
