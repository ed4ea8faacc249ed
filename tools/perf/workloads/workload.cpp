#include "perf/workloads/workload.hpp"

#include <algorithm>
#include <iterator>

namespace weft::tools::perf {
namespace {

constexpr std::size_t kKibi = 1024;
constexpr std::size_t kMebi = kKibi * kKibi;

constexpr WorkloadInfo kWorkloads[] = {
    {Workload::rate, "rate", Unit::messages, 8, 0, 1, "Active messages of {} between two ranks"},
    {Workload::latency, "latency", Unit::nanoseconds, 8, 0, 1,
     "Active messages of {} between two ranks, one way"},
    {Workload::solo, "solo", Unit::ratio, 8, 0, 1, "Two threads that send to themselves"},
    {Workload::solo_shared, "solo-shared", Unit::ratio, 8, 0, 1,
     "Two threads that send to themselves over one device, total together / alone"},
    {Workload::resource_queue, "resource-queue", Unit::messages, 8, 0, 1,
     "Push and pop of {} on one completion queue by several threads"},
    {Workload::resource_matching, "resource-matching", Unit::messages, 0, 0, 1,
     "Receives with their arrivals in one matching engine by several threads"},
    {Workload::resource_packet, "resource-packet", Unit::messages, 0, 0, 1,
     "Get and put of packets of one pool by several threads"},
    {Workload::idle, "idle", Unit::percent, 8, 0, 1, "A rank that waits for a message"},
    {Workload::wake_up, "wake-up", Unit::nanoseconds, 8, 0, 1,
     "From a post to a rank that was parked in a wait, percentile 90"},
    {Workload::modes, "modes", Unit::messages, 8, 64, 64,
     "4 pairs of threads in processes of their own or in two, {}, window 64"},
    {Workload::enqueue, "enqueue", Unit::nanoseconds, 8, 1, 1,
     "Sends and receives of {} in the order of a stream of the CPU, per operation"},
    {Workload::matched, "matched", Unit::messages, 8, 64, 64, "Sends of {} to posted receives, window {}"},
    {Workload::matched_latency, "matched-latency", Unit::nanoseconds, 8, 1, 1, "Sends of {}, one way"},
    {Workload::exchange, "exchange", Unit::nanoseconds, 8, 1, 1,
     "Exchanges of {} between two ranks, which send at the same time"},
    {Workload::matching, "matching", Unit::nanoseconds, 8, 8192, 8192,
     "8192 receives of {} posted, sends in shuffled order, per message"},
    {Workload::outstanding_100, "outstanding-100", Unit::messages, 16 * kKibi, 100, 100,
     "Sends of {}, {} outstanding"},
    {Workload::outstanding_1000, "outstanding-1000", Unit::messages, 16 * kKibi, 1000, 1000,
     "Sends of {}, {} outstanding"},
    {Workload::bandwidth_64k, "bandwidth-64k", Unit::bytes, 64 * kKibi, 16, 16,
     "Sends of {}, {} distinct buffers"},
    {Workload::bandwidth_1m, "bandwidth-1m", Unit::bytes, kMebi, 16, 16, "Sends of {}, {} distinct buffers"},
    {Workload::reused_64k, "reused-64k", Unit::bytes, 64 * kKibi, 16, 1, "Sends of {}, one buffer reused"},
    {Workload::reused_1m, "reused-1m", Unit::bytes, kMebi, 16, 1, "Sends of {}, one buffer reused"},
    {Workload::am_64k, "am-64k", Unit::bytes, 64 * kKibi, 0, 1, "Active messages of {} from one buffer"},
    {Workload::am_256k, "am-256k", Unit::bytes, 256 * kKibi, 0, 1, "Active messages of {} from one buffer"},
    {Workload::am_1m, "am-1m", Unit::bytes, kMebi, 0, 1, "Active messages of {} from one buffer"},
    {Workload::am_4m, "am-4m", Unit::bytes, 4 * kMebi, 0, 1, "Active messages of {} from one buffer"},
    {Workload::am_16m, "am-16m", Unit::bytes, 16 * kMebi, 0, 1, "Active messages of {} from one buffer"},
    {Workload::am_fresh_64k, "am-fresh-64k", Unit::bytes, 64 * kKibi, 0, 1,
     "Active messages of {}, each written to a fresh buffer, and read where it arrives"},
    {Workload::am_fresh_256k, "am-fresh-256k", Unit::bytes, 256 * kKibi, 0, 1,
     "Active messages of {}, each written to a fresh buffer, and read where it arrives"},
    {Workload::am_fresh_1m, "am-fresh-1m", Unit::bytes, kMebi, 0, 1,
     "Active messages of {}, each written to a fresh buffer, and read where it arrives"},
    {Workload::am_fresh_4m, "am-fresh-4m", Unit::bytes, 4 * kMebi, 0, 1,
     "Active messages of {}, each written to a fresh buffer, and read where it arrives"},
    {Workload::am_fresh_16m, "am-fresh-16m", Unit::bytes, 16 * kMebi, 0, 1,
     "Active messages of {}, each written to a fresh buffer, and read where it arrives"},
    {Workload::put_rate, "put-rate", Unit::messages, 8, 1024, 1024, "Puts of {}"},
    {Workload::get_rate, "get-rate", Unit::messages, 8, 1024, 1024, "Gets of {}"},
    {Workload::put_bandwidth, "put-bandwidth", Unit::bytes, kMebi, 16, 4, "Puts of {}"},
    {Workload::get_bandwidth, "get-bandwidth", Unit::bytes, kMebi, 16, 4, "Gets of {}"},
    {Workload::add_rate, "add-rate", Unit::messages, 8, 1024, 1024, "Atomic additions to {}"},
    {Workload::fetch_add_rate, "fetch-add-rate", Unit::messages, 8, 1024, 1024,
     "Atomic additions to {} that fetch what was there"},
    {Workload::rate_threads_1, "rate-threads-1", Unit::messages, 8, 0, 1,
     "Active messages of {} by 1 thread of a rank", 1, false},
    {Workload::rate_threads_2, "rate-threads-2", Unit::messages, 8, 0, 1,
     "Active messages of {} by 2 threads of a rank with resources of their own", 2, false},
    {Workload::rate_threads_4, "rate-threads-4", Unit::messages, 8, 0, 1,
     "Active messages of {} by 4 threads of a rank with resources of their own", 4, false},
    {Workload::rate_threads_8, "rate-threads-8", Unit::messages, 8, 0, 1,
     "Active messages of {} by 8 threads of a rank with resources of their own", 8, false},
    {Workload::rate_shared_2, "rate-shared-2", Unit::messages, 8, 0, 1,
     "Active messages of {} by 2 threads of a rank that share what they use", 2, true},
    {Workload::rate_shared_4, "rate-shared-4", Unit::messages, 8, 0, 1,
     "Active messages of {} by 4 threads of a rank that share what they use", 4, true},
    {Workload::rate_shared_8, "rate-shared-8", Unit::messages, 8, 0, 1,
     "Active messages of {} by 8 threads of a rank that share what they use", 8, true},
    {Workload::threads_1, "threads-1", Unit::messages, 8, 64, 64, "1 thread per rank, {}, window {}"},
    {Workload::threads_2, "threads-2", Unit::messages, 8, 64, 64,
     "2 threads per rank with resources of their own, {}, window {}", 2, false},
    {Workload::threads_4, "threads-4", Unit::messages, 8, 64, 64,
     "4 threads per rank with resources of their own, {}, window {}", 4, false},
    {Workload::shared_2, "shared-2", Unit::messages, 8, 64, 64,
     "2 threads per rank that share what they use, {}, window {}", 2, true},
    {Workload::shared_4, "shared-4", Unit::messages, 8, 64, 64,
     "4 threads per rank that share what they use, {}, window {}", 4, true},
    {Workload::streams_1, "streams-1", Unit::messages, 8, 64, 64,
     "1 pair of threads in MPI's order, {}, window {}", 1, false},
    {Workload::streams_2, "streams-2", Unit::messages, 8, 64, 64,
     "2 pairs of threads in MPI's order, {}, window {}", 2, false},
    {Workload::streams_4, "streams-4", Unit::messages, 8, 64, 64,
     "4 pairs of threads in MPI's order, {}, window {}", 4, false},
    {Workload::streams_to_one, "streams-to-one", Unit::messages, 8, 64, 64,
     "4 threads of a rank to one of the other in MPI's order, {}, window {}", 4, false},
    {Workload::pairs_1, "pairs-1", Unit::messages, 8, 1, 1, "Round trips of {} by 1 pair of threads", 1,
     false},
    {Workload::pairs_2, "pairs-2", Unit::messages, 8, 1, 1,
     "Round trips of {} by 2 pairs of threads with resources of their own", 2, false},
    {Workload::pairs_4, "pairs-4", Unit::messages, 8, 1, 1,
     "Round trips of {} by 4 pairs of threads with resources of their own", 4, false},
    {Workload::pairs_shared_2, "pairs-shared-2", Unit::messages, 8, 1, 1,
     "Round trips of {} by 2 pairs of threads that share what they use", 2, true},
    {Workload::pairs_shared_4, "pairs-shared-4", Unit::messages, 8, 1, 1,
     "Round trips of {} by 4 pairs of threads that share what they use", 4, true},
    {Workload::unexpected, "unexpected", Unit::messages, 8, 64, 64,
     "Sends of {} that arrive before their receives are posted, window {}"},
    {Workload::unacknowledged, "matched-unacknowledged", Unit::messages, 8, 64, 64,
     "Sends of {} that nobody acknowledges, window {}"},
    {Workload::matched_any_source, "matched-any-source", Unit::messages, 8, 64, 64,
     "Sends of {} to posted receives from any source, window {}"},
    {Workload::matched_any_tag, "matched-any-tag", Unit::messages, 8, 64, 64,
     "Sends of {} to posted receives of any tag, window {}"},
    {Workload::unexpected_any_source, "unexpected-any-source", Unit::messages, 8, 64, 64,
     "Sends of {} that arrive before their receives from any source are posted, window {}"},
    {Workload::unexpected_any_tag, "unexpected-any-tag", Unit::messages, 8, 64, 64,
     "Sends of {} that arrive before their receives of any tag are posted, window {}"},
    {Workload::many_to_one, "many-to-one", Unit::messages, 8, 64, 64,
     "Sends of {0} to rank 0 by all other of {2} ranks, window {1}", 1, false, 4},
    {Workload::all_to_all, "all-to-all", Unit::messages, 8, 64, 64,
     "Sends of {0} by each of {2} ranks to every other, {1} in a step", 1, false, 4},
    {Workload::allreduce, "allreduce", Unit::nanoseconds, 8, 1, 1,
     "Allreduce of {0} of doubles by {2} ranks"},
    {Workload::allreduce_1k, "allreduce-1k", Unit::nanoseconds, kKibi, 1, 1,
     "Allreduce of {0} of doubles by {2} ranks"},
    {Workload::allreduce_1m, "allreduce-1m", Unit::nanoseconds, kMebi, 1, 1,
     "Allreduce of {0} of doubles by {2} ranks"},
    {Workload::polling_1, "polling-1", Unit::messages, 8, 1, 1,
     "Round trips of {} by 1 thread of each rank that only polls and has a device, window {}", 1, false},
    {Workload::polling_2, "polling-2", Unit::messages, 8, 1, 1,
     "Round trips of {} by 2 threads of each rank that only poll and have a device each, window {}", 2,
     false},
    {Workload::polling_4, "polling-4", Unit::messages, 8, 1, 1,
     "Round trips of {} by 4 threads of each rank that only poll and have a device each, window {}", 4,
     false},
    {Workload::polling_shared_1, "polling-shared-1", Unit::messages, 8, 1, 1,
     "Round trips of {} by 1 thread of each rank that only polls and shares one device, window {}", 1, true},
    {Workload::polling_shared_2, "polling-shared-2", Unit::messages, 8, 1, 1,
     "Round trips of {} by 2 threads of each rank that only poll and share one device, window {}", 2, true},
    {Workload::polling_shared_4, "polling-shared-4", Unit::messages, 8, 1, 1,
     "Round trips of {} by 4 threads of each rank that only poll and share one device, window {}", 4, true},
};

}  // namespace

std::span<const WorkloadInfo> all_workloads() { return kWorkloads; }

bool is_window(Workload workload) {
  return workload == Workload::matched || workload == Workload::unexpected ||
         (workload >= Workload::matched_any_source && workload <= Workload::unexpected_any_tag) ||
         (workload >= Workload::outstanding_100 && workload <= Workload::reused_1m);
}

bool is_pairs(Workload workload) {
  return workload >= Workload::pairs_1 && workload <= Workload::pairs_shared_4;
}

bool is_streams(Workload workload) {
  return workload >= Workload::streams_1 && workload <= Workload::streams_to_one;
}

bool is_polling(Workload workload) {
  return workload >= Workload::polling_1 && workload <= Workload::polling_shared_4;
}

bool is_allreduce(Workload workload) {
  return workload >= Workload::allreduce && workload <= Workload::allreduce_1m;
}

bool is_stream_of_threads(Workload workload) {
  return workload >= Workload::rate_threads_1 && workload <= Workload::rate_shared_8;
}

bool is_large_stream(Workload workload) {
  return workload >= Workload::am_64k && workload <= Workload::am_fresh_16m;
}

bool is_access_rate(Workload workload) {
  return workload == Workload::put_rate || workload == Workload::get_rate || workload == Workload::add_rate ||
         workload == Workload::fetch_add_rate;
}

bool is_resource(Workload workload) {
  return workload >= Workload::resource_queue && workload <= Workload::resource_packet;
}

bool takes_size(Workload workload) {
  return workload == Workload::rate || workload == Workload::matched_latency ||
         is_stream_of_threads(workload) || workload == Workload::unacknowledged ||
         workload == Workload::allreduce || workload == Workload::exchange || is_window(workload);
}

bool takes_window(Workload workload) {
  return is_window(workload) || workload == Workload::many_to_one || workload == Workload::all_to_all ||
         workload == Workload::unacknowledged || is_polling(workload) ||
         (workload >= Workload::threads_1 && workload <= Workload::streams_to_one);
}

bool takes_ranks(Workload workload) {
  return workload == Workload::many_to_one || workload == Workload::all_to_all || is_allreduce(workload);
}

const WorkloadInfo& info_of(Workload workload) {
  return *std::ranges::find(kWorkloads, workload, &WorkloadInfo::workload);
}

const WorkloadInfo* find_workload(std::string_view name) {
  const auto found = std::ranges::find(kWorkloads, name, &WorkloadInfo::name);
  return found == std::end(kWorkloads) ? nullptr : found;
}

}  // namespace weft::tools::perf
