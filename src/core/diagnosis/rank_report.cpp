#include "core/diagnosis/rank_report.hpp"

#include <weft/detail/context_state.hpp>
#include <weft/detail/wait_condition.hpp>

#include "base/text/json_writer.hpp"

#include <cstdio>
#include <string_view>

namespace weft::core {

namespace {

std::string seconds_of(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", seconds);
  return text;
}

/// "tag 7", "tag 7 of context key 12", or what a layer says.
std::string tag_of(const ReportedOperation& reported) {
  if (!reported.tag.empty()) return reported.tag;
  const PendingOperation& operation = reported.operation;
  const auto engine = static_cast<std::uint32_t>(operation.engine);
  if (operation.engine < 0 ||
      (!weft::detail::is_context_engine(engine) && engine < weft::detail::kStreamEngines))
    return "tag " + std::to_string(operation.tag);
  const auto number = static_cast<std::uint32_t>(operation.tag >> 32);
  return "tag " + std::to_string(static_cast<std::uint32_t>(operation.tag)) + " of context " +
         ((number & weft::detail::kContextByKey) != 0 ? "key " : "number ") +
         std::to_string(number & ~weft::detail::kContextByKey);
}

std::string line_of(const ReportedOperation& reported) {
  const PendingOperation& operation = reported.operation;
  const bool is_inward = operation.kind == PendingKind::receive ||
                         operation.kind == PendingKind::held_message ||
                         operation.kind == PendingKind::arrival || operation.kind == PendingKind::get;
  std::string line = to_string(operation.kind);
  line += is_inward ? " from " : " to ";
  line += operation.peer < 0 ? "any rank" : "rank " + std::to_string(operation.peer);
  if (operation.is_collective)
    line += ", of a Collective";
  else if (operation.has_tag)
    line += ", " + tag_of(reported);
  else if (operation.kind == PendingKind::receive)
    line += ", any tag";
  line += operation.kind == PendingKind::receive ? ", room for " : ", ";
  line += std::to_string(operation.size) + " bytes";
  if (operation.moved != 0) line += " (" + std::to_string(operation.moved) + " moved)";
  line += ": ";
  line += operation.state;
  if (operation.engine >= 0) line += "; engine " + std::to_string(operation.engine);
  if (operation.device >= 0) line += "; device " + std::to_string(operation.device);
  if (reported.seconds > 0) line += "; for at least " + seconds_of(reported.seconds);
  return line;
}

bool belongs_to_a_wait(const Report& report, const ReportedOperation& reported) {
  if (reported.operation.completion == nullptr) return false;
  for (const ReportedWait& wait : report.waits)
    if (wait.completion == reported.operation.completion) return true;
  return false;
}

void add_wait(std::string& text, const Report& report, const ReportedWait& wait) {
  text += (wait.is_task ? "  task " : "  thread ") + std::to_string(wait.thread) + " has waited " +
          (wait.is_in_handler ? "inside a handler, where nothing can end it, " : "") + "for " +
          seconds_of(wait.seconds) + " for " + wait.what;
  if (wait.exposed >= 0) text += " (exposed as id " + std::to_string(wait.exposed) + ")";
  if (wait.peer >= 0) text += (wait.is_whole ? ", waits for rank " : ", rank ") + std::to_string(wait.peer);
  if (wait.remote_id >= 0) text += ", id " + std::to_string(wait.remote_id);
  if (*wait.refusal != '\0') text += std::string(", refused: ") + wait.refusal;
  if (wait.line != 0) text += ", at " + wait.file + ":" + std::to_string(wait.line);
  if (wait.line != 0 || wait.is_in_context) text += (wait.line != 0 ? " in " : ", in ") + wait.function;
  if (wait.device >= 0) text += "; device " + std::to_string(wait.device);
  text += '\n';
  if (wait.completion == nullptr || wait.is_whole) return;
  for (const ReportedOperation& reported : report.operations)
    if (reported.operation.completion == wait.completion &&
        (!wait.detail || wait.detail->includes(reported.operation)))
      text += "    signalled by: " + line_of(reported) + '\n';
}

bool waits_for_all(const ReportedWait& wait) {
  const std::string& what = wait.what;
  return what == detail::kBarrierWait || what == detail::kAllgatherWait;
}

std::string number_of(const void* completion) {
  return std::to_string(reinterpret_cast<std::uintptr_t>(completion));
}

/// The indices of the operations that the wait is for, and its step of a sequence.
void add_detail(base::JsonWriter& json, const Report& report, const ReportedWait& wait) {
  json.name("operations").begin_array();
  for (std::size_t index = 0; index < report.operations.size(); ++index) {
    const PendingOperation& operation = report.operations[index].operation;
    if (operation.completion == wait.completion && wait.detail->includes(operation))
      json.number(std::uint64_t{index});
  }
  json.end_array();
  json.name("sequence").number(wait.detail->sequence);
  json.name("step").number(wait.detail->step);
  json.name("step_name").text(wait.detail->step_name);
}

}  // namespace

std::string to_text(const Report& report, const char* cause) {
  std::string text = "weft[rank " + std::to_string(report.rank) + "] what is pending in process " +
                     std::to_string(report.process) + " (" + cause + "):\n";
  for (const ReportedWait& wait : report.waits) add_wait(text, report, wait);
  if (report.waits.empty()) text += "  no thread waits in a call of weft\n";
  bool has_operations = !report.operations.empty();
  for (const ReportedOperation& reported : report.operations)
    if (!belongs_to_a_wait(report, reported)) text += "  " + line_of(reported) + '\n';
  for (const ReportedQueue& queue : report.queues)
    text +=
        "  " + std::to_string(queue.messages) + " messages lie in the object exposed as id " +
        std::to_string(queue.exposed) +
        (queue.seconds > 0 ? ", and nobody has taken one for at least " + seconds_of(queue.seconds) : "") +
        '\n';
  for (const ReportedRefusals& refusals : report.refusals)
    text += "  " + std::to_string(refusals.count) + " posts refused since the last look: " + refusals.reason +
            '\n';
  for (const std::string& layer : report.layers) text += "  " + layer + '\n';
  for (const std::string& note : report.notes) text += "  " + note + '\n';
  if (!has_operations) text += "  no operation is pending\n";
  return text;
}

std::string to_json(const Report& report) {
  std::string text;
  base::JsonWriter json(text);
  const auto integer = [&](const char* name, std::int64_t value) { json.name(name).number(value); };
  json.begin_object();
  integer("rank", report.rank);
  integer("size", report.size);
  integer("process", report.process);
  json.name("waits").begin_array();
  for (const ReportedWait& wait : report.waits) {
    json.begin_object();
    json.name("what").text(wait.is_task ? wait.what + " (task " + std::to_string(wait.thread) + ")"
                                        : wait.what);
    json.name("file").text(wait.file);
    json.name("function").text(wait.function);
    integer("line", wait.line);
    integer("thread", wait.thread);
    integer("device", wait.device);
    integer("peer", wait.peer);
    json.name("seconds").real(wait.seconds);
    json.name("completion").text(number_of(wait.completion));
    integer("exposed", wait.exposed);
    json.name("is_in_context").boolean(wait.is_in_context);
    json.name("is_for_all").boolean(waits_for_all(wait));
    json.name("is_in_handler").boolean(wait.is_in_handler);
    json.name("is_whole").boolean(wait.is_whole);
    integer("remote_id", wait.remote_id);
    json.name("refusal").text(wait.refusal);
    if (wait.detail) add_detail(json, report, wait);
    json.end_object();
  }
  json.end_array();
  json.name("operations").begin_array();
  for (const ReportedOperation& reported : report.operations) {
    const PendingOperation& operation = reported.operation;
    json.begin_object();
    json.name("kind").text(to_string(operation.kind));
    json.name("state").text(operation.state);
    integer("peer", operation.peer);
    json.name("has_tag").boolean(operation.has_tag);
    json.name("is_collective").boolean(operation.is_collective);
    json.name("tag").number(operation.tag);
    json.name("tag_mask").number(operation.tag_mask);
    json.name("tag_text").text(tag_of(reported));
    json.name("size").number(operation.size);
    json.name("moved").number(operation.moved);
    json.name("completion").text(number_of(operation.completion));
    integer("engine", operation.engine);
    integer("device", operation.device);
    integer("remote_id", operation.remote_id);
    json.name("seconds").real(reported.seconds);
    json.end_object();
  }
  json.end_array();
  json.name("queues").begin_array();
  for (const ReportedQueue& queue : report.queues) {
    json.begin_object();
    integer("exposed", queue.exposed);
    json.name("messages").number(queue.messages);
    json.name("seconds").real(queue.seconds);
    json.end_object();
  }
  json.end_array();
  json.name("refusals").begin_array();
  for (const ReportedRefusals& refusals : report.refusals) {
    json.begin_object();
    json.name("reason").text(refusals.reason);
    json.name("count").number(refusals.count);
    integer("peer", refusals.peer);
    integer("remote_id", refusals.remote_id);
    json.end_object();
  }
  json.end_array();
  json.name("exposed").begin_array();
  for (const std::uint16_t id : report.exposed) json.number(std::uint64_t{id});
  json.end_array();
  json.name("has_more_exposed").boolean(report.has_more_exposed);
  json.name("sequences").begin_array();
  for (const ReportedSequence& sequence : report.sequences) {
    json.begin_object();
    json.name("sequence").number(sequence.sequence);
    json.name("steps").number(sequence.steps);
    json.name("name").text(sequence.name);
    json.name("last").text(sequence.last);
    json.end_object();
  }
  json.end_array();
  json.name("layers").begin_array();
  for (const std::string& layer : report.layers) json.text(layer);
  json.end_array();
  json.name("notes").begin_array();
  for (const std::string& note : report.notes) json.text(note);
  json.end_array();
  json.end_object();
  return text;
}

}  // namespace weft::core
