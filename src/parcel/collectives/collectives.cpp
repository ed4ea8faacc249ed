#include <weft/parcel/detail/collective.hpp>

#include <cstdio>
#include <utility>

#include "parcel/runtime/core.hpp"

namespace weft::parcel::detail {

namespace {

std::string text_of(const GroupMembers& members) {
  constexpr std::size_t kShown = 8;
  std::string text = "the group ";
  if (!members.name.empty()) text += "'" + members.name + "' ";
  text += "of rank";
  if (members.ranks.size() > 1) text += "s";
  for (std::size_t index = 0; index < members.ranks.size() && index < kShown; ++index)
    text += (index == 0 ? " " : ", ") + std::to_string(members.ranks[index]);
  if (members.ranks.size() > kShown)
    text += " and " + std::to_string(members.ranks.size() - kShown) + " more";
  return text;
}

std::string text_of(const CollectiveCall& call, const GroupMembers& members) {
  const std::string root = call.root >= 0 && static_cast<std::size_t>(call.root) < members.ranks.size()
                               ? std::to_string(members.ranks[static_cast<std::size_t>(call.root)])
                               : "(none)";
  switch (call.kind) {
    case CollectiveKind::barrier:
      return "barrier";
    case CollectiveKind::broadcast:
      return "broadcast from rank " + root;
    case CollectiveKind::reduce:
      return "reduce to rank " + root;
    case CollectiveKind::allreduce:
      return "allreduce";
    case CollectiveKind::gather:
      return "gather to rank " + root;
    case CollectiveKind::allgather:
      return "allgather";
  }
  return "a collective that does not exist";
}

std::string rank_at(const GroupMembers& members, int index) {
  return index >= 0 && static_cast<std::size_t>(index) < members.ranks.size()
             ? "rank " + std::to_string(members.ranks[static_cast<std::size_t>(index)])
             : "a rank that is no member";
}

CollectiveFailure failure_of(const CollectiveKey& key, const GroupMembers& members, const std::string& tag,
                             const CollectiveDifference& difference) {
  const auto& [first, first_call, second, second_call] = difference;
  std::string text = "collective " + std::to_string(key.number + 1) +
                     (tag.empty() ? "" : " with tag '" + tag + "'") + " of " + text_of(members) + ": " +
                     rank_at(members, first) + " calls " + text_of(first_call, members) + ", " +
                     rank_at(members, second) + " calls " + text_of(second_call, members);
  if (first_call.kind == second_call.kind && first_call.root == second_call.root)
    text += " of values of another type";
  text += "; all members call the same, in the same order";
  return {std::make_exception_ptr(CollectiveError(text)), -1, text, false, {}};
}

}  // namespace

Collectives::Collectives(Core& core) : core_(core), failed_(static_cast<std::size_t>(core.port().size())) {
  for (int rank = 0; rank < core.port().size(); ++rank)
    failed_[static_cast<std::size_t>(rank)] = core.port().has_failed(rank);
}

bool Collectives::has_called(const CollectiveKey& key) const {
  const auto calls = calls_.find({key.group, key.tag});
  return calls != calls_.end() && calls->second.count > key.number;
}

std::shared_ptr<CollectiveInstance> Collectives::join(std::unique_lock<std::mutex>& lock, CollectiveKey& key,
                                                      const CollectiveCall& call,
                                                      std::shared_ptr<const GroupMembers> members,
                                                      std::string_view tag, Make make) {
  Calls& calls = calls_[{key.group, key.tag}];
  key.number = calls.count++;
  calls.recent[key.number % calls.recent.size()] = call;
  calls.has_failed[key.number % calls.recent.size()] = false;
  calls.members = members;
  CollectiveFailure failure;
  if (const auto ended = ended_.find(key); ended != ended_.end()) {
    failure = std::move(ended->second);
    ended_.erase(ended);
    if (failure.difference) failure = failure_of(key, *members, std::string(tag), *failure.difference);
  }
  for (const int rank : members->ranks)
    if (!failure.error && failed_[static_cast<std::size_t>(rank)])
      failure = {std::make_exception_ptr(PeerFailed(rank)), rank, {}, false, {}};
  std::shared_ptr<CollectiveInstance>& instance = instances_[key];
  if (!failure.error && instance && instance->call != call)
    failure =
        failure_of(key, *members, std::string(tag), {instance->caller, instance->call, members->own, call});
  if (failure.error) {
    instances_.erase(key);
    note_failure(key);
    lock.unlock();
    tell(key, *members, failure);
    std::rethrow_exception(failure.error);
  }
  if (!instance) instance = make();
  instance->call = call;
  instance->caller = members->own;
  instance->tag = tag;
  instance->members = std::move(members);
  return instance;
}

std::shared_ptr<CollectiveInstance> Collectives::find(std::unique_lock<std::mutex>& lock,
                                                      const CollectiveMessage& message, Make make) {
  if (message.call.kind > CollectiveKind::allgather)
    Reader::malformed("a message names a collective that does not exist");
  const auto found = instances_.find(message.key);
  if (found == instances_.end()) {
    if (has_called(message.key)) {
      look_at_late(lock, message);
      return nullptr;
    }
    if (ended_.contains(message.key)) return nullptr;
    auto made = make();
    made->call = message.call;
    made->caller = message.from;
    instances_.emplace(message.key, made);
    return made;
  }
  const auto instance = found->second;
  if (instance->call == message.call) return instance;
  const CollectiveDifference difference{message.from, message.call, instance->caller, instance->call};
  CollectiveFailure failure;
  if (instance->members)
    failure = failure_of(message.key, *instance->members, instance->tag, difference);
  else
    failure.difference = difference;  // who the members are will be known when this rank calls
  lock.unlock();
  fail(message.key, failure);
  return nullptr;
}

void Collectives::note_failure(const CollectiveKey& key) {
  Calls& calls = calls_[{key.group, key.tag}];
  if (calls.count - key.number <= calls.recent.size())
    calls.has_failed[key.number % calls.recent.size()] = true;
}

void Collectives::look_at_late(std::unique_lock<std::mutex>& lock, const CollectiveMessage& message) {
  const Calls& calls = calls_[{message.key.group, message.key.tag}];
  if (calls.count - message.key.number > calls.recent.size()) return;
  const CollectiveCall own = calls.recent[message.key.number % calls.recent.size()];
  if (own == message.call || calls.has_failed[message.key.number % calls.recent.size()]) return;
  const auto members = calls.members;
  CollectiveFailure failure =
      failure_of(message.key, *members, {}, {message.from, message.call, members->own, own});
  // What this rank has got is gone: its next call says it.
  CollectiveKey next = message.key;
  next.number = calls.count;
  ended_.emplace(next, failure);
  lock.unlock();
  std::fprintf(stderr, "weft: rank %d: parcel: %s\n", core_.port().rank(), failure.text.c_str());
  tell(message.key, *members, failure);
}

std::shared_ptr<CollectiveInstance> Collectives::take(const CollectiveKey& key,
                                                      const CollectiveFailure& failure) {
  const std::lock_guard lock(mutex);
  const auto found = instances_.find(key);
  std::shared_ptr<CollectiveInstance> instance;
  if (found != instances_.end()) {
    instance = std::move(found->second);
    instances_.erase(found);
  }
  if (instance && instance->members) {
    note_failure(key);
    return instance;
  }
  if (!has_called(key)) ended_.emplace(key, failure);
  return nullptr;
}

void Collectives::tell(const CollectiveKey& key, const GroupMembers& members,
                       const CollectiveFailure& failure) {
  if (failure.is_told) return;
  Runtime& runtime = core_.runtime();
  for (const int rank : members.ranks)
    if (rank != runtime.rank() && !core_.port().has_failed(rank))
      runtime.apply(rank, EndCollective{}, key, failure.rank, failure.text);
}

void Collectives::fail(const CollectiveKey& key, const CollectiveFailure& failure) {
  const auto instance = take(key, failure);
  if (!instance) return;
  tell(key, *instance->members, failure);
  instance->fail(failure.error);
}

void Collectives::failed_elsewhere(const CollectiveKey& key, int failed_rank, const std::string& text) {
  const std::exception_ptr error = failed_rank >= 0 ? std::make_exception_ptr(PeerFailed(failed_rank))
                                                    : std::make_exception_ptr(CollectiveError(text));
  if (const auto instance = take(key, {error, failed_rank, text, true, {}})) instance->fail(error);
}

void Collectives::peer_failed(int rank) noexcept {
  std::vector<CollectiveKey> keys;
  {
    const std::lock_guard lock(mutex);
    failed_[static_cast<std::size_t>(rank)] = true;
    for (const auto& [key, instance] : instances_)
      if (instance->members)
        for (const int member : instance->members->ranks)
          if (member == rank) keys.push_back(key);
  }
  // As tasks: a worker that moves communication must not send.
  for (const CollectiveKey& key : keys)
    schedule_call(core_.scheduler(), [this, key, rank]() noexcept {
      fail(key, {std::make_exception_ptr(PeerFailed(rank)), rank, {}, false, {}});
    });
}

}  // namespace weft::parcel::detail
