#include "conformance/protocol/atomics.hpp"

#include <algorithm>
#include <functional>

namespace weft::test {

namespace {

constexpr std::uint16_t kAtomicSignals = 21;
constexpr std::uint64_t kUntouched = 0x7777777777777777;

}  // namespace

Atomics::Atomics(Job& job) : job_(job) {
  const auto ended_here = [this](Add& add, Message& message) {
    if (message.operation() != Operation::atomic || message.peer() != add.to ||
        message.size() != (add.fetches ? sizeof add.old : 0))
      job_.fail("add " + std::to_string(add.id) + " ended as something else");
    ended(add, message.outcome());
  };
  endings_ = std::make_unique<Endings<Add, decltype(ended_here)>>(job, "add", ended_here);
  for (int rank = 0; rank < job.ranks(); ++rank) {
    owned_.push_back(std::make_unique<Owned>());
    Owned& owned = *owned_.back();
    constexpr std::size_t kSize = kCells * sizeof(std::uint64_t);
    if (job.dice.chance(50)) {
      owned.memory.resize(kSize);
      owned.region = MemoryRegion(job.runtime(rank), owned.memory);
    } else {
      owned.region = MemoryRegion::allocate(job.runtime(rank), kSize);
    }
    using Signalled = Handler<std::function<void(Message&)>>;
    auto signals = std::make_unique<Signalled>([this, rank](Message& message) { signalled(rank, message); });
    job.runtime(rank).expose(*signals, {.id = kAtomicSignals});
    owned.signals = std::move(signals);
  }
}

Atomics::~Atomics() = default;

void Atomics::close() {
  for (auto& owned : owned_) owned->region = MemoryRegion();
}

void Atomics::begin() {
  const int from = job_.rank_by_chance();
  if (!job_.is_alive(from)) return;
  Add& add = adds_.emplace_back();
  add.id = adds_.size() - 1;
  add.from = from;
  add.to = job_.rank_by_chance();
  add.device = job_.device_by_chance();
  add.cell = job_.dice.below(kCells);
  add.fetches = add.cell < kCells / 2 || job_.dice.chance(50);
  add.is_out_of_bounds = job_.dice.chance(5);
  add.operand = 1 + job_.dice.below(1000);
  add.old = kUntouched;
  add.options.completion = endings_.get();
  add.options.user_data = &add;
  if (job_.dice.chance(40)) {
    add.options.signal =
        RemoteCompletion(kAtomicSignals, 1, static_cast<std::uint8_t>(job_.device_by_chance()));
    add.options.tag = static_cast<std::uint32_t>(add.id);
  }
  add.options.may_retry = job_.dice.chance(60);
  add.options.may_complete_now = job_.dice.chance(40);
  post(add);
}

void Atomics::post(Add& add) {
  const std::size_t offset = (add.is_out_of_bounds ? kCells : add.cell) * sizeof add.operand;
  const RemoteAddress place = owned_[static_cast<std::size_t>(add.to)]->region.remote().at(offset);
  const Status status = job_.with(add.from, add.device, [&](auto& endpoint) {
    return add.fetches ? endpoint.post_fetch_atomic(add.to, place, AtomicOperation::add, add.operand, add.old,
                                                    add.options)
                       : endpoint.template post_atomic<std::uint64_t>(add.to, place, AtomicOperation::add,
                                                                      add.operand, add.options);
  });
  if (status.is_retry()) return refused_.push_back(&add);
  add.is_accepted = true;
  if (status.is_done()) {
    if (add.state == Posted::State::ended || !add.options.may_complete_now)
      job_.fail("add " + std::to_string(add.id) + " is done and signalled");
    add.state = Posted::State::ended;
    ended(add, Outcome::ok);
  }
}

void Atomics::ended(Add& add, Outcome outcome) {
  const std::string name = "add " + std::to_string(add.id);
  if (add.is_out_of_bounds && outcome == Outcome::ok) job_.fail(name + " beyond the end of its region");
  if (outcome != Outcome::ok && add.old != kUntouched) job_.fail(name + " failed and brought an old value");
  if (!job_.is_sound(add.from) || !job_.is_sound(add.to)) return;
  if (outcome != (add.is_out_of_bounds ? Outcome::refused : Outcome::ok))
    job_.fail(name + " ended as " + name_of(outcome));
}

void Atomics::signalled(int rank, const Message& message) {
  if (message.tag() >= adds_.size()) return job_.fail("a signal of an add that nobody has posted");
  Add& add = adds_[message.tag()];
  const std::string name = "the signal of add " + std::to_string(add.id);
  if (++add.signals > 1) job_.fail(name + " came twice");
  if (message.peer() != add.from || rank != add.to || message.operation() != Operation::atomic_arrived)
    job_.fail(name + " came as something else");
  if (add.is_out_of_bounds) job_.fail(name + " came although it was refused");
}

void Atomics::step() {
  std::vector<Add*> again;
  again.swap(refused_);
  for (Add* add : again)
    if (job_.is_alive(add->from)) job_.dice.chance(40) ? post(*add) : refused_.push_back(add);
}

/// The adds have left their sum; those that were told the old value make a chain without gap or overlap.
void Atomics::check_cell(int rank, std::size_t cell) {
  std::uint64_t sum = 0;
  std::vector<const Add*> chain;
  for (const Add& add : adds_) {
    if (add.to != rank || add.cell != cell || add.is_out_of_bounds) continue;
    sum += add.operand;
    chain.push_back(&add);
  }
  const std::string name = "cell " + std::to_string(cell) + " of rank " + std::to_string(rank);
  std::uint64_t there = 0;
  std::memcpy(&there, owned_[static_cast<std::size_t>(rank)]->region.bytes().data() + cell * sizeof there,
              sizeof there);
  if (there != sum)
    job_.fail(name + " is " + std::to_string(there) + ", but " + std::to_string(sum) + " was added");
  if (cell >= kCells / 2) return;
  std::ranges::sort(chain, {}, [](const Add* add) { return add->old; });
  std::uint64_t next = 0;
  for (const Add* add : chain) {
    if (add->old != next)
      job_.fail("add " + std::to_string(add->id) + " to " + name + " found " + std::to_string(add->old) +
                " instead of " + std::to_string(next));
    next = add->old + add->operand;
  }
}

std::string Atomics::missing() {
  for (const Add& add : adds_) {
    if (!job_.is_sound(add.from)) continue;
    const std::string name = "add " + std::to_string(add.id) + " from " + std::to_string(add.from) + " to " +
                             std::to_string(add.to);
    if (!add.is_accepted) return name + " was never accepted";
    if (add.state != Posted::State::ended) return name + " has not ended";
    if (job_.is_sound(add.to) && add.options.signal.generation() != 0 && !add.is_out_of_bounds &&
        add.signals == 0)
      return "the signal of " + name + " has not come";
  }
  if (!job_.has_death())
    for (int rank = 0; rank < job_.ranks(); ++rank)
      for (std::size_t cell = 0; cell < kCells; ++cell) check_cell(rank, cell);
  return {};
}

}  // namespace weft::test
