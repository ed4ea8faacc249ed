#include "collective/collective_context.hpp"

#include "collective/kind_table.hpp"
#include "collective/run.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

namespace weft::collective {

namespace {

constexpr std::uint32_t kLooksBeforeClock = 256;
constexpr std::int64_t kFirstPause = 20'000'000;  // ns, until the first question
constexpr std::int64_t kLongestPause = 5'000'000'000;

std::int64_t now_ns() noexcept {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

/// Opens the engine of a Collective; says what to do when another one has it.
std::unique_ptr<MatchingEngine> open_engine(Runtime& runtime, const CollectiveOptions& options) {
  if (options.engine == 0 || options.engine >= kMatchingEngines)
    throw Error("Collective: matching engine " + std::to_string(options.engine) +
                (options.engine == 0 ? " belongs to the program's own messages" : " is out of range") +
                "; choose 1 to " + std::to_string(kMatchingEngines - 1));
  try {
    return std::make_unique<MatchingEngine>(
        runtime, MatchingEngineOptions{.id = options.engine, .needs_all_ranks = true});
  } catch (const Error& error) {
    throw Error(std::string("Collective: ") + error.what() +
                ": every Collective has an engine of its own, the same on every rank; give this one another, "
                "such as Collective(runtime, endpoint, {.engine = " +
                std::to_string(options.engine == 255 ? 253
                               : options.engine != 1 ? options.engine - 1
                                                     : 2) +
                "})");
  }
}

std::string name_of(const CollectiveOptions& options) {
  return "Collective (engine " + std::to_string(options.engine) + ")";
}

bool are_same(const detail::CollectiveCall& a, const detail::CollectiveCall& b) noexcept {
  return a.kind == b.kind && a.root == b.root && a.from == b.from && a.to == b.to && a.count == b.count &&
         a.reduction.element == b.reduction.element && a.reduction.apply == b.reduction.apply &&
         a.reduction.operator_size == b.reduction.operator_size &&
         std::memcmp(a.reduction.operator_bytes, b.reduction.operator_bytes, a.reduction.operator_size) == 0;
}

}  // namespace

CollectiveContext::CollectiveContext(Runtime& runtime, std::unique_ptr<detail::CollectivePort> port,
                                     std::uint8_t device, const CollectiveOptions& options)
    : runtime_(runtime),
      rank_(runtime.rank()),
      size_(runtime.size()),
      port_(std::move(port)),
      device_(device),
      own_engine_(open_engine(runtime, options)),
      engine_(options.engine),
      mailbox_(runtime,
               options.handle == CollectiveOptions::kByEngine ? collective_ids + options.engine
                                                              : std::uint32_t{options.handle},
               device, ring_, roll_call_),
      user_(runtime, name_of(options), device) {}

CollectiveContext::CollectiveContext(Runtime& runtime, std::unique_ptr<detail::CollectivePort> port,
                                     std::uint8_t device, const detail::CollectivePlace& place)
    : runtime_(runtime),
      rank_(runtime.rank()),
      size_(runtime.size()),
      port_(std::move(port)),
      device_(device),
      engine_(place.engine),
      context_(place.context),
      mailbox_(runtime, place.handle, device, ring_, roll_call_),
      user_(runtime, "Collective (of a StreamGroup)") {}

CollectiveContext::~CollectiveContext() {
  last_long_.reset();
  drop_ended();
  if (operations_.load(std::memory_order_relaxed) != 0) user_.refuse_early_end("CollectiveOperation");
}

std::byte* CollectiveContext::scratch(std::size_t number, std::size_t bytes) {
  if (number >= scratch_.size()) scratch_.resize(number + 1);
  Block& block = scratch_[number];
  if (block.size < bytes || block.memory == nullptr) {
    block.memory = std::make_unique<std::byte[]>(bytes);
    block.size = bytes;
  }
  return block.memory.get();
}

CollectiveRun& CollectiveContext::long_run(const detail::CollectiveCall& call) {
  if (last_long_ == nullptr || !are_same(last_long_->call(), call))
    last_long_ = std::make_unique<CollectiveRun>(*this, call);
  return *last_long_;
}

void CollectiveContext::keep_posted(std::unique_ptr<CollectiveRun> run, bool is_observed) {
  const std::lock_guard lock(posted_mutex_);
  drop_ended();
  posted_.push_back({std::move(run), is_observed});
}

void CollectiveContext::drop_ended() noexcept {
  // A graph that has ended is not touched any more by the thread that has ended it. Of those that nobody is
  // told of the first failed one stays, for wait_posted().
  bool has_failed = false;
  const auto is_over = [&](const Posted& each) {
    if (!each.run->graph().ready()) return false;
    if (each.is_observed || has_failed || each.run->graph().outcome() == Outcome::ok) return true;
    has_failed = true;
    return false;
  };
  note_operation(-static_cast<int>(std::erase_if(posted_, is_over)));
}

Outcome CollectiveContext::wait_posted() {
  Outcome outcome = Outcome::ok;
  for (;;) {
    Posted next;
    {
      const std::lock_guard lock(posted_mutex_);
      if (posted_.empty()) return outcome;
      next = std::move(posted_.front());
      posted_.erase(posted_.begin());
    }
    note_operation(-1);
    // Where it throws, those behind it go on, and belong to the next call.
    const Outcome each = next.run->wait();
    if (outcome == Outcome::ok) outcome = each;
  }
}

void CollectiveContext::keep_memory(std::vector<std::unique_ptr<std::byte[]>>&& memory) {
  const std::lock_guard lock(posted_mutex_);
  for (auto& block : memory) abandoned_.push_back(std::move(block));
}

void CollectiveContext::forget_long_run() noexcept { last_long_.reset(); }

bool CollectiveContext::Waiting::is_over() noexcept {
  if (is_ready(what)) return true;
  // Most waits end soon, and need no clock.
  if (++looks < kLooksBeforeClock) return false;
  differs = context.roll_call_.differs(number);
  if (differs) return true;
  const std::int64_t now = now_ns();
  if (pause == 0) {
    pause = kFirstPause;
  } else if (now >= asks_at) {
    context.roll_call_.ask(number, peers, asked++);
    pause = std::min(2 * pause, kLongestPause);
  } else {
    return false;
  }
  asks_at = now + pause;
  return false;
}

void CollectiveContext::wait_for(Waiting& waiting, Completion& object) noexcept {
  char text[256] = "a collective";
  std::source_location where;
  if (const auto called = roll_call_.called(waiting.number, &where)) {
    const std::string words =
        called->text(false) +
        (own_engine_ != nullptr ? " (engine " + std::to_string(engine_) + ")" : " (of a StreamGroup)");
    text[words.copy(text, sizeof text - 1)] = '\0';
  }
  const detail::WaitCondition condition{
      [](const void* what) noexcept { return static_cast<Waiting*>(const_cast<void*>(what))->is_over(); },
      &waiting, &object,
      detail::WaitPlace{.what = text,
                        .where = where,
                        .peer = waiting.peers.size() == 1 ? waiting.peers.front() : -1,
                        .is_whole = true}};
  port_->wait(condition);
}

void CollectiveContext::send_note(int peer, Bytes note) noexcept {
  // Without a completion object so short a message is copied. What is refused is asked again after a pause,
  // if the collective has not ended until then; in the backlog it could be left when both ranks have what
  // they waited for, and the end of this device would wait for a peer that has closed its own.
  static_cast<void>(port_->post_am(peer, mailbox_.remote(), note, {.tag = Mailbox::kRollCall}));
}

void CollectiveContext::progress_alone() noexcept {
  constexpr int kMost = 1024;
  for (int count = 0; count < kMost && port_->progress() != 0; ++count) {
  }
}

void CollectiveContext::check(const detail::CollectiveCall& call) const {
  Kinds::with(call.kind, [&](auto kind) { decltype(kind)::check(call, rank_, size_); });
}

void CollectiveContext::report(const detail::CollectiveCall& call, const Mismatch& mismatch) {
  throw Error(std::string(traits_of(call.kind).name) + ": rank " + std::to_string(mismatch.peer) + " sent " +
              std::to_string(mismatch.sent) + " bytes where this rank expects " +
              std::to_string(mismatch.expected) +
              "; all ranks call the same collectives in the same order with the same lengths");
}

}  // namespace weft::collective
