#include "network/ibv/verbs/rdma_device.hpp"

#include "network/ibv/verbs/gid_choice.hpp"

#include <weft/error.hpp>

#include <fcntl.h>

#include <cerrno>
#include <charconv>
#include <vector>

namespace weft::network::ibv {

namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorClass::network, "ibv: " + what); }

struct FreeList {
  void operator()(ibv_device** list) const noexcept { verbs().free_device_list(list); }
};

std::span<ibv_device* const> devices_in(ibv_device** list, int count) noexcept {
  return {list, list == nullptr ? 0 : static_cast<std::size_t>(count)};
}

/// Writes the state of a port; the function of the library is declared for an older, shorter form of it.
bool read_port(ibv_context& context, std::uint8_t number, ibv_port_attr& port) noexcept {
  port = {};
  return verbs().query_port(&context, number, reinterpret_cast<_compat_ibv_port_attr*>(&port)) == 0;
}

std::string names_of(std::span<ibv_device* const> devices) {
  std::string text;
  for (ibv_device* const device : devices)
    text += (text.empty() ? "" : ", ") + std::string(verbs().get_device_name(device));
  return text.empty() ? "none" : text;
}

}  // namespace

Device::Device(const DeviceChoice& choice) {
  int count = 0;
  const std::unique_ptr<ibv_device*, FreeList> list(verbs().get_device_list(&count));
  const auto devices = devices_in(list.get(), count);
  if (devices.empty())
    refuse(
        "this host has no RDMA device that libibverbs knows (/sys/class/infiniband lists those of the "
        "kernel)");
  const std::size_t colon = choice.device.find(':');
  const std::string_view wanted = choice.device.substr(0, colon);
  const std::string_view port = colon == std::string_view::npos ? "" : choice.device.substr(colon + 1);
  for (ibv_device* const device : devices)
    if (wanted == "auto" || wanted == verbs().get_device_name(device))
      if (open(*device, port)) break;
  if (domain_ == nullptr)
    refuse("attribute ibv_device is \"" + std::string(choice.device) +
           "\", and no device of that name has an active port of that number; there are " +
           names_of(devices));
  choose_gid(choice.gid_index);
}

bool Device::open(ibv_device& device, std::string_view port) {
  name_ = verbs().get_device_name(&device);
  Context context(verbs().open_device(&device));
  if (context == nullptr || verbs().query_device(context.get(), &limits_) != 0) return false;
  for (std::uint8_t number = 1; number <= limits_.phys_port_cnt; ++number) {
    if (!port.empty() && port != std::to_string(number)) continue;
    if (!read_port(*context, number, port_) || port_.state != IBV_PORT_ACTIVE) continue;
    port_number_ = number;
    ProtectionDomain domain(verbs().alloc_pd(context.get()));
    if (domain == nullptr) refuse(name_ + " has no protection domain left: " + error_text(errno));
    context_ = std::move(context);
    domain_ = std::move(domain);
    return true;
  }
  return false;
}

void Device::choose_gid(std::int64_t index) {
  std::vector<ibv_gid_entry> entries;
  for (int next = 0; next < port_.gid_tbl_len; ++next) {
    ibv_gid_entry entry{};
    if (verbs().query_gid(context_.get(), port_number_, static_cast<std::uint32_t>(next), &entry, 0,
                          sizeof entry) == 0 &&
        (index < 0 || next == index))
      entries.push_back(entry);
  }
  const auto best = preferred_gid(entries);
  if (best.has_value())
    gid_ = entries[*best];
  else if (index >= 0)
    refuse("attribute ibv_gid_index is " + std::to_string(index) + ", and port " +
           std::to_string(port_number_) + " of " + name_ +
           " has no GID of this index (show_gids lists them)");
  else if (is_ethernet())
    refuse("port " + std::to_string(port_number_) + " of " + name_ +
           " has no GID: give its interface an address");
}

std::string Device::describe() const {
  return name_ + " port " + std::to_string(port_number_) + ", " + to_text(gid_);
}

void set_not_waiting(int descriptor, const char* what) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0 || ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) != 0)
    refuse(std::string(what) + " cannot be asked for without waiting: " + error_text(errno));
}

Registration Device::register_memory(std::span<std::byte> memory, int access) {
  Registration made(verbs().reg_mr(domain_.get(), memory.data(), memory.size(), access));
  if (made == nullptr) {
    const int why = errno;
    refuse(std::to_string(memory.size()) + " bytes cannot be registered with " + name_ + ": " +
           error_text(why) + (why == ENOMEM ? " (ulimit -l limits how much memory a process may lock)" : ""));
  }
  return made;
}

}  // namespace weft::network::ibv
