#include "collective/collective_context.hpp"

#include "collective/kinds/kind_table.hpp"
#include "collective/run.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>

namespace weft::collective {

namespace {

// The longest time for which a rank that has sent another length is asked for what it has called. After that
// the error is reported without it.
constexpr std::int64_t kUntilAnswered = 2'000'000'000;  // ns
// The longest time for which verdicts are sent again to ranks that cannot take them, as those that have no
// such Collective yet: they ask when they wait.
constexpr std::int64_t kUntilVerdictsTaken = 100'000'000;
constexpr std::uint32_t kMostExposed = 255;

/// Returns true when all ranks of the job are members.
bool is_whole(const Runtime& runtime, const Team& team) noexcept { return team.size() == runtime.size(); }

const Team& checked(const Runtime& runtime, const Team& team) {
  if (team.rank() >= 0 && team.rank() < team.size() && team.at(team.rank()) == runtime.rank()) return team;
  constexpr int kListed = 8;
  std::string members;
  for (int rank = 0; rank < std::min(team.size(), kListed); ++rank)
    members += (rank == 0 ? "" : ", ") + std::to_string(team.at(rank));
  if (team.size() > kListed) members += ", ...";
  throw Error("Collective: rank " + std::to_string(runtime.rank()) +
              " of the job is no member of the team of " + std::to_string(team.size()) + " ranks" +
              (members.empty() ? "" : " (" + members + ")") + ": only members have its collectives");
}

/// Opens the matching context of a Collective; says what to do when another one has it.
MatchingContext open_context(Runtime& runtime, const Team& team, const CollectiveOptions& options) {
  if (options.key >= kCollectiveKeys)
    throw Error("Collective: key " + std::to_string(options.key) + " is out of range: 0 to " +
                std::to_string(kCollectiveKeys - 1));
  std::vector<int> members;
  if (!is_whole(runtime, team))
    for (int rank = 0; rank < team.size(); ++rank) members.push_back(team.at(rank));
  try {
    return MatchingContext(
        runtime, {.key = kCollectiveKey + options.key, .needs_all_members = true, .members = members});
  } catch (const Error& error) {
    const std::uint32_t other = options.key != 0 ? options.key - 1 : options.key + 1;
    throw Error(
        "Collective: key " + std::to_string(options.key) + " cannot be used (" + error.what() +
        "): the Collectives of a rank have different keys, and each the same on all of its members; give "
        "this one another, such as Collective(runtime, endpoint, {.key = " +
        std::to_string(other) + "})");
  }
}

/// The id of the object that a Collective exposes; CollectiveSetup::kNoHandle: it exposes none.
/// `is_whole`: handles count how often each rank has exposed an object, which members of several teams have
/// not done equally often.
std::uint32_t handle_of(const CollectiveOptions& options, bool is_whole) noexcept {
  if (options.handle != CollectiveOptions::kByKey) return options.handle;
  const bool exposes = is_whole && options.key != 0 && options.key <= kMostExposed;
  return exposes ? collective_ids + options.key : CollectiveSetup::kNoHandle;
}

}  // namespace

CollectiveSetup setup_of(Runtime& runtime, const Team& team, const CollectiveOptions& options) {
  return {.context = open_context(runtime, checked(runtime, team), options),
          .key = options.key,
          .handle = handle_of(options, is_whole(runtime, team)),
          .timeout = std::max(options.timeout.count(), std::int64_t{0})};
}

CollectiveContext::CollectiveContext(Runtime& runtime, std::unique_ptr<detail::CollectivePort> port,
                                     const Team& team, std::uint8_t device, CollectiveSetup&& setup)
    : runtime_(runtime),
      team_(team),
      rank_(team.rank()),
      size_(team.size()),
      algorithms_(runtime, team),
      port_(std::move(port)),
      device_(device),
      own_context_(std::move(setup.context)),
      key_(setup.key),
      tags_(own_context_, size_),
      mailbox_(setup.handle == CollectiveSetup::kNoHandle
                   ? nullptr
                   : std::make_unique<Mailbox>(runtime, size_, setup.handle, device, ring_, roll_call_)),
      near_(*this, runtime, team),
      timeout_(setup.timeout),
      losses_(is_whole(runtime, team) ? nullptr : std::make_unique<Losses>(*this)),
      // A group keeps its stream, and with that the device.
      user_(runtime, setup.owner(), setup.key ? int{device} : weft::detail::RuntimeUser::kNoDevice) {
  if (mailbox_ == nullptr && size_ > 1) notes_.begin();
}

CollectiveContext::~CollectiveContext() {
  posted_.stop();
  notes_.stop();
  kept_runs_.forget();
  posted_.drop();
  if (operations_.load(std::memory_order_relaxed) != 0) user_.refuse_early_end("CollectiveOperation");
  // Nobody calls anything any more that could report it.
  if (roll_call_.owe_again() && !roll_call_.is_expired())
    std::fprintf(stderr, "weft: a Collective of rank %d ends: %s\n", runtime_.rank(),
                 roll_call_.report_any().c_str());
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

void CollectiveContext::wait_for(LongWait& waiting, Completion& object) noexcept {
  // Without the heap: there are as many of these waits as collectives, where the ranks share cores.
  char text[256] = "a collective";
  std::source_location where;
  if (const auto called = roll_call_.called(waiting.number(), &where)) {
    constexpr std::size_t kMostSuffix = 32;
    const std::size_t length = called->write(std::span(text).first(sizeof text - kMostSuffix), false);
    char* const end = text + length;
    static_cast<void>(key_ ? std::snprintf(end, kMostSuffix, " (key %u)", *key_)
                           : std::snprintf(end, kMostSuffix, " (of a StreamGroup)"));
  }
  const detail::WaitCondition condition{
      [](const void* what) noexcept { return static_cast<LongWait*>(const_cast<void*>(what))->is_over(); },
      &waiting, &object,
      detail::WaitDescription{.what = text,
                              .where = where,
                              .peer = waiting.peers().size() == 1 ? peer_of(waiting.peers().front()) : -1,
                              .is_whole = true}};
  port_->wait(condition);
}

bool CollectiveContext::send_note(int rank, Bytes note) noexcept {
  // Without a completion object so short a message is copied. What is refused is sent again after a pause,
  // if the collective has not ended until then; in the backlog it could be left when both ranks have what
  // they waited for, and the end of this device would wait for a peer that has closed its own.
  if (mailbox_ != nullptr)
    return port_->post_am(peer_of(rank), mailbox_->remote(), note, {.tag = Mailbox::kRollCall}).is_accepted();
  const SendOptions options{.policy = MatchingPolicy::tag_only, .engine = tags_.engine(), .device = device_};
  return port_->post_send(peer_of(rank), tags_.notes(), note, options).is_accepted();
}

void CollectiveContext::Losses::signal(Message& message) noexcept {
  if (!context_.team_.contains(message.peer())) return;
  has_lost_.store(true, std::memory_order_relaxed);
}

std::string CollectiveContext::name_of(int rank) const {
  const std::string text = "rank " + std::to_string(rank);
  if (rank < 0 || rank >= size_ || team_.at(rank) == rank) return text;
  return text + " of the team (rank " + std::to_string(team_.at(rank)) + " of the job)";
}

void CollectiveContext::check(const detail::CollectiveCall& call) const {
  Kinds::with(call.kind, [&](auto kind) { decltype(kind)::check(call, rank_, size_); });
}

void CollectiveContext::tell_all() noexcept {
  const std::int64_t end = now_ns() + kUntilVerdictsTaken;
  while (!roll_call_.tell_again() && now_ns() < end)
    if (port_->progress() == 0) std::this_thread::yield();
}

Outcome CollectiveContext::give_up(std::uint64_t number) {
  tell_all();
  std::string text = roll_call_.report(number);
  if (roll_call_.is_expired()) return Outcome::timed_out;
  throw Error(std::move(text));
}

Outcome CollectiveContext::refuse_broken() {
  if (roll_call_.is_broken()) return give_up(~std::uint64_t{0});
  if (std::string text = roll_call_.report_any(); !text.empty()) throw Error(std::move(text));
  return Outcome::ok;
}

void CollectiveContext::report(const detail::CollectiveCall& call, std::uint64_t number,
                               const Mismatch& mismatch) {
  const int other = rank_of(mismatch.peer);
  const std::int64_t end = now_ns() + kUntilAnswered;
  for (bool is_told = false; !roll_call_.has_calls_of(number, rank_, other) && !roll_call_.is_broken() &&
                             !has_lost_a_rank() && now_ns() < end;) {
    if (!is_told) is_told = roll_call_.tell_length(number, other, mismatch.sent, mismatch.expected);
    if (port_->progress() == 0) std::this_thread::yield();
  }
  tell_all();
  throw Error(std::string(traits_of(call.kind).name) + ": " + name_of(other) + " sent " +
              std::to_string(mismatch.sent) + " bytes where this rank expects " +
              std::to_string(mismatch.expected) + roll_call_.report_length(number, rank_, other) +
              "; all ranks call the same collectives in the same order with the same lengths");
}

}  // namespace weft::collective
