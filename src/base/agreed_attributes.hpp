// Attributes whose values must be the same on all ranks: what a rank puts on the wire, or keeps for its
// peers, depends on them. All others each rank may have for itself.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/attribute_table.hpp"

namespace weft::base {

/// An attribute, and the network whose ranks must agree; empty: those of every network.
struct AgreedAttribute {
  Attribute id;
  std::string_view network = {};
};

inline constexpr std::array kAgreedAttributes = {
    AgreedAttribute{Attribute::network},
    AgreedAttribute{Attribute::packet_size},
    AgreedAttribute{Attribute::inline_max},
    // The sender counts what the receiver returns by eighths.
    AgreedAttribute{Attribute::unexpected_credits},
    // Of both ranks: the payloads come there.
    AgreedAttribute{Attribute::rendezvous_device},
    AgreedAttribute{Attribute::host_id},
    AgreedAttribute{Attribute::collectives},
    // What is checked travels with each message.
    AgreedAttribute{Attribute::mpi_check},
    AgreedAttribute{Attribute::remote_network, "mixed"},
    AgreedAttribute{Attribute::ofi_provider, "ofi"},
    AgreedAttribute{Attribute::tcp_authenticate, "tcp"},
    AgreedAttribute{Attribute::tcp_encrypt, "tcp"},
    // There is one simulated fabric, made by the rank that comes first.
    AgreedAttribute{Attribute::sim_seed, "sim"},
    AgreedAttribute{Attribute::sim_delay, "sim"},
    AgreedAttribute{Attribute::sim_reorder, "sim"},
    AgreedAttribute{Attribute::sim_refuse, "sim"},
    AgreedAttribute{Attribute::sim_slow, "sim"},
    AgreedAttribute{Attribute::sim_inject, "sim"},
    AgreedAttribute{Attribute::sim_immediate, "sim"},
    AgreedAttribute{Attribute::sim_slots, "sim"},
    AgreedAttribute{Attribute::sim_rma, "sim"},
    AgreedAttribute{Attribute::sim_stale, "sim"},
    AgreedAttribute{Attribute::sim_gone, "sim"},
};

/// What a row tells of its meaning, and whether ranks must agree.
inline std::string help_text(const AttributeRow& row) {
  std::string text(row.help);
  for (const AgreedAttribute& each : kAgreedAttributes) {
    if (each.id != row.id || text.ends_with("the same on all ranks")) continue;
    text += "; the same on all ranks";
    if (!each.network.empty() && !row.name.starts_with(each.network))
      text += " of network " + std::string(each.network);
  }
  return text;
}

}  // namespace weft::base
