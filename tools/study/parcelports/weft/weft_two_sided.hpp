// Header and follow-up messages over weft, in the variants of the paper: headers by active message or by a
// send with a tag; ends told by queues or synchronizers; progress by workers or by threads.
#pragma once

#include <weft/parcel/ports/parcelport_kind.hpp>

#include <cstdint>
#include <memory>

#include "study/parcelports/connections/two_sided.hpp"

namespace weft::parcel::ports {

enum class HeaderBy : std::uint8_t { active_message, send };

/// Options of its own: header_completion (with HeaderBy::send), followup_completion, followup_devices.
[[nodiscard]] std::unique_ptr<TwoSided> make_weft_two_sided(PortSetup& setup, HeaderBy header);

}  // namespace weft::parcel::ports
