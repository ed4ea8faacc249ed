// The process: its attributes, its rank, and how often it was initialised.
#include <strings.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <string_view>

#include "job/variables.hpp"
#include "objects.hpp"

namespace lci {

allocator_default_t g_allocator_default;

namespace {

struct Process {
  std::mutex mutex;
  int users = 0;
  bool has_read = false;
  global_attr_t attributes;
  std::unique_ptr<weft::Runtime> job;  // for get_rank_me() before a runtime is allocated
};
Process& process() {
  static Process only;
  return only;
}

[[noreturn]] void refuse_variable(const std::string& name, const char* text, const std::string& right) {
  refuse("the variable " + name + " is '" + text + "': " + right);
}

template <class Number>
void parse(const std::string& name, const char* text, Number& to) {
  const char* const end = text + std::string_view(text).size();
  Number value{};
  const auto result = std::from_chars(text, end, value);
  if (result.ec != std::errc() || result.ptr != end) refuse_variable(name, text, "it must be a number");
  to = value;
}
void parse(const std::string& name, const char* text, bool& to) {
  const auto is_one_of = [text](std::initializer_list<const char*> words) {
    return std::any_of(words.begin(), words.end(),
                       [text](const char* word) { return strcasecmp(word, text) == 0; });
  };
  const bool is_set = is_one_of({"1", "on", "true", "yes"});
  if (!is_set && !is_one_of({"0", "off", "false", "no"}))
    refuse_variable(name, text, "it must be 1, on, true or yes, or 0, off, false or no");
  to = is_set;
}
void parse(const std::string&, const char* text, std::string& to) { to = text; }
template <class Enum>
void parse(const std::string& name, const char* text, Enum& to,
           std::initializer_list<std::pair<const char*, Enum>> values) {
  std::string known;
  for (const auto& [key, value] : values) {
    if (std::string_view(key) == text) {
      to = value;
      return;
    }
    known += std::string(known.empty() ? "" : ", ") + key;
  }
  refuse_variable(name, text, "it must be one of " + known);
}

/// Calls parse(name of the variable, its text, more...) when the variable is set.
template <class To, class... More>
void read(const char* attribute, To& to, More... more) {
  std::string name = std::string("LCI_ATTR_") + attribute;
  for (char& letter : name)
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  if (const char* const text = std::getenv(name.c_str()); text != nullptr) parse(name, text, to, more...);
}

void read_variables(global_attr_t& to) {
  read("packet_return_threshold", to.packet_return_threshold);
  read("imm_nbits_tag", to.imm_nbits_tag);
  read("imm_nbits_rcomp", to.imm_nbits_rcomp);
  read("alloc_default_device", to.alloc_default_device);
  read("alloc_default_packet_pool", to.alloc_default_packet_pool);
  read("alloc_default_matching_engine", to.alloc_default_matching_engine);
  using Rendezvous = attr_rdv_protocol_t;
  read("rdv_protocol", to.rdv_protocol,
       std::initializer_list<std::pair<const char*, Rendezvous>>{
           {"write", Rendezvous::write}, {"writeimm", Rendezvous::writeimm}, {"read", Rendezvous::read}});
  using Backend = attr_backend_t;
  read("backend", to.backend,
       std::initializer_list<std::pair<const char*, Backend>>{
           {"none", Backend::none}, {"ibv", Backend::ibv}, {"ofi", Backend::ofi}, {"ucx", Backend::ucx}});
  read("ofi_provider_name", to.ofi_provider_name);
  read("max_msg_size", to.max_msg_size);
  read("max_inject_size", to.max_inject_size);
  read("ibv_gid_idx", to.ibv_gid_idx);
  read("ibv_force_gid_auto_select", to.ibv_force_gid_auto_select);
  read("device_name", to.device_name);
  using Odp = attr_ibv_odp_strategy_t;
  read("ibv_odp_strategy", to.ibv_odp_strategy,
       std::initializer_list<std::pair<const char*, Odp>>{
           {"none", Odp::none}, {"explicit_odp", Odp::explicit_odp}, {"implicit_odp", Odp::implicit_odp}});
  using Prefetch = attr_ibv_prefetch_strategy_t;
  read("ibv_prefetch_strategy", to.ibv_prefetch_strategy,
       std::initializer_list<std::pair<const char*, Prefetch>>{
           {"none", Prefetch::none},
           {"prefetch", Prefetch::prefetch},
           {"prefetch_write", Prefetch::prefetch_write},
           {"prefetch_no_fault", Prefetch::prefetch_no_fault}});
  read("use_dmabuf", to.use_dmabuf);
  read("net_max_sends", to.net_max_sends);
  read("net_max_recvs", to.net_max_recvs);
  read("net_max_cqes", to.net_max_cqes);
  read("net_send_reserved_pct", to.net_send_reserved_pct);
  read("ofi_lock_mode", to.ofi_lock_mode);
  read("alloc_default_endpoint", to.alloc_default_endpoint);
  read("alloc_progress_endpoint", to.alloc_progress_endpoint);
  read("use_reg_cache", to.use_reg_cache);
  read("shm_enable", to.shm_enable);
  read("shm_ring_size", to.shm_ring_size);
  read("shm_slot_size", to.shm_slot_size);
  read("shm_producer_cas_attempts", to.shm_producer_cas_attempts);
  read("shm_consumer_cas_attempts", to.shm_consumer_cas_attempts);
  read("shm_max_polls", to.shm_max_polls);
  using Domains = attr_ibv_td_strategy_t;
  read("ibv_td_strategy", to.ibv_td_strategy,
       std::initializer_list<std::pair<const char*, Domains>>{
           {"none", Domains::none}, {"all_qp", Domains::all_qp}, {"per_qp", Domains::per_qp}});
  read("packet_size", to.packet_size);
  read("npackets", to.npackets);
  using Table = attr_matching_engine_type_t;
  read("matching_engine_type", to.matching_engine_type,
       std::initializer_list<std::pair<const char*, Table>>{{"queue", Table::queue}, {"map", Table::map}});
  read("sync_threshold", to.sync_threshold);
  read("zero_copy_am", to.zero_copy_am);
  using Queue = attr_cq_type_t;
  read("cq_type", to.cq_type,
       std::initializer_list<std::pair<const char*, Queue>>{{"array_atomic", Queue::array_atomic},
                                                            {"lcrq", Queue::lcrq}});
  read("cq_default_length", to.cq_default_length);
}

/// The runtime that knows the rank.
const weft::Runtime& job() {
  if (g_runtime != nullptr) return g_runtime->runtime;
  Process& there = process();
  const std::lock_guard lock(there.mutex);
  if (there.users == 0)
    refuse("rank and number of ranks are not known yet: call global_initialize() or g_runtime_init() first");
  if (there.job == nullptr) {
    use_job_variables();
    // Carries nothing: its packets are never touched.
    there.job = std::make_unique<weft::Runtime>(weft::RuntimeOptions{.name = "lci.process"});
  }
  return *there.job;
}

}  // namespace

void global_initialize() {
  Process& there = process();
  const std::lock_guard lock(there.mutex);
  if (!there.has_read) read_variables(there.attributes);
  there.has_read = true;
  ++there.users;
}

void global_finalize() {
  Process& there = process();
  const std::lock_guard lock(there.mutex);
  if (there.users == 0) refuse("global_finalize() has no global_initialize() before it");
  if (--there.users == 0) there.job.reset();
}

bool is_active() {
  Process& there = process();
  const std::lock_guard lock(there.mutex);
  return there.users != 0;
}

global_attr_t get_g_default_attr() {
  global_attr_t attributes = requested_attributes();
  if (!is_active()) return attributes;
  if (attributes.npackets == 0)
    attributes.npackets = static_cast<std::size_t>(std::stoull(job().attribute("packets")));
  if (attributes.packet_size == 0) attributes.packet_size = job().device_limits().packet_bytes;
  return attributes;
}
comp_attr_t requested_comp_attributes() {
  Process& there = process();
  const std::lock_guard lock(there.mutex);
  comp_attr_t attr;
  attr.sync_threshold = there.attributes.sync_threshold;
  attr.zero_copy_am = there.attributes.zero_copy_am;
  attr.cq_type = there.attributes.cq_type;
  attr.cq_default_length = there.attributes.cq_default_length;
  return attr;
}
global_attr_t requested_attributes() {
  Process& there = process();
  const std::lock_guard lock(there.mutex);
  return there.attributes;
}

void set_g_default_attr(const global_attr_t& attributes) {
  Process& there = process();
  const std::lock_guard lock(there.mutex);
  there.attributes = attributes;
}

int get_rank_me() { return job().rank(); }
int get_rank_n() { return job().size(); }

}  // namespace lci
