#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::base {

enum class Attribute : std::uint8_t {
  network,
  packet_size,
  packets,
  packet_magazine,
  bulk_packets,
  lane_slots,
  lane_slots_max,
  lanes_max,
  thread_lanes,
  inline_max,
  requests,
  deadlines,
  matching_buckets,
  matching_records,
  unexpected_credits,
  backlog,
  backlog_peer,
  backlog_grows,
  held_packets,
  devices_max,
  segment_size,
  rendezvous,
  rendezvous_bytes,
  rendezvous_device,
  one_sided,
  regions_max,
  collectives,
  spin,
  yield,
  poll_yield,
  park_timeout,
  drain_timeout,
  bootstrap_timeout,
  sim_seed,
  sim_delay,
  sim_reorder,
  sim_refuse,
  sim_slow,
  sim_inject,
  sim_immediate,
  sim_slots,
  sim_rma,
  sim_stale,
  sim_gone,
  ofi_provider,
  ofi_address,
  ofi_credits,
  ibv_device,
  ibv_gid_index,
  ibv_credits,
  ibv_thread_domains,
  interface,
  ports,
  peer_timeout,
  tcp_credits,
  tcp_authenticate,
  tcp_encrypt,
  remote_network,
  staging,
  log,
  counters,
  trace,
  trace_events,
  matching_trace,
  explain,
  explain_after,
  mpi_check,
  mpi_deadlock,
  host_id,
};

enum class AttributeType : std::uint8_t { boolean, integer, size, seconds, microseconds, choice, text };

/// One row describes everything about an attribute; the environment variable, the checks, `weft info`
/// and the documentation are made from it.
struct AttributeRow {
  Attribute id;
  std::string_view name;  ///< the environment variable is WEFT_ and the name in capitals
  AttributeType type;
  std::string_view default_value;  ///< written as a user would write it
  std::string_view unit = {};
  std::int64_t minimum = 0;  ///< of a duration in the unit that its type names
  std::int64_t maximum = 0;
  bool power_of_two = false;
  std::string_view choices = {};  ///< separated by '|', in the order of the enumeration they stand for
  std::string_view help = {};
};

inline constexpr std::int64_t kKibi = 1024;
inline constexpr std::int64_t kMebi = 1024 * kKibi;
inline constexpr std::int64_t kGibi = 1024 * kMebi;

// clang-format off
inline constexpr std::array kAttributeTable = {
  AttributeRow{.id = Attribute::network, .name = "network", .type = AttributeType::choice, .default_value = "auto",
    .choices = "auto|shm|sim|tcp|ofi|ibv|mixed", .help = "network that carries messages between ranks: shared memory, the simulated one (in-process ranks only), TCP sockets, libfabric, verbs, or shared memory within a host and remote_network between hosts (mixed); auto: shm for a job on one host, else mixed"},
  AttributeRow{.id = Attribute::packet_size, .name = "packet_size", .type = AttributeType::size, .default_value = "32K",
    .unit = "bytes", .minimum = kKibi, .maximum = kMebi, .help = "payload that one packet holds; larger messages go by rendezvous; network ofi: at most 15K of it, network ibv 4K"},
  AttributeRow{.id = Attribute::packets, .name = "packets", .type = AttributeType::integer, .default_value = "1024",
    .unit = "packets", .minimum = 16, .maximum = 65536, .help = "packets in the pool of a rank"},
  AttributeRow{.id = Attribute::packet_magazine, .name = "packet_magazine", .type = AttributeType::integer, .default_value = "32",
    .unit = "packets", .minimum = 1, .maximum = 64, .help = "packets that a thread keeps for itself before it gives some back"},
  AttributeRow{.id = Attribute::bulk_packets, .name = "bulk_packets", .type = AttributeType::integer, .default_value = "512",
    .unit = "packets", .minimum = 4, .maximum = 65536, .help = "packets that the class bulk and payloads of large messages may have in use; at most three quarters of the pool"},
  AttributeRow{.id = Attribute::lane_slots, .name = "lane_slots", .type = AttributeType::integer, .default_value = "256",
    .unit = "slots", .minimum = 64, .maximum = 4096, .power_of_two = true, .help = "64-byte slots of a lane when it is first used"},
  AttributeRow{.id = Attribute::lane_slots_max, .name = "lane_slots_max", .type = AttributeType::integer, .default_value = "16384",
    .unit = "slots", .minimum = 64, .maximum = 65536, .power_of_two = true, .help = "slots up to which a lane grows when it is full, 4096 at most for messages in several slots; grown lanes leave half of the segment to new ones"},
  AttributeRow{.id = Attribute::lanes_max, .name = "lanes_max", .type = AttributeType::integer, .default_value = "1024",
    .unit = "lanes", .minimum = 1, .maximum = 1024, .help = "lanes that may lead into one device, before the devices of each rank share one for each kind of traffic"},
  AttributeRow{.id = Attribute::thread_lanes, .name = "thread_lanes", .type = AttributeType::integer, .default_value = "8",
    .unit = "lanes", .minimum = 1, .maximum = 15, .help = "lanes from a device that threads share to each device of a peer, over which these threads spread; fewer in jobs of many ranks, one while a trace is made"},
  AttributeRow{.id = Attribute::inline_max, .name = "inline_max", .type = AttributeType::size, .default_value = "2096",
    .unit = "bytes", .minimum = 48, .maximum = 4 * kKibi, .help = "largest payload that is sent inside the slots of a lane, at most a quarter of lane_slots and over libfabric and verbs 432 bytes; sends have 8 bytes beside theirs"},
  AttributeRow{.id = Attribute::requests, .name = "requests", .type = AttributeType::integer, .default_value = "1024",
    .unit = "operations", .minimum = 16, .maximum = 1 << 20, .help = "operations in flight on one device"},
  AttributeRow{.id = Attribute::deadlines, .name = "deadlines", .type = AttributeType::integer, .default_value = "1024",
    .unit = "operations", .minimum = 1, .maximum = 1 << 20, .help = "operations with a timeout in flight on one device"},
  AttributeRow{.id = Attribute::matching_buckets, .name = "matching_buckets", .type = AttributeType::integer, .default_value = "16384",
    .unit = "buckets", .minimum = 64, .maximum = 1 << 24, .power_of_two = true, .help = "64-byte buckets of a matching engine's table; memory is used only when touched"},
  AttributeRow{.id = Attribute::matching_records, .name = "matching_records", .type = AttributeType::integer, .default_value = "1048576",
    .unit = "records", .minimum = 64, .maximum = 1 << 24, .help = "receives posted and messages not received yet in one matching engine"},
  AttributeRow{.id = Attribute::unexpected_credits, .name = "unexpected_credits", .type = AttributeType::integer, .default_value = "256",
    .unit = "messages", .minimum = 1, .maximum = 65536, .help = "messages of one device of a peer that one device keeps until their receives are posted"},
  AttributeRow{.id = Attribute::backlog, .name = "backlog", .type = AttributeType::integer, .default_value = "1024",
    .unit = "operations", .minimum = 1, .maximum = 1 << 20, .help = "refused operations that one device keeps for retry"},
  AttributeRow{.id = Attribute::backlog_peer, .name = "backlog_peer", .type = AttributeType::integer, .default_value = "256",
    .unit = "operations", .minimum = 1, .maximum = 1 << 20, .help = "part of a device's backlog that one peer may fill"},
  AttributeRow{.id = Attribute::backlog_grows, .name = "backlog_grows", .type = AttributeType::boolean, .default_value = "no",
    .help = "keep refused operations beyond backlog and backlog_peer as well, in memory of their own"},
  AttributeRow{.id = Attribute::held_packets, .name = "held_packets", .type = AttributeType::integer, .default_value = "64",
    .unit = "packets", .minimum = 1, .maximum = 65536, .help = "packets of one peer that queued messages may hold before they are copied out"},
  AttributeRow{.id = Attribute::devices_max, .name = "devices_max", .type = AttributeType::integer, .default_value = "64",
    .unit = "devices", .minimum = 1, .maximum = 256, .help = "devices that one rank may open"},
  AttributeRow{.id = Attribute::segment_size, .name = "segment_size", .type = AttributeType::size, .default_value = "256M",
    .unit = "bytes", .minimum = kMebi, .maximum = 1024 * kGibi, .help = "address range of a rank's shared segment; memory is used only when touched"},
  AttributeRow{.id = Attribute::rendezvous, .name = "rendezvous", .type = AttributeType::choice, .default_value = "auto",
    .choices = "auto|read|copy|put", .help = "how large messages move: read from the sender's memory (cross-memory attach, where permitted), copied through packets, or put into the receiver's memory by a network that can do it (ofi, ibv); auto: fetched or put by a network that can do it (tcp, ofi, ibv), else by the way that has been faster, by peer and size"},
  AttributeRow{.id = Attribute::rendezvous_bytes, .name = "rendezvous_bytes", .type = AttributeType::size, .default_value = "0",
    .unit = "bytes", .minimum = 0, .maximum = kGibi, .help = "large active messages of one peer that one device fetches into buffers at a time, in bytes that have not come yet; whatever it is, one message is; 0: what the caches hold, shared by the peers that have more"},
  AttributeRow{.id = Attribute::rendezvous_device, .name = "rendezvous_device", .type = AttributeType::integer, .default_value = "-1",
    .unit = "device", .minimum = -1, .maximum = 255, .help = "device of both ranks that payloads of large messages move on, while their RTS messages travel as usual; -1: the one of the message"},
  AttributeRow{.id = Attribute::one_sided, .name = "one_sided", .type = AttributeType::choice, .default_value = "auto",
    .choices = "auto|direct|message", .help = "how puts and gets move: by the network itself where it reaches the region, else by messages (auto); never by messages (direct); always by messages (message)"},
  AttributeRow{.id = Attribute::regions_max, .name = "regions_max", .type = AttributeType::integer, .default_value = "4096",
    .unit = "regions", .minimum = 1, .maximum = 65536, .help = "memory regions that a rank may have at a time"},
  AttributeRow{.id = Attribute::collectives, .name = "collectives", .type = AttributeType::text, .default_value = "auto",
    .help = "algorithms of collectives, as in allreduce=ring,broadcast=binomial: each is taken wherever it is possible; `weft info` has the table; auto: by size, members and hosts"},
  AttributeRow{.id = Attribute::spin, .name = "spin", .type = AttributeType::microseconds, .default_value = "5",
    .unit = "microseconds", .minimum = 0, .maximum = 1 << 20, .help = "time in which a waiting thread polls without success before it yields; at most 2 on a core that others want, and three polls where those have not helped"},
  AttributeRow{.id = Attribute::yield, .name = "yield", .type = AttributeType::integer, .default_value = "16",
    .unit = "yields", .minimum = 0, .maximum = 1 << 20, .help = "yields of a waiting thread, each after a spin, before it parks"},
  AttributeRow{.id = Attribute::poll_yield, .name = "poll_yield", .type = AttributeType::boolean, .default_value = "yes",
    .help = "whether progress() gives way when it stays empty on a core that others want; a core of its own is tried once a millisecond"},
  AttributeRow{.id = Attribute::park_timeout, .name = "park_timeout", .type = AttributeType::seconds, .default_value = "0.05",
    .unit = "seconds", .minimum = 0, .maximum = 60, .help = "longest time that a parked thread sleeps before it polls again"},
  AttributeRow{.id = Attribute::drain_timeout, .name = "drain_timeout", .type = AttributeType::seconds, .default_value = "5",
    .unit = "seconds", .minimum = 0, .maximum = 3600, .help = "time that the end of a device or runtime waits for peers that cannot take anything: whose process has ended unnoticed, or that end as well; what was accepted for a living peer is waited for"},
  AttributeRow{.id = Attribute::bootstrap_timeout, .name = "bootstrap_timeout", .type = AttributeType::seconds, .default_value = "30",
    .unit = "seconds", .minimum = 0, .maximum = 86400, .help = "longest wait for the launcher or for a value of another rank"},
  AttributeRow{.id = Attribute::sim_seed, .name = "sim_seed", .type = AttributeType::integer, .default_value = "1",
    .minimum = 0, .maximum = std::int64_t{1} << 62, .help = "network sim: what all chance is derived from; equal seeds replay equal schedules"},
  AttributeRow{.id = Attribute::sim_delay, .name = "sim_delay", .type = AttributeType::integer, .default_value = "16",
    .unit = "ticks", .minimum = 0, .maximum = 1 << 20, .help = "network sim: longest time that anything is under way; every poll of any rank is one tick"},
  AttributeRow{.id = Attribute::sim_reorder, .name = "sim_reorder", .type = AttributeType::integer, .default_value = "50",
    .unit = "percent", .minimum = 0, .maximum = 100, .help = "network sim: messages that may overtake those before them between the same devices"},
  AttributeRow{.id = Attribute::sim_refuse, .name = "sim_refuse", .type = AttributeType::integer, .default_value = "5",
    .unit = "percent", .minimum = 0, .maximum = 95, .help = "network sim: posts that the network refuses by chance"},
  AttributeRow{.id = Attribute::sim_slow, .name = "sim_slow", .type = AttributeType::integer, .default_value = "0",
    .unit = "percent", .minimum = 0, .maximum = 95, .help = "network sim: polls that deliver nothing"},
  AttributeRow{.id = Attribute::sim_inject, .name = "sim_inject", .type = AttributeType::size, .default_value = "16",
    .unit = "bytes", .minimum = 0, .maximum = 4 * kKibi, .help = "network sim: largest payload that travels without a packet"},
  AttributeRow{.id = Attribute::sim_immediate, .name = "sim_immediate", .type = AttributeType::choice, .default_value = "4",
    .choices = "0|4|8", .help = "network sim: bytes that a put can announce to its target"},
  AttributeRow{.id = Attribute::sim_slots, .name = "sim_slots", .type = AttributeType::integer, .default_value = "16",
    .unit = "operations", .minimum = 1, .maximum = 65536, .help = "network sim: messages under way between two devices in one traffic class, and accesses to one peer"},
  AttributeRow{.id = Attribute::sim_rma, .name = "sim_rma", .type = AttributeType::boolean, .default_value = "yes",
    .help = "network sim: whether puts, gets and reads reach a peer's memory directly, or the core has to send messages"},
  AttributeRow{.id = Attribute::sim_stale, .name = "sim_stale", .type = AttributeType::integer, .default_value = "8",
    .unit = "ticks", .minimum = 0, .maximum = 1 << 20, .help = "network sim: longest time until peers see that a handle was opened, stopped or withdrawn"},
  AttributeRow{.id = Attribute::sim_gone, .name = "sim_gone", .type = AttributeType::integer, .default_value = "64",
    .unit = "ticks", .minimum = 0, .maximum = 1 << 20, .help = "network sim: time until peers see that a rank was killed"},
  AttributeRow{.id = Attribute::ofi_provider, .name = "ofi_provider", .type = AttributeType::text, .default_value = "auto",
    .help = "network ofi: libfabric provider by its full name, like tcp;ofi_rxm or verbs;ofi_rxm; auto: the first that `weft info` lists"},
  AttributeRow{.id = Attribute::ofi_address, .name = "ofi_address", .type = AttributeType::text, .default_value = "auto",
    .help = "network ofi: IPv4 address of this host that providers with sockets use; auto: loopback when the job is on one host, else the first of WEFT_INTERFACE"},
  AttributeRow{.id = Attribute::ofi_credits, .name = "ofi_credits", .type = AttributeType::integer, .default_value = "64",
    .unit = "messages", .minimum = 4, .maximum = 4096, .help = "network ofi: messages of one traffic class that one device may have under way to another, those that travel together in a frame counted as one; each has a receive buffer"},
  AttributeRow{.id = Attribute::ibv_device, .name = "ibv_device", .type = AttributeType::text, .default_value = "auto",
    .help = "network ibv: RDMA device by the name that ibv_devices shows, perhaps with a colon and a port, like rxe0:1; auto: the first with an active port"},
  AttributeRow{.id = Attribute::ibv_gid_index, .name = "ibv_gid_index", .type = AttributeType::integer, .default_value = "-1",
    .unit = "index", .minimum = -1, .maximum = 255, .help = "network ibv: index of the port's GID that peers reach it by; -1: the first of RoCE v2 with an IPv4 address, else the best that there is"},
  AttributeRow{.id = Attribute::ibv_credits, .name = "ibv_credits", .type = AttributeType::integer, .default_value = "16",
    .unit = "messages", .minimum = 4, .maximum = 4096, .help = "network ibv: messages of one traffic class that one device may have under way to another, those that travel together in a frame counted as one; each has a receive buffer"},
  AttributeRow{.id = Attribute::ibv_thread_domains, .name = "ibv_thread_domains", .type = AttributeType::choice, .default_value = "all_qp",
    .choices = "all_qp|per_qp|none", .help = "network ibv: which queue pairs share a thread domain, in which a provider takes no locks, since one thread at a time uses them: all of a device (all_qp), none, each has its own (per_qp), or there are no thread domains (none), as where the device has none"},
  AttributeRow{.id = Attribute::interface, .name = "interface", .type = AttributeType::text, .default_value = "auto",
    .help = "networks tcp and ofi: network interfaces by which peers reach this rank: names, and subnets like 10.1.0.0/16, separated by commas; auto: all that are up"},
  AttributeRow{.id = Attribute::ports, .name = "ports", .type = AttributeType::text, .default_value = "auto",
    .help = "network tcp: ports on which ranks listen, LO-HI: each rank of a host needs one; auto: any that is free"},
  AttributeRow{.id = Attribute::peer_timeout, .name = "peer_timeout", .type = AttributeType::seconds, .default_value = "20",
    .unit = "seconds", .minimum = 1, .maximum = 86400, .help = "networks tcp and ibv: time after which a peer that cannot be reached is given up (ibv: after eight tries of a device, at most 4 s, or 17 s where it waits longer than told); a peer that is slow or stopped can be reached"},
  AttributeRow{.id = Attribute::tcp_credits, .name = "tcp_credits", .type = AttributeType::integer, .default_value = "3072",
    .unit = "messages", .minimum = 4, .maximum = 4096, .help = "network tcp: messages of one traffic class that one device may have under way to another, those that travel together in a frame counted as one; 192 at first, then as many as bandwidth and delay have use for"},
  AttributeRow{.id = Attribute::tcp_authenticate, .name = "tcp_authenticate", .type = AttributeType::boolean, .default_value = "yes",
    .help = "network tcp: whether what ranks send each other is authenticated, so that a change on the way ends the connection (docs/guide/security.md); no: it is not, unless it is encrypted; the same on all ranks"},
  AttributeRow{.id = Attribute::tcp_encrypt, .name = "tcp_encrypt", .type = AttributeType::boolean, .default_value = "no",
    .help = "network tcp: whether what ranks send each other is encrypted, and authenticated thereby; the same on all ranks"},
  AttributeRow{.id = Attribute::remote_network, .name = "remote_network", .type = AttributeType::choice, .default_value = "tcp",
    .choices = "tcp|ofi|ibv", .help = "network mixed: what carries messages between hosts"},
  AttributeRow{.id = Attribute::staging, .name = "staging", .type = AttributeType::boolean, .default_value = "yes",
    .help = "networks tcp, ofi and ibv: whether small messages that follow one another to a peer wait for the next progress, or for a frame (tcp: a packet; ofi: 8 KiB; ibv: a packet), to leave together; no: each leaves at once"},
  AttributeRow{.id = Attribute::log, .name = "log", .type = AttributeType::text, .default_value = "warn",
    .help = "least important messages that are written to standard error: error, warn, info, debug or trace; and exceptions for modules, like info,shm=debug"},
  AttributeRow{.id = Attribute::counters, .name = "counters", .type = AttributeType::choice, .default_value = "off",
    .choices = "off|table|json", .help = "whether a runtime that ends writes what it has counted to standard error: as a table, or as a line of JSON"},
  AttributeRow{.id = Attribute::trace, .name = "trace", .type = AttributeType::text, .default_value = "off",
    .help = "file or folder for a trace of posts, protocol steps and completions that Perfetto reads; %r: rank, %p: process, %j: job; on: weft-trace-%r.json; off: none"},
  AttributeRow{.id = Attribute::trace_events, .name = "trace_events", .type = AttributeType::integer, .default_value = "65536",
    .unit = "events", .minimum = 16, .maximum = 1 << 24, .help = "events of a trace that one thread keeps; later ones are dropped and counted"},
  AttributeRow{.id = Attribute::matching_trace, .name = "matching_trace", .type = AttributeType::text, .default_value = "off",
    .help = "file or folder for a record of what happens in the matching engines, which `weft study matching --trace` replays; names as for trace; on: weft-matching-%r.trace; off: none"},
  AttributeRow{.id = Attribute::explain, .name = "explain", .type = AttributeType::boolean, .default_value = "no",
    .help = "whether SIGUSR1, unless the program handles it, makes a rank print its waiting threads and pending operations"},
  AttributeRow{.id = Attribute::explain_after, .name = "explain_after", .type = AttributeType::seconds, .default_value = "0",
    .unit = "seconds", .minimum = 0, .maximum = 86400, .help = "age at which a wait makes its rank print the same, once; 0: never"},
  AttributeRow{.id = Attribute::mpi_check, .name = "mpi_check", .type = AttributeType::boolean, .default_value = "no",
    .help = "weft-mpi: whether a program's use of MPI is checked: datatypes of senders and receivers, buffers in use, collectives, handles that are never freed (docs/guide/bindings/mpi.md); the same on all ranks"},
  AttributeRow{.id = Attribute::mpi_deadlock, .name = "mpi_deadlock", .type = AttributeType::seconds, .default_value = "2",
    .unit = "seconds", .minimum = 0, .maximum = 86400, .help = "weft-mpi: age at which waits of all ranks, with no message under way, are a deadlock, which ends the job with a line (docs/guide/bindings/mpi.md); 0: never"},
  AttributeRow{.id = Attribute::host_id, .name = "host_id", .type = AttributeType::text, .default_value = "auto",
    .help = "name of this rank's host: only ranks whose names are equal share memory; %r: rank, %r/N and %r%N: rank divided by N, and the remainder; auto: the host that the kernel tells"},
};
// clang-format on

inline constexpr std::size_t kAttributeCount = kAttributeTable.size();

constexpr const AttributeRow& row_of(Attribute attribute) {
  return kAttributeTable[static_cast<std::size_t>(attribute)];
}

consteval bool rows_are_in_the_order_of_the_enumeration() {
  for (std::size_t i = 0; i < kAttributeCount; ++i) {
    if (static_cast<std::size_t>(kAttributeTable[i].id) != i) return false;
  }
  return true;
}
static_assert(rows_are_in_the_order_of_the_enumeration(), "row_of() indexes the table by the enumerator");

}  // namespace weft::base
