#include "conformance/protocol/accesses.hpp"

#include <algorithm>
#include <functional>

namespace weft::test {

namespace {

constexpr std::uint16_t kSignals = 20;

}  // namespace

Accesses::Accesses(Job& job) : job_(job), cell_(4 * job.packet_size() + 64) {
  const auto ended_here = [this](Access& access, Message& message) {
    if (message.operation() != (access.is_put ? Operation::put : Operation::get) ||
        message.peer() != access.to)
      job_.fail("access " + std::to_string(access.id) + " ended as something else");
    ended(access, message.outcome());
  };
  endings_ = std::make_unique<Endings<Access, decltype(ended_here)>>(job, "access", ended_here);
  for (int rank = 0; rank < job.ranks(); ++rank) {
    owned_.push_back(std::make_unique<Owned>());
    Owned& owned = *owned_.back();
    const std::size_t size = kCells * cell_;
    if (job.dice.chance(50)) {
      owned.memory.resize(size);
      owned.region = MemoryRegion(job.runtime(rank), owned.memory);
    } else {
      owned.region = MemoryRegion::allocate(job.runtime(rank), size);
    }
    fill(owned.region.bytes(), static_cast<std::uint64_t>(rank));
    owned.expected.assign(owned.region.bytes().begin(), owned.region.bytes().end());
    owned.is_busy.resize(kCells);
    using Signalled = Handler<std::function<void(Message&)>>;
    auto signals = std::make_unique<Signalled>([this, rank](Message& message) { signalled(rank, message); });
    job.runtime(rank).expose(*signals, {.id = kSignals});
    owned.signals = std::move(signals);
  }
}

Accesses::~Accesses() = default;

void Accesses::close() {
  for (auto& owned : owned_) owned->region = MemoryRegion();
}

void Accesses::begin() {
  const int from = job_.rank_by_chance();
  const int to = job_.rank_by_chance();
  Owned& owned = *owned_[static_cast<std::size_t>(to)];
  const std::size_t cell = job_.dice.below(kCells);
  if (!job_.is_alive(from) || owned.is_busy[cell]) return;
  owned.is_busy[cell] = true;
  Access& access = accesses_.emplace_back();
  access.id = accesses_.size() - 1;
  access.is_put = job_.dice.chance(50);
  access.from = from;
  access.device = job_.device_by_chance();
  access.to = to;
  access.cell = cell;
  access.size = std::min(job_.size_by_chance(), cell_ - 16);
  access.offset = cell * cell_ + job_.dice.below(cell_ - access.size + 1);
  if (access.size != 0 && job_.dice.chance(5)) {
    access.is_out_of_bounds = true;
    access.offset = kCells * cell_ - access.size + 1 + job_.dice.below(100);
  }
  access.bytes = payload(access.size, access.id + 5000);
  access.options.completion = endings_.get();
  access.options.user_data = &access;
  if (job_.dice.chance(40)) {
    access.options.signal = RemoteCompletion(kSignals, 1, static_cast<std::uint8_t>(job_.device_by_chance()));
    access.options.tag = static_cast<std::uint32_t>(access.id) + (access.id % 2 == 0 ? 0 : 1U << 20);
  }
  access.options.may_retry = job_.dice.chance(60);
  access.options.may_complete_now = job_.dice.chance(40);
  post(access);
}

void Accesses::post(Access& access) {
  const RemoteAddress place = owned_[static_cast<std::size_t>(access.to)]->region.remote().at(access.offset);
  const Status status = job_.with(access.from, access.device, [&](auto& endpoint) {
    return access.is_put ? endpoint.post_put(access.to, place, access.bytes, access.options)
                         : endpoint.post_get(access.to, place, access.bytes, access.options);
  });
  if (status.is_retry()) return refused_.push_back(&access);
  access.is_accepted = true;
  if (status.is_done()) {
    if (access.state == Posted::State::ended || !access.options.may_complete_now)
      job_.fail("access " + std::to_string(access.id) + " is done and signalled");
    access.state = Posted::State::ended;
    ended(access, Outcome::ok);
  }
}

void Accesses::ended(Access& access, Outcome outcome) {
  const std::string name = "access " + std::to_string(access.id);
  Owned& owned = *owned_[static_cast<std::size_t>(access.to)];
  const auto place = owned.expected.begin() + static_cast<std::ptrdiff_t>(access.cell * cell_);
  if (!job_.is_sound(access.from) || !job_.is_sound(access.to)) {
    // The cell of a rank that dies stays busy.
    if (outcome == Outcome::ok && access.is_out_of_bounds)
      job_.fail(name + " beyond the end of its region ended well");
    return;
  }
  if (outcome != (access.is_out_of_bounds ? Outcome::refused : Outcome::ok))
    return job_.fail(name + " ended as " + name_of(outcome));
  if (outcome == Outcome::ok) {
    const auto target = owned.expected.begin() + static_cast<std::ptrdiff_t>(access.offset);
    if (access.is_put) {
      std::copy(access.bytes.begin(), access.bytes.end(), target);
    } else if (!std::equal(access.bytes.begin(), access.bytes.end(), target)) {
      job_.fail(name + ", a get of " + std::to_string(access.size) + " bytes, got others than are there");
    }
  }
  const auto real = owned.region.bytes().begin() + static_cast<std::ptrdiff_t>(access.cell * cell_);
  if (!std::equal(place, place + static_cast<std::ptrdiff_t>(cell_), real))
    job_.fail(name + ", a " + (access.is_put ? "put" : "get") + " of " + std::to_string(access.size) +
              " bytes, has left others than it should have");
  if (!wants_signal(access) || access.signals != 0 || access.is_out_of_bounds) release_cell(access);
  if (access.is_put) fill(access.bytes, ~access.id);
}

void Accesses::signalled(int rank, const Message& message) {
  const std::uint64_t id = message.tag() & 0xfffff;
  if (id >= accesses_.size()) return job_.fail("a signal of an access that nobody has posted");
  Access& access = accesses_[id];
  const std::string name = "the signal of access " + std::to_string(id);
  if (++access.signals > 1) job_.fail(name + " came twice");
  if (message.peer() != access.from || rank != access.to || message.tag() != access.options.tag ||
      message.operation() != (access.is_put ? Operation::put_arrived : Operation::get_arrived))
    job_.fail(name + " came as something else");
  if (access.is_out_of_bounds) job_.fail(name + " came although it was refused");
  if (access.is_put && access.state != Posted::State::ended) {
    const auto bytes =
        owned_[static_cast<std::size_t>(rank)]->region.bytes().subspan(access.offset, access.size);
    if (!matches(bytes, access.id + 5000)) job_.fail(name + " came before its bytes");
  }
  if (access.state == Posted::State::ended && job_.is_sound(access.from) && job_.is_sound(access.to))
    release_cell(access);
}

void Accesses::release_cell(Access& access) {
  owned_[static_cast<std::size_t>(access.to)]->is_busy[access.cell] = false;
}

void Accesses::step() {
  std::vector<Access*> again;
  again.swap(refused_);
  for (Access* access : again)
    if (job_.is_alive(access->from)) job_.dice.chance(40) ? post(*access) : refused_.push_back(access);
}

std::string Accesses::missing() {
  for (const Access& access : accesses_) {
    if (!job_.is_sound(access.from)) continue;
    const std::string name = std::string(access.is_put ? "put " : "get ") + std::to_string(access.id) +
                             " of " + std::to_string(access.size) + " bytes from " +
                             std::to_string(access.from) + " to " + std::to_string(access.to);
    if (!access.is_accepted) return name + " was never accepted";
    if (access.state != Posted::State::ended) return name + " has not ended";
    if (job_.is_sound(access.to) && wants_signal(access) && !access.is_out_of_bounds && access.signals == 0)
      return "the signal of " + name + " has not come";
  }
  for (int rank = 0; rank < job_.ranks(); ++rank) {
    const Owned& owned = *owned_[static_cast<std::size_t>(rank)];
    const auto bytes = owned.region.bytes();
    if (!job_.has_death() && !std::equal(bytes.begin(), bytes.end(), owned.expected.begin()))
      job_.fail("the region of rank " + std::to_string(rank) + " has other bytes than were put there");
  }
  return {};
}

}  // namespace weft::test
