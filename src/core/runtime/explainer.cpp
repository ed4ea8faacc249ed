#include "core/runtime/explainer.hpp"

#include <weft/wait_source.hpp>

#include "base/signals_blocked.hpp"

#include "core/runtime/runtime_state.hpp"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace weft::detail {

using base::Attribute;

namespace {

constexpr std::size_t kListed = 32;  // operations of each kind: a report is one message of a socket
constexpr std::size_t kListedWaits = 64;
constexpr std::size_t kListedIds = 256;
constexpr std::size_t kListedSequences = 64;
constexpr std::size_t kLongestTag = 256;

void write_all(const std::string& text) noexcept {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = ::write(STDERR_FILENO, text.data() + written, text.size() - written);
    if (count < 0 && errno != EINTR) return;
    if (count > 0) written += static_cast<std::size_t>(count);
  }
}

/// Removes leading "../": builds name their sources relative to the build folder.
const char* without_way_up(const char* file) noexcept {
  while (std::strncmp(file, "../", 3) == 0) file += 3;
  return file;
}

/// Where the wait is: in the words of the thread's CallContext, else the call of weft that waits.
struct Where {
  std::string file;
  std::string function;
  std::uint32_t line;
};
Where where_of(const core::WaitingThread& thread) {
  const core::CallOfWait& call = thread.call;
  const std::source_location& where = thread.description.where;
  if (call.call == nullptr) return {without_way_up(where.file_name()), where.function_name(), where.line()};
  const bool has_location = call.file != nullptr && call.line != 0;
  return {has_location ? without_way_up(call.file) : "", name_of_call(call.call, call.object),
          has_location ? call.line : 0};
}

const char* refusal_of(const core::WaitingThread& thread) noexcept {
  const Reason reason = thread.refusal.load(std::memory_order_relaxed);
  return reason == Reason::none ? "" : name_of(reason);
}

double seconds_since(std::int64_t begin_ns) { return static_cast<double>(base::now_ns() - begin_ns) * 1e-9; }

}  // namespace

std::unique_ptr<Explainer> Explainer::make(RuntimeState& runtime) {
  const bool hears_signal = runtime.attributes().boolean(Attribute::explain);
  const double limit = runtime.attributes().seconds(Attribute::explain_after);
  auto channel = std::make_unique<core::ReportChannel>(runtime.rank(), runtime.size());
  if (!hears_signal && limit == 0 && channel->descriptor() < 0) return nullptr;
  return std::unique_ptr<Explainer>(new Explainer(runtime, std::move(channel), hears_signal, limit));
}

Explainer::Explainer(RuntimeState& runtime, std::unique_ptr<core::ReportChannel> channel, bool hears_signal,
                     double limit)
    : runtime_(runtime),
      notice_(hears_signal),
      channel_(std::move(channel)),
      limit_ns_(base::seconds_to_ns(limit)) {
  if (hears_signal && !notice_.is_heard())
    runtime.log().warn(
        "SIGUSR1 is not explained: the program handles or ignores it itself, and weft replaces no handler");
  const base::SignalsBlocked inherited;
  thread_ = std::thread([this] { run(); });
}

Explainer::~Explainer() {
  stops_.store(true, std::memory_order_release);
  notice_.notify();
  thread_.join();
}

void Explainer::run() {
  // Often enough that a wait is explained soon after its limit.
  const int period_ms =
      limit_ns_ == 0 ? -1 : static_cast<int>(std::clamp<std::int64_t>(limit_ns_ / 4'000'000, 10, 1000));
  for (;;) {
    pollfd waits[2] = {{notice_.descriptor(), POLLIN, 0}, {channel_->descriptor(), POLLIN, 0}};
    static_cast<void>(::poll(waits, 2, period_ms));
    if (stops_.load(std::memory_order_acquire)) return;
    if (waits[0].revents != 0) {
      notice_.clear();
      print("SIGUSR1");
    }
    core::ReportRequest request{};
    while (waits[1].revents != 0 && channel_->descriptor() >= 0 && channel_->receive(request)) {
      const core::Report report = look();
      if (request == core::ReportRequest::report) channel_->send(core::to_json(report));
    }
    if (limit_ns_ != 0) check_waits();
  }
}

void Explainer::print(const char* cause) { write_all(core::to_text(look(), cause)); }

/// Prints once for each wait that has passed its limit; remembers the pending operations when it has passed
/// half of the limit, so that the report can tell how long they have been pending.
void Explainer::check_waits() {
  bool is_over = false;
  bool is_half_over = false;
  waits_.for_each([&](core::WaitingThread& thread) {
    if (thread.is_explained || thread.description.is_idle) return;
    const std::int64_t age = base::now_ns() - thread.since_ns;
    is_over = is_over || age >= limit_ns_;
    is_half_over = is_half_over || age >= limit_ns_ / 2;
    thread.is_explained = age >= limit_ns_;
  });
  if (is_over)
    print("a wait has passed the attribute explain_after");
  else if (is_half_over && seen_.empty())
    static_cast<void>(look());
}

core::Report Explainer::look() {
  core::Report report;
  report.rank = runtime_.rank();
  report.size = runtime_.size();
  report.process = static_cast<int>(::getpid());
  add_waits(report);
  add_operations(report);
  add_queues(report);
  add_refusals(report);
  report.exposed = runtime_.exposures().ids(kListedIds + 1);
  report.has_more_exposed = report.exposed.size() > kListedIds;
  if (report.has_more_exposed) report.exposed.pop_back();
  return report;
}

void Explainer::add_waits(core::Report& report) {
  std::size_t left_out = 0;
  waits_.for_each([&](const core::WaitingThread& thread) {
    if (thread.description.is_idle) return;
    if (report.waits.size() == kListedWaits) {
      ++left_out;
      return;
    }
    Where where = where_of(thread);
    WaitDetail detail;
    std::optional<core::ReportedDetail> reported_detail;
    if (find_detail_in_layers(report.rank, thread.description.what, detail))
      reported_detail = {detail.has_tag,  detail.tag,  detail.tag_mask, detail.peer,
                         detail.sequence, detail.step, detail.step_name};
    report.waits.push_back({.what = thread.description.what,
                            .file = std::move(where.file),
                            .function = std::move(where.function),
                            .line = where.line,
                            .thread = thread.thread,
                            .device = thread.device,
                            .peer = thread.description.peer,
                            .seconds = seconds_since(thread.since_ns),
                            .completion = thread.completion,
                            .exposed = -1,
                            .is_in_context = thread.call.call != nullptr,
                            .is_in_handler = thread.is_in_handler,
                            .is_whole = thread.description.is_whole,
                            .remote_id = thread.remote_id,
                            .refusal = refusal_of(thread),
                            .detail = std::move(reported_detail)});
  });
  if (left_out != 0) report.notes.push_back("and " + std::to_string(left_out) + " more threads wait");
  list_waits_of_layers(
      report.rank,
      [](void* context, const DescribedWait& wait) {
        auto& report_of = *static_cast<core::Report*>(context);
        if (wait.is_note) {
          report_of.layers.emplace_back(wait.what);
          return;
        }
        auto& waits = report_of.waits;
        if (waits.size() >= 2 * kListedWaits) return;
        waits.push_back({.what = wait.what,
                         .file = without_way_up(wait.file),
                         .function = wait.function,
                         .line = wait.line,
                         .thread = wait.number,
                         .peer = wait.peer,
                         .seconds = seconds_since(wait.since),
                         .is_whole = true,
                         .is_task = wait.is_task});
      },
      &report);
  list_sequences_of_layers(
      report.rank,
      [](void* context, const SequenceState& state) {
        auto& sequences = static_cast<core::Report*>(context)->sequences;
        if (sequences.size() < kListedSequences)
          sequences.push_back({state.sequence, state.steps, state.name, state.last});
      },
      &report);
  for (core::ReportedWait& wait : report.waits)
    if (wait.completion != nullptr) wait.exposed = runtime_.exposures().id_of(wait.completion);
}

void Explainer::add_operations(core::Report& report) {
  core::PendingList list(kListed);
  runtime_.describe(list, report.notes);
  std::map<Name, std::int64_t> seen;
  for (const core::PendingOperation& operation : list.operations()) {
    const Name name{operation.kind, operation.engine, operation.device, operation.identity};
    const auto known = seen_.find(name);
    const std::int64_t since = known != seen_.end() ? known->second : base::now_ns();
    seen.emplace(name, since);
    std::array<char, kLongestTag> tag{};
    if (operation.engine >= 0 && operation.has_tag)
      static_cast<void>(name_tag_by_layers(
          report.rank,
          {static_cast<std::uint32_t>(operation.engine), operation.peer, operation.tag, operation.tag_mask},
          tag));
    report.operations.push_back({operation, tag.data(), known != seen_.end() ? seconds_since(since) : 0});
  }
  seen_ = std::move(seen);
  for (std::size_t kind = 0; kind < core::kPendingKinds; ++kind) {
    const auto named = static_cast<core::PendingKind>(kind);
    if (const std::size_t more = list.left_out(named); more != 0)
      report.notes.push_back("and " + std::to_string(more) + " more of the kind " + core::to_string(named));
  }
}

void Explainer::add_queues(core::Report& report) {
  std::map<std::uint16_t, Rest> rests;
  std::size_t left_out = 0;
  const bool has_looked =
      runtime_.exposures().try_for_each([&](std::uint16_t id, const Completion& completion) {
        const Completion::AtRest rest = completion.at_rest();
        if (rest.messages == 0) return;
        const auto known = rests_.find(id);
        const bool is_known = known != rests_.end() && known->second.taken == rest.taken;
        const std::int64_t since = is_known ? known->second.since_ns : base::now_ns();
        rests.emplace(id, Rest{rest.taken, since});
        if (report.queues.size() < kListed)
          report.queues.push_back({id, rest.messages, is_known ? seconds_since(since) : 0});
        else
          ++left_out;
      });
  if (!has_looked) {
    report.notes.emplace_back("a handle is being exposed or withdrawn: messages in queues are not shown");
    return;
  }
  rests_ = std::move(rests);
  if (left_out != 0)
    report.notes.push_back("and " + std::to_string(left_out) + " more objects with messages in them");
}

void Explainer::add_refusals(core::Report& report) {
  const RuntimeCounters now = runtime_.all_counters();
  const auto add = [&](const char* reason, std::uint64_t RuntimeCounters::*member) {
    if (now.*member > counters_.*member) report.refusals.push_back({reason, now.*member - counters_.*member});
  };
  add("no_slot", &RuntimeCounters::refused_no_slot);
  add("no_packet", &RuntimeCounters::refused_no_packet);
  add("no_credit", &RuntimeCounters::refused_no_credit);
  add("no_request", &RuntimeCounters::refused_no_request);
  add("lock_contended", &RuntimeCounters::refused_lock_contended);
  add("backlog", &RuntimeCounters::refused_backlog);
  add("not_ready", &RuntimeCounters::refused_not_ready);
  if (now.refused_not_ready > counters_.refused_not_ready)
    runtime_.devices().take_unready(report.refusals.back().peer, report.refusals.back().remote_id);
  counters_ = now;
}

}  // namespace weft::detail
