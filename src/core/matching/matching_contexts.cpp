#include "core/matching/matching_contexts.hpp"

#include <weft/error.hpp>

#include <bit>

namespace weft::core {

namespace {

constexpr int kAgreedBits = 31;

void check_count(std::uint32_t count) {
  if (count == 0 || count > MatchingContexts::kMost)
    throw Error(ErrorClass::engine, "MatchingContext: count " + std::to_string(count) +
                                        " is out of range: 1 to " + std::to_string(MatchingContexts::kMost));
}

}  // namespace

MatchingContexts::MatchingContexts(int ranks) noexcept
    : ranks_(ranks),
      serials_(std::uint32_t{1} << (kAgreedBits - std::bit_width(static_cast<unsigned>(ranks - 1)))),
      gone_(serials_) {}

std::uint16_t MatchingContexts::engine_of(ContextNumbers numbers, MatchOrder order) noexcept {
  if (order == MatchOrder::unordered) return weft::detail::kUnorderedContexts;
  // Several engines, so that threads with contexts of their own seldom meet in one.
  const std::uint32_t position = numbers.first >> std::bit_width(numbers.count - 1);
  return static_cast<std::uint16_t>(weft::detail::kOrderedContexts +
                                    position % weft::detail::kOrderedContextEngines);
}

std::string MatchingContexts::name_of(ContextNumbers numbers) {
  const bool by_key = (numbers.first & weft::detail::kContextByKey) != 0;
  return std::string("MatchingContext (") + (by_key ? "key " : "number ") +
         std::to_string(numbers.first & ~weft::detail::kContextByKey) + ")";
}

auto MatchingContexts::find(std::uint32_t first, std::uint32_t count) const noexcept
    -> std::map<std::uint32_t, Context>::const_iterator {
  auto found = contexts_.upper_bound(first + (count - 1));
  if (found == contexts_.begin()) return contexts_.end();
  --found;
  return found->first + (found->second.count - 1) >= first ? found : contexts_.end();
}

ContextNumbers MatchingContexts::reserve(int own, std::uint32_t count) {
  check_count(count);
  const std::uint32_t size = std::bit_ceil(count);
  const std::uint32_t begin = static_cast<std::uint32_t>(own) * serials_;
  const std::lock_guard lock(mutex_);
  // Those that were used last come last: the search goes on where the last one ended.
  for (std::uint32_t seen = 0; size <= serials_ && seen < serials_;) {
    std::uint32_t serial = (next_ + (size - 1)) & ~(size - 1);
    if (serial >= serials_) serial = 0;
    const auto other = find(begin + serial, size);
    // Wraps round at the end of the numbers, and counts what it passes.
    const std::uint32_t behind =
        other == contexts_.end() ? serial + size : other->first - begin + other->second.count;
    seen += behind > next_ ? behind - next_ : serials_ - next_ + behind;
    next_ = behind % serials_;
    if (other != contexts_.end()) continue;
    contexts_[begin + serial].count = count;
    return {begin + serial, count};
  }
  throw Error(ErrorClass::engine, "MatchingContext: rank " + std::to_string(own) + " has no " +
                                      std::to_string(count) + " numbers left of the " +
                                      std::to_string(serials_) +
                                      " that it gives to matching contexts: destroy some first");
}

void MatchingContexts::give_back(ContextNumbers numbers) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = contexts_.find(numbers.first);
  if (found != contexts_.end() && found->second.state == nullptr) contexts_.erase(found);
}

weft::detail::ContextState& MatchingContexts::take_state() {
  if (free_states_.empty()) {
    // So that close() does not allocate.
    if (free_states_.capacity() == states_.size()) free_states_.reserve(2 * states_.size() + 8);
    return states_.emplace_back();
  }
  weft::detail::ContextState* const state = free_states_.back();
  free_states_.pop_back();
  return *state;
}

weft::detail::ContextState& MatchingContexts::open(const weft::detail::RuntimeState& runtime,
                                                   ContextNumbers numbers,
                                                   const MatchingContextOptions& options) {
  check_count(numbers.count);
  // Number and tag together are never any_tag, and numbers do not wrap round.
  if (numbers.first + (numbers.count - 1) < numbers.first ||
      numbers.first + (numbers.count - 1) == ~std::uint32_t{0})
    throw Error(ErrorClass::engine,
                name_of(numbers) + ": there are no " + std::to_string(numbers.count) + " numbers from here");
  if ((numbers.first & weft::detail::kContextByKey) == 0 &&
      numbers.first / serials_ >= static_cast<std::uint32_t>(ranks_))
    throw Error(ErrorClass::engine,
                name_of(numbers) + ": no rank has reserved the number (MatchingContext::reserve)");
  Context context;
  context.count = numbers.count;
  context.needs_all_members = options.needs_all_members;
  if (options.needs_all_members) context.members.assign(options.members.begin(), options.members.end());
  const std::lock_guard lock(mutex_);
  const auto other = find(numbers.first, numbers.count);
  const bool is_reserved = other != contexts_.end() && other->second.state == nullptr &&
                           other->first == numbers.first && other->second.count == numbers.count;
  if (other != contexts_.end() && !is_reserved) {
    const std::string name = name_of({other->first, other->second.count});
    if ((numbers.first & weft::detail::kContextByKey) != 0)
      throw Error(ErrorClass::engine, name_of(numbers) + ": the key is in use by " +
                                          (other->first == numbers.first ? "another MatchingContext" : name) +
                                          " of this runtime; choose another key, the same on every member");
    throw Error(ErrorClass::engine, name_of(numbers) + ": " + name +
                                        " of this runtime has the number still, which rank " +
                                        std::to_string(numbers.first / serials_) +
                                        " has given again: every member destroys a context before that");
  }
  weft::detail::ContextState& state = take_state();
  context.state = &state;
  contexts_.insert_or_assign(numbers.first, std::move(context));
  if (options.needs_all_members) needing_.fetch_add(1, std::memory_order_relaxed);
  state.runtime = &runtime;
  state.engine = engine_of(numbers, options.order);
  state.first.store(numbers.first, std::memory_order_relaxed);
  state.count.store(numbers.count, std::memory_order_relaxed);
  return state;
}

bool MatchingContexts::begin_to_close(const weft::detail::ContextState& state) noexcept {
  const ContextNumbers numbers{state.first.load(std::memory_order_relaxed),
                               state.count.load(std::memory_order_relaxed)};
  // A key is used again whenever the program does so: what arrives in it may be early.
  if ((numbers.first & weft::detail::kContextByKey) != 0) return false;
  const std::lock_guard lock(mutex_);
  contexts_.find(numbers.first)->second.is_closing = true;
  gone_.add(numbers);
  return true;
}

bool MatchingContexts::is_gone(std::uint32_t number) const noexcept {
  const std::lock_guard lock(mutex_);
  if (!gone_.has(number)) return false;
  // Numbers that have been given again are not late.
  const auto now = find(number, 1);
  return now == contexts_.end() || now->second.is_closing;
}

void MatchingContexts::close(weft::detail::ContextState& state) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = contexts_.find(state.first.load(std::memory_order_relaxed));
  if (found->second.needs_all_members) needing_.fetch_sub(1, std::memory_order_relaxed);
  if (found->second.has_lost_one) lost_.fetch_sub(1, std::memory_order_relaxed);
  contexts_.erase(found);
  state.count.store(0, std::memory_order_relaxed);
  free_states_.push_back(&state);
}

std::string MatchingContexts::first_open() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [first, context] : contexts_)
    if (context.state != nullptr) return name_of({first, context.count});
  return {};
}

bool MatchingContexts::needs_members(std::uint32_t number) const noexcept {
  if (!any_needs_members()) return false;
  const std::lock_guard lock(mutex_);
  const auto found = find(number, 1);
  return found != contexts_.end() && found->second.needs_all_members;
}

bool MatchingContexts::has_lost_a_member(std::uint32_t number) const noexcept {
  if (lost_.load(std::memory_order_relaxed) == 0) return false;
  const std::lock_guard lock(mutex_);
  const auto found = find(number, 1);
  return found != contexts_.end() && found->second.has_lost_one;
}

}  // namespace weft::core
