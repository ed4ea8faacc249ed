#include "bindings/mpi/deadlocks/stuck.hpp"

#include "bindings/mpi/communicators/report.hpp"
#include "bindings/mpi/deadlocks/own_sighting.hpp"
#include "bindings/mpi/deadlocks/sighting.hpp"
#include "bindings/mpi/deadlocks/sighting_messages.hpp"
#include "bindings/mpi/transport/world.hpp"

#include <weft/binding/own_threads.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <list>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace weft::mpi {

namespace {

constexpr std::int64_t kBetweenLooks = 50'000'000, kFirstPause = 200'000'000, kLongestPause = 10'000'000'000;

/// What this rank knows. Under the mutex.
struct State {
  std::mutex mutex;
  std::list<Wait> waits;
  std::uint64_t begun = 0;
  std::uint64_t noted_waits = 0;  // those of this rank that rank 0 knows of
  bool has_noted = false;         // and rank 0, which may never wait, has not asked since
  int threads_of_library = 0, attending = 0;
  Sighting question;  // not answered yet
  // Of rank 0: by rank, the waits that it has told of; and the answers of this round and the one before.
  std::vector<std::uint64_t> noted;
  std::vector<Sighting> answers, before;
  std::uint32_t round = 0;
  std::size_t missing = 0;  // answers of this round
  Sighting asks;            // its question, and the rank that gets it next
  int next_asked = 0;
  std::int64_t next_round_ns = 0, pause_ns = kFirstPause;
};
State& state() {
  static State& one = *new State;
  return one;
}

std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Whether nothing but messages of MPI can end what this process waits for. Under the mutex.
bool is_stuck() {
  State& own = state();
  if (own.waits.empty() || generalised_requests.load(std::memory_order_relaxed) != 0) return false;
  // Whatever level of threads the program has asked for: others that compute may call MPI, too.
  const int others = threads_of_process() - own_threads() - own.threads_of_library - own.attending;
  return others <= static_cast<int>(own.waits.size());
}

std::uint64_t number_of_waits() {
  std::uint64_t number = state().waits.size();
  for (const Wait& wait : state().waits) number = number * 1000003 + wait.number;
  return number;
}

Sighting sighting(Sighting::Kind kind, std::uint32_t round) {
  Sighting own;
  own.kind = kind;
  own.round = round;
  own.waits = number_of_waits();
  own.traffic = traffic();
  describe(state().waits.front(), own);
  return own;
}

std::array<std::uint64_t, Sighting::kAsked> sequences_of(const std::vector<Sighting>& all) {
  std::array<std::uint64_t, Sighting::kAsked> asked{};
  std::size_t count = 0;
  for (const Sighting& rank : all)
    if (rank.sequence != 0 && count < asked.size() &&
        std::find(asked.begin(), asked.end(), rank.sequence) == asked.end())
      asked[count++] = rank.sequence;
  return asked;
}

void end_round() {
  State& own = state();
  const bool is_over = is_deadlock(own.before, own.answers, own.asks);
  if (is_over)
    end_job(MPI_ERR_OTHER,
            "weft-mpi: deadlock: every rank waits, and no message is under way. " + described(own.answers));
  bool is_same = own.before.size() == own.answers.size();
  for (std::size_t rank = 0; rank < own.answers.size(); ++rank) {
    is_same = is_same && own.before[rank].waits == own.answers[rank].waits;
    own.noted[rank] = own.answers[rank].waits;
  }
  own.before = own.answers;
  if (is_same) own.pause_ns = std::min(2 * own.pause_ns, kLongestPause);
  own.next_round_ns = now_ns() + own.pause_ns;
}

void take_answer(int from, const Sighting& answer) {
  State& own = state();
  Sighting& at = own.answers[static_cast<std::size_t>(from)];
  if (answer.round != own.round || own.missing == 0 || at.round == own.round) return;
  at = answer;
  if (--own.missing == 0) end_round();
}

void begin_round() {
  State& own = state();
  const auto asked = sequences_of(own.before);
  ++own.round;
  own.missing = own.answers.size();
  for (Sighting& answer : own.answers) answer = {};
  Sighting mine = sighting(Sighting::Kind::answer, own.round);
  Sighting question;
  question.kind = Sighting::Kind::question;
  question.round = own.round;
  question.asked = asked;
  question.sends = sends_of(own.before);
  answer(mine, question);
  own.asks = question;
  own.next_asked = 1;
  take_answer(0, mine);
}

void ask_those_left() {
  State& own = state();
  while (own.missing != 0 && own.next_asked < communicator_world->size &&
         post_sighting(own.next_asked, own.asks))
    ++own.next_asked;
}

void look_now() {
  State& own = state();
  const bool is_first = own_world_rank == 0;
  Sighting message;
  for (int from = 0; take_sighting(message, from);) {
    if (message.waits == 0 && message.kind != Sighting::Kind::question) continue;
    if (message.kind == Sighting::Kind::question) {
      own.question = message;
      own.has_noted = false;
    }
    if (!is_first || static_cast<std::size_t>(from) >= own.noted.size()) continue;
    if (message.kind != Sighting::Kind::question) own.noted[static_cast<std::size_t>(from)] = message.waits;
    if (message.kind == Sighting::Kind::answer) take_answer(from, message);
  }
  if (!is_stuck()) return;
  const std::uint64_t waits = number_of_waits();
  if (own.question.round != 0) {
    Sighting mine = sighting(Sighting::Kind::answer, own.question.round);
    answer(mine, own.question);
    if (post_sighting(0, mine)) own.question = {};
  }
  if (is_first) own.noted[0] = waits;
  // One note at a time: in programs whose rank 0 polls, nobody takes it.
  if (!is_first && waits != own.noted_waits && !own.has_noted &&
      post_sighting(0, sighting(Sighting::Kind::note, 0))) {
    own.noted_waits = waits;
    own.has_noted = true;
  }
  if (!is_first) return;
  if (own.missing == 0 && now_ns() >= own.next_round_ns &&
      std::find(own.noted.begin(), own.noted.end(), 0) == own.noted.end())
    begin_round();
  ask_those_left();
}

}  // namespace

int threads_of_process() {
  std::error_code ignored;
  int count = 0;
  for (auto it = std::filesystem::directory_iterator("/proc/self/task", ignored);
       it != std::filesystem::directory_iterator(); it.increment(ignored))
    ++count;
  return count;
}

void open_deadlocks(int threads_before) {
  State& own = state();
  const std::lock_guard lock(own.mutex);
  own.threads_of_library = threads_of_process() - own_threads() - threads_before;
  const auto ranks = static_cast<std::size_t>(communicator_world->size);
  own.noted.assign(ranks, 0);
  own.answers.assign(ranks, {});
  own.before.clear();
  const std::string limit = world->runtime.attribute("mpi_deadlock");
  patience_ns = static_cast<std::int64_t>(std::strtod(limit.c_str(), nullptr) * 1e9);
}

void close_deadlocks() noexcept { patience_ns = 0; }

StuckWait::StuckWait(const WaitPurpose& purpose, bool is_for_all, int own_threads)
    : own_threads_(own_threads) {
  State& own = state();
  const std::lock_guard lock(own.mutex);
  own.waits.push_back({this, ++own.begun, purpose, is_for_all, current_call, current_caller});
  own.attending += own_threads;
  own.next_round_ns = 0;
  own.pause_ns = kFirstPause;
}

StuckWait::~StuckWait() {
  State& own = state();
  const std::lock_guard lock(own.mutex);
  own.waits.remove_if([this](const Wait& wait) { return wait.by == this; });
  own.attending -= own_threads_;
  // A round that is under way is void. Who has not answered is asked again when its answer has come: it may
  // never wait again, and would keep question after question.
  for (int rank = 1; own.missing != 0 && rank < own.next_asked; ++rank)
    if (own.answers[static_cast<std::size_t>(rank)].round != own.round)
      own.noted[static_cast<std::size_t>(rank)] = 0;
  own.missing = 0;
  own.before.clear();
  if (!own.noted.empty()) own.noted[0] = 0;
}

void StuckWait::look() noexcept {
  if (now_ns() < next_look_ns_) return;
  next_look_ns_ = now_ns() + kBetweenLooks;
  const std::unique_lock lock(state().mutex, std::try_to_lock);
  if (lock.owns_lock()) look_now();
}

bool is_of_deadlocks(std::uint32_t context, int tag) noexcept {
  return context == kContextOfSightings && tag == kTagOfSightings;
}

}  // namespace weft::mpi
