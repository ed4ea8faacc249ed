// Header and follow-up messages over weft, in the variants of the paper: headers by active message or by a
// send with a tag; ends told by queues or synchronizers; progress by workers or by threads.
#pragma once

#include <weft/parcel/options.hpp>
#include <weft/runtime.hpp>

#include <memory>

#include "parcel/connections/two_sided.hpp"

namespace weft::parcel {

[[nodiscard]] std::unique_ptr<TwoSided> make_weft_two_sided(std::unique_ptr<weft::Runtime> runtime,
                                                            const RuntimeOptions& options);

}  // namespace weft::parcel
