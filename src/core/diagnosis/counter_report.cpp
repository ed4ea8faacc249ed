#include "core/diagnosis/counter_report.hpp"

#include "base/text/json_writer.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace weft {

namespace {

constexpr auto kRows = std::to_array<CounterRow>({
    {"refused_handles", &RuntimeCounters::refused_handles, CounterKind::count},
    {"refused_messages", &RuntimeCounters::refused_messages, CounterKind::count},
    {"dropped_sends", &RuntimeCounters::dropped_sends, CounterKind::count},
    {"refused_accesses", &RuntimeCounters::refused_accesses, CounterKind::count},
    {"active_messages_sent", &RuntimeCounters::active_messages_sent, CounterKind::count},
    {"matched_sent", &RuntimeCounters::matched_sent, CounterKind::count},
    {"inlined_sent", &RuntimeCounters::inlined_sent, CounterKind::count},
    {"eager_bytes_sent", &RuntimeCounters::eager_bytes_sent, CounterKind::bytes},
    {"large_sent", &RuntimeCounters::large_sent, CounterKind::count},
    {"large_bytes_sent", &RuntimeCounters::large_bytes_sent, CounterKind::bytes},
    {"control_sent", &RuntimeCounters::control_sent, CounterKind::count},
    {"active_messages_received", &RuntimeCounters::active_messages_received, CounterKind::count},
    {"matched_received", &RuntimeCounters::matched_received, CounterKind::count},
    {"eager_bytes_received", &RuntimeCounters::eager_bytes_received, CounterKind::bytes},
    {"large_received", &RuntimeCounters::large_received, CounterKind::count},
    {"large_arriving_now", &RuntimeCounters::large_arriving_now, CounterKind::count},
    {"large_bytes_received", &RuntimeCounters::large_bytes_received, CounterKind::bytes},
    {"large_bytes_read", &RuntimeCounters::large_bytes_read, CounterKind::bytes},
    {"control_received", &RuntimeCounters::control_received, CounterKind::count},
    {"puts", &RuntimeCounters::puts, CounterKind::count},
    {"put_bytes", &RuntimeCounters::put_bytes, CounterKind::bytes},
    {"gets", &RuntimeCounters::gets, CounterKind::count},
    {"get_bytes", &RuntimeCounters::get_bytes, CounterKind::bytes},
    {"atomics", &RuntimeCounters::atomics, CounterKind::count},
    {"accesses_by_messages", &RuntimeCounters::accesses_by_messages, CounterKind::count},
    {"refused_no_slot", &RuntimeCounters::refused_no_slot, CounterKind::count},
    {"refused_no_packet", &RuntimeCounters::refused_no_packet, CounterKind::count},
    {"refused_no_credit", &RuntimeCounters::refused_no_credit, CounterKind::count},
    {"refused_no_request", &RuntimeCounters::refused_no_request, CounterKind::count},
    {"refused_lock_contended", &RuntimeCounters::refused_lock_contended, CounterKind::count},
    {"refused_backlog", &RuntimeCounters::refused_backlog, CounterKind::count},
    {"refused_not_ready", &RuntimeCounters::refused_not_ready, CounterKind::count},
    {"lock_misses", &RuntimeCounters::lock_misses, CounterKind::count},
    {"backlog_posts", &RuntimeCounters::backlog_posts, CounterKind::count},
    {"backlog_now", &RuntimeCounters::backlog_now, CounterKind::count},
    {"backlog_highest", &RuntimeCounters::backlog_highest, CounterKind::highest},
    {"unexpected_now", &RuntimeCounters::unexpected_now, CounterKind::count},
    {"unexpected_highest", &RuntimeCounters::unexpected_highest, CounterKind::highest},
    {"records_highest", &RuntimeCounters::records_highest, CounterKind::highest},
    {"long_searches", &RuntimeCounters::long_searches, CounterKind::count},
    {"parks", &RuntimeCounters::parks, CounterKind::count},
    {"parks_timed_out", &RuntimeCounters::parks_timed_out, CounterKind::count},
    {"parked_ns", &RuntimeCounters::parked_ns, CounterKind::nanoseconds},
    {"lanes", &RuntimeCounters::lanes, CounterKind::count},
    {"lanes_grown", &RuntimeCounters::lanes_grown, CounterKind::count},
});
static_assert(sizeof(RuntimeCounters) == kRows.size() * sizeof(std::uint64_t), "a member has no row");

}  // namespace

std::span<const CounterRow> counter_rows() noexcept { return kRows; }

namespace core {

void add(RuntimeCounters& to, const RuntimeCounters& from) noexcept {
  for (const CounterRow& row : kRows) {
    std::uint64_t& sum = to.*row.value;
    sum = row.kind == CounterKind::highest ? std::max(sum, from.*row.value) : sum + from.*row.value;
  }
}

std::string to_table(const RuntimeCounters& counters, int rank) {
  std::size_t widest_name = 0;
  std::size_t widest_value = 0;
  for (const CounterRow& row : kRows) {
    if (counters.*row.value == 0) continue;
    widest_name = std::max(widest_name, std::string_view(row.name).size());
    widest_value = std::max(widest_value, std::to_string(counters.*row.value).size());
  }
  std::string text = "weft[rank " + std::to_string(rank) + "] counters" +
                     (widest_name == 0 ? ": all are 0\n" : " (those that are not 0):\n");
  for (const CounterRow& row : kRows) {
    if (counters.*row.value == 0) continue;
    const std::string name = row.name;
    const std::string value = std::to_string(counters.*row.value);
    text += "  " + name + std::string(widest_name - name.size() + 2 + widest_value - value.size(), ' ') +
            value + '\n';
  }
  return text;
}

std::string to_json_line(const RuntimeCounters& counters, int rank, int size) {
  std::string text;
  base::JsonWriter json(text);
  json.begin_object();
  json.name("weft_counters").begin_object();
  json.name("rank").number(std::int64_t{rank});
  json.name("size").number(std::int64_t{size});
  json.name("values").begin_object();
  for (const CounterRow& row : kRows) json.name(row.name).number(counters.*row.value);
  json.end_object();
  json.end_object();
  json.end_object();
  return text + '\n';
}

}  // namespace core
}  // namespace weft
