#include <algorithm>
#include <cstdlib>
#include <string>

#include "completions.hpp"
#include "job/variables.hpp"
#include "network_ends.hpp"
#include "objects.hpp"
#include "process_list.hpp"

namespace lci {

runtime_impl_t* g_runtime = nullptr;
endpoint_impl_t* g_endpoint = nullptr;

namespace {

const char* thread_domains(attr_ibv_td_strategy_t strategy) {
  switch (strategy) {
    case attr_ibv_td_strategy_t::none:
      return "none";
    case attr_ibv_td_strategy_t::all_qp:
      return "all_qp";
    case attr_ibv_td_strategy_t::per_qp:
      return "per_qp";
  }
  refuse("ibv_td_strategy is " + std::to_string(static_cast<int>(strategy)) +
         ": it must be none, all_qp or per_qp");
}

/// The attributes of weft that follow from LCI's. The backlog grows because allow_retry(false) never answers
/// retry, and takes small messages that have no completion object.
struct Attributes {
  explicit Attributes(const global_attr_t& process) {
    settings.push_back({"backlog_grows", "yes"});
    // Programs send what is received later, as far as packets go, and expect that it is done.
    settings.push_back({"unexpected_credits", "65536"});
    // Weft's own variable is the user's word.
    if (std::getenv("WEFT_IBV_THREAD_DOMAINS") == nullptr)
      settings.push_back({"ibv_thread_domains", thread_domains(process.ibv_td_strategy)});
    if (process.packet_size == 0 && process.npackets == 0) return;
    // Programs multiply what they find, as their devices ask for it: they get as much as there can be.
    const global_attr_t effective = get_g_default_attr();
    const std::size_t bytes = std::clamp(effective.packet_size, kSmallestPacket, kLargestPacket);
    const std::size_t count = std::clamp(effective.npackets, kFewestPackets, kMostPackets);
    packet_size = std::to_string(bytes);
    packets = std::to_string(count);
    settings.push_back({"packet_size", packet_size.c_str()});
    settings.push_back({"packets", packets.c_str()});
    // Addresses, not memory.
    const std::size_t segment = count * (bytes + kPacketHead) + kOtherSegment;
    if (segment <= kUsualSegment) return;
    segment_size = std::to_string(segment);
    settings.push_back({"segment_size", segment_size.c_str()});
  }
  static constexpr std::size_t kSmallestPacket = 1024, kLargestPacket = 1U << 20;
  static constexpr std::size_t kFewestPackets = 16, kMostPackets = 65536;
  static constexpr std::size_t kPacketHead = 64;
  static constexpr std::size_t kOtherSegment = 128U << 20, kUsualSegment = 256U << 20;
  std::string packets;
  std::string packet_size;
  std::string segment_size;
  std::vector<weft::AttributeSetting> settings;
};

weft::Runtime open() {
  // Runtimes of all ranks are connected in the order in which they are allocated.
  static std::atomic<unsigned> opened{0};
  use_job_variables();
  const std::string name = "lci." + std::to_string(opened.fetch_add(1));
  const Attributes attributes(requested_attributes());
  return weft::Runtime({.attributes = attributes.settings, .name = name});
}

/// The largest number of so many bits, at most `most`.
std::uint64_t largest_of(int bits, std::uint64_t most, const char* attribute) {
  if (bits < 0 || bits > 32)
    refuse(std::string(attribute) + " is " + std::to_string(bits) + ": it must be 0 to 32");
  return std::min((std::uint64_t{1} << bits) - 1, most);
}

/// global_initialize() now, and global_finalize() unless keep() was called.
class Initialized {
 public:
  Initialized() { global_initialize(); }
  ~Initialized() {
    if (!is_kept_) global_finalize();
  }
  void keep() noexcept { is_kept_ = true; }

 private:
  bool is_kept_ = false;
};

std::unique_ptr<runtime_impl_t> make_runtime(
    const arguments::alloc_runtime_argument<alloc_runtime_x>& given) {
  Initialized initialized;
  auto made = std::make_unique<runtime_impl_t>(given);
  initialized.keep();
  return made;
}

}  // namespace

void FailedRanks::signal(weft::Message& message) noexcept {
  static_cast<void>(message.outcome());
  {
    const std::lock_guard lock(mutex_);
    ranks_.push_back(message.peer());
    none_at_.store(kNeverLooked, std::memory_order_relaxed);
    any_.store(true, std::memory_order_release);
  }
  notify_waiters();
}

void FailedRanks::throw_next(const Peers& peers) {
  const std::uint32_t changes = peers.changes();
  if (none_at_.load(std::memory_order_relaxed) == changes) return;
  int rank = -1;
  {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(ranks_.begin(), ranks_.end(), [&](int failed) { return peers.has_met(failed); });
    if (found == ranks_.end()) return none_at_.store(changes, std::memory_order_relaxed);
    rank = *found;
    ranks_.erase(found);
    any_.store(!ranks_.empty(), std::memory_order_release);
  }
  throw peer_failure_error("lci: rank " + std::to_string(rank) + " has failed", rank);
}

runtime_impl_t::runtime_impl_t(const arguments::alloc_runtime_argument<alloc_runtime_x>& given)
    : runtime(open()),
      payloads(Payloads::make(runtime)),
      peers(runtime.size()),
      network_ends(std::make_unique<NetworkEnds>()) {
  const global_attr_t process = requested_attributes();
  attr.packet_return_threshold =
      given.m_packet_return_threshold.get_value_or(process.packet_return_threshold);
  attr.imm_nbits_tag = given.m_imm_nbits_tag.get_value_or(process.imm_nbits_tag);
  attr.imm_nbits_rcomp = given.m_imm_nbits_rcomp.get_value_or(process.imm_nbits_rcomp);
  attr.max_tag = UINT32_MAX;
  attr.max_rcomp = Rcomps::kEnd - 1;
  // What LCI allows with puts that signal; here they carry as much as all others.
  attr.max_imm_tag = largest_of(attr.imm_nbits_tag, attr.max_tag, "imm_nbits_tag");
  attr.max_imm_rcomp = largest_of(attr.imm_nbits_rcomp, attr.max_rcomp, "imm_nbits_rcomp");
  attr.alloc_default_device = given.m_alloc_default_device.get_value_or(process.alloc_default_device);
  attr.alloc_default_packet_pool =
      given.m_alloc_default_packet_pool.get_value_or(process.alloc_default_packet_pool);
  attr.alloc_default_matching_engine =
      given.m_alloc_default_matching_engine.get_value_or(process.alloc_default_matching_engine);
  attr.rdv_protocol = given.m_rdv_protocol.get_value_or(process.rdv_protocol);
  attr.user_context = given.m_user_context;
  pool.runtime = this;
  pool.attr.packet_size = payloads.packet_bytes();
  pool.attr.npackets = static_cast<std::size_t>(std::stoull(runtime.attribute("packets")));
  engine.runtime = this;
  engine.attr.matching_engine_type = process.matching_engine_type;
  runtime.on_peer_failure(failed);
  if (attr.alloc_default_device) {
    device = std::make_unique<device_impl_t>(*this);
    if (device->attr.alloc_default_endpoint) endpoint = &device->own_endpoint;
  }
}

runtime_impl_t::~runtime_impl_t() {
  const auto is_of_this = [this](const auto& each) { return each.runtime == this; };
  const auto has_this = [this](const auto& each) { return &each.runtime == this; };
  Leftovers left("a runtime");
  left.free(Handles<endpoint_impl_t>::take_all(has_this), "endpoint(s)");
  left.free(Handles<device_impl_t>::take_all(has_this), "device(s)");
  left.free(Handles<matching_engine_impl_t>::take_all(is_of_this), "matching engine(s)");
  left.free(Handles<mr_impl_t>::take_all(is_of_this), "registered memory region(s)");
  Registered::forget(*this);
  runtime.forget_peer_failures(failed);
  device.reset();
  payloads.close();
}

Leftovers::~Leftovers() {
  if (text_.empty()) return;
  std::fprintf(stderr, "lci: %s ends before the program has freed %s of it: they are freed with it\n", owner_,
               text_.c_str());
}

runtime_t alloc_runtime_x::call() const {
  return runtime_t(Handles<runtime_impl_t>::give(make_runtime(*this)));
}

void free_runtime_x::call() const {
  if (m_runtime == nullptr) refuse("free_runtime: the pointer to the handle is null");
  if (g_runtime != nullptr && m_runtime->p_impl == g_runtime)
    refuse("free_runtime: the handle is that of the global runtime, which g_runtime_fina() frees");
  Handles<runtime_impl_t>::take(m_runtime->get_impl(), "free_runtime").reset();
  m_runtime->set_impl(nullptr);
  global_finalize();
}

runtime_t g_runtime_init_x::call() const {
  if (g_runtime != nullptr) refuse("g_runtime_init() was called before: g_runtime_fina() comes first");
  // The same arguments of the other operation.
  alloc_runtime_x other;
  other.m_packet_return_threshold = m_packet_return_threshold;
  other.m_imm_nbits_tag = m_imm_nbits_tag;
  other.m_imm_nbits_rcomp = m_imm_nbits_rcomp;
  other.m_alloc_default_device = m_alloc_default_device;
  other.m_alloc_default_packet_pool = m_alloc_default_packet_pool;
  other.m_alloc_default_matching_engine = m_alloc_default_matching_engine;
  other.m_rdv_protocol = m_rdv_protocol;
  other.m_user_context = m_user_context;
  g_runtime = make_runtime(other).release();
  g_endpoint = g_runtime->endpoint;
  return runtime_t(g_runtime);
}

void g_runtime_fina_x::call() const {
  if (g_runtime == nullptr) refuse("g_runtime_fina() has no g_runtime_init() before it");
  g_endpoint = nullptr;
  delete std::exchange(g_runtime, nullptr);
  global_finalize();
}

runtime_t get_g_runtime() { return runtime_t(g_runtime); }

runtime_attr_t runtime_t::get_attr() const { return get_impl()->attr; }
net_context_attr_t net_context_t::get_attr() const { return get_impl()->attr; }
device_attr_t device_t::get_attr() const { return get_impl()->attr; }
endpoint_attr_t endpoint_t::get_attr() const { return get_impl()->attr; }
packet_pool_attr_t packet_pool_t::get_attr() const { return get_impl()->attr; }
matching_engine_attr_t matching_engine_t::get_attr() const { return get_impl()->attr; }
mr_attr_t mr_t::get_attr() const { return is_empty() ? mr_attr_t() : p_impl->attr; }
comp_attr_t comp_t::get_attr() const {
  if (is_empty()) refuse_empty_handle("comp");
  return p_impl->attr;
}

}  // namespace lci
