// The parcelport of a runtime, from its options.
#pragma once

#include <weft/parcel/parcelport.hpp>
#include <weft/runtime.hpp>

#include <functional>
#include <memory>

#include "parcel/selection/option_text.hpp"

namespace weft::parcel {

/// How a runtime of weft is opened in the job of a parcel runtime.
struct Transport {
  std::function<std::unique_ptr<weft::Runtime>(const weft::RuntimeOptions&)> open;
  bool is_in_process = false;
};

/// Makes the parcelport of this rank, and compares the options of all ranks. Collective. Throws weft::Error.
[[nodiscard]] std::unique_ptr<Parcelport> open_port(const CompleteOptions& options,
                                                    const Transport& transport);

}  // namespace weft::parcel
