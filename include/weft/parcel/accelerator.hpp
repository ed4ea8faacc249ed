// Futures of what an accelerator's stream carries out.
#pragma once

#include <weft/accelerator/accelerator_stream.hpp>
#include <weft/parcel/runtime.hpp>

namespace weft::parcel {

/// A future that is ready when the stream has carried out everything that was enqueued until now. One thread
/// at a time for each stream, as for its other calls. The stream outlives the future. A task looks at a word
/// that the stream writes, every now and then; nothing is enqueued but that. weft::Error while the stream
/// captures a graph, which may run any number of times, or never.
///
/// After HPX's cuda executor, whose polling it is, without events; Charm++'s HAPI calls back instead.
[[nodiscard]] WEFT_API Future<void> carried_out(Runtime& runtime, AcceleratorStream& stream);

}  // namespace weft::parcel
