// Includes what most programs need of weft. docs/guide/abi.md lists the headers of single subjects beside it,
// and what all of them promise.
#pragma once

#include <weft/atomic.hpp>
#include <weft/attributes.hpp>
#include <weft/bytes.hpp>
#include <weft/collective.hpp>
#include <weft/completion/arrivals.hpp>
#include <weft/completion/completion.hpp>
#include <weft/completion/counter.hpp>
#include <weft/completion/graph.hpp>
#include <weft/completion/handler.hpp>
#include <weft/completion/queue.hpp>
#include <weft/completion/synchronizer.hpp>
#include <weft/device.hpp>
#include <weft/endpoint.hpp>
#include <weft/endpoint/persistent.hpp>
#include <weft/error.hpp>
#include <weft/matching.hpp>
#include <weft/matching/context.hpp>
#include <weft/memory.hpp>
#include <weft/message.hpp>
#include <weft/options.hpp>
#include <weft/packet.hpp>
#include <weft/progress_thread.hpp>
#include <weft/remote_region.hpp>
#include <weft/runtime.hpp>
#include <weft/status.hpp>
#include <weft/stream/stream.hpp>
#include <weft/stream/stream_group.hpp>
#include <weft/topology.hpp>
#include <weft/types.hpp>
#include <weft/version.hpp>
