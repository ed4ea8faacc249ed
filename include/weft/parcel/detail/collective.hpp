// How collectives of tasks go on. Included by group.hpp.
//
// A collective is an instance on each member, named by group, tag and number. It is made by the member's call
// or by the first message of another, and advances when either comes: values go up a binomial tree to the
// first member, and down again, or, in a broadcast, down the tree of its root.
#pragma once

#include <weft/parcel/detail/runtime_part.hpp>
#include <weft/parcel/runtime.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

namespace weft::parcel {

/// The members of a group do not call the same collectives in the same order, or an operation has thrown.
/// what() says which, and who called what.
class WEFT_API CollectiveError : public Error {
 public:
  using Error::Error;
};

namespace detail {

struct GroupMembers {
  std::vector<int> ranks;
  int own = 0;  ///< this rank's index
  std::uint64_t id = 0;
  std::string name;
};
[[nodiscard]] WEFT_API std::vector<int> all_ranks(const Core& core);
/// Throws weft::Error for ranks that cannot be a group.
[[nodiscard]] WEFT_API std::shared_ptr<const GroupMembers> make_members(const Core& core,
                                                                        std::vector<int> ranks,
                                                                        std::string_view name);
/// The index of a rank; weft::Error unless it is a member.
[[nodiscard]] WEFT_API std::int32_t index_of(const GroupMembers& members, int rank);

enum class CollectiveKind : std::uint32_t { barrier, broadcast, reduce, allreduce, gather, allgather };

/// What all members' calls have in common. Travels with every message.
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::barrier;
  std::int32_t root = 0;   ///< index
  std::uint64_t type = 0;  ///< of the values
  friend bool operator==(const CollectiveCall&, const CollectiveCall&) = default;
  [[nodiscard]] bool goes_up() const noexcept { return kind != CollectiveKind::broadcast; }
  /// Everybody gets the value, along a tree.
  [[nodiscard]] bool goes_down() const noexcept {
    return kind != CollectiveKind::reduce && kind != CollectiveKind::gather;
  }
};
struct CollectiveKey {
  std::uint64_t group = 0;
  std::uint64_t tag = 0;
  std::uint64_t number = 0;
  friend auto operator<=>(const CollectiveKey&, const CollectiveKey&) = default;
};
struct CollectiveMessage {
  CollectiveKey key;
  CollectiveCall call;
  std::int32_t from = 0;      ///< index
  std::uint32_t is_down = 0;  ///< towards who waits for the result
};

/// A position in a binomial tree over `size` members whose root is `root`.
struct TreePosition {
  int parent = -1;
  std::vector<int> children;  ///< in the order of the members that they stand for
};
[[nodiscard]] WEFT_API TreePosition position_in_tree(int size, int root, int index);

/// One collective on one member. Guarded by Collectives::mutex.
struct CollectiveInstance {
  virtual ~CollectiveInstance() = default;
  /// Ends the future of a member that has called.
  virtual void fail(std::exception_ptr error) noexcept = 0;
  std::shared_ptr<const GroupMembers> members;  ///< null until this rank has called
  CollectiveCall call;
  int caller = -1;  ///< index of whom `call` is known
  std::string tag;
};

/// Two members whose calls differ.
struct CollectiveDifference {
  int first = -1;  ///< index
  CollectiveCall first_call;
  int second = -1;
  CollectiveCall second_call;
};

/// Why a collective has ended without values.
struct CollectiveFailure {
  std::exception_ptr error;
  int rank = -1;     ///< that has failed; or
  std::string text;  ///< for the other members
  bool is_told = false;
  std::optional<CollectiveDifference> difference;  ///< to be put in words by whoever knows the members
};

/// The collectives of a runtime that are under way.
class WEFT_API Collectives final : public RuntimePart {
 public:
  explicit Collectives(Core& core);
  void peer_failed(int rank) noexcept override;

  using Make = std::shared_ptr<CollectiveInstance> (*)();
  /// The instance of the next call of this rank, which now has its members; `key` gets its number. Throws the
  /// error with which the collective has ended already. The mutex is held, and given up before it throws.
  [[nodiscard]] std::shared_ptr<CollectiveInstance> join(std::unique_lock<std::mutex>& lock,
                                                         CollectiveKey& key, const CollectiveCall& call,
                                                         std::shared_ptr<const GroupMembers> members,
                                                         std::string_view tag, Make make);
  /// The instance that a message is for; null when there is none any more, or when it says something else
  /// than this rank, which is reported. The mutex is held, and given up when there is none.
  [[nodiscard]] std::shared_ptr<CollectiveInstance> find(std::unique_lock<std::mutex>& lock,
                                                         const CollectiveMessage& message, Make make);
  /// Whoever forgets an instance ends it: false when somebody else has. The mutex is held.
  [[nodiscard]] bool forget(const CollectiveKey& key) { return instances_.erase(key) != 0; }
  /// Ends the collective on this member with `error` and tells the others: a rank that has failed, or a text.
  void fail(const CollectiveKey& key, const CollectiveFailure& failure);
  /// Another member has ended it.
  void failed_elsewhere(const CollectiveKey& key, int failed_rank, const std::string& text);

  std::mutex mutex;

 private:
  /// This rank's calls with one tag of a group.
  struct Calls {
    std::uint64_t count = 0;
    std::shared_ptr<const GroupMembers> members;
    std::array<CollectiveCall, 4> recent{};  ///< by number
    std::array<bool, 4> has_failed{};
  };
  void note_failure(const CollectiveKey& key);
  [[nodiscard]] bool has_called(const CollectiveKey& key) const;
  /// A message that comes after this rank has ended the collective: another call than its own is reported.
  void look_at_late(std::unique_lock<std::mutex>& lock, const CollectiveMessage& message);
  /// Takes the instance out of the table, or remembers the failure for when this rank calls.
  [[nodiscard]] std::shared_ptr<CollectiveInstance> take(const CollectiveKey& key,
                                                         const CollectiveFailure& failure);
  void tell(const CollectiveKey& key, const GroupMembers& members, const CollectiveFailure& failure);

  Core& core_;
  std::map<CollectiveKey, std::shared_ptr<CollectiveInstance>> instances_;
  std::map<CollectiveKey, CollectiveFailure> ended_;                ///< before this rank has called
  std::map<std::pair<std::uint64_t, std::uint64_t>, Calls> calls_;  ///< by group and tag
  std::vector<bool> failed_;
};

/// Tells the members that a collective has failed.
struct EndCollective {
  void operator()(Runtime& runtime, CollectiveKey key, int failed_rank, std::string text) const {
    part_of<Collectives>(runtime.core())->failed_elsewhere(key, failed_rank, text);
  }
};

[[nodiscard]] inline std::uint64_t hash_of_name(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return hash;
}

template <class T>
struct CollectiveOf final : CollectiveInstance {
  using Finish = std::function<void(std::optional<T>, std::exception_ptr)>;
  static std::shared_ptr<CollectiveInstance> make() { return std::make_shared<CollectiveOf>(); }
  void fail(std::exception_ptr error) noexcept override { finish(std::nullopt, std::move(error)); }

  std::vector<std::pair<int, T>> arrived;  ///< from children, by index
  std::optional<T> own;
  std::optional<T> result;
  bool is_combined = false;
  std::function<T(T, T)> combine;
  Finish finish;
};

template <class T>
struct CollectiveArrival {
  void operator()(Runtime& runtime, CollectiveMessage message, T value) const;
};
/// Says what a member has called that sends nothing else.
template <class T>
struct CollectiveNotice {
  void operator()(Runtime& runtime, CollectiveMessage message) const;
};

/// Goes on as far as the messages allow. The mutex is held at the begin only.
template <class T>
void advance(Runtime& runtime, Collectives& all, std::unique_lock<std::mutex>& lock, const CollectiveKey& key,
             const std::shared_ptr<CollectiveOf<T>>& self) {
  if (!self->members) return;
  const GroupMembers& members = *self->members;
  const CollectiveCall call = self->call;
  const TreePosition tree =
      position_in_tree(static_cast<int>(members.ranks.size()), call.goes_up() ? 0 : call.root, members.own);
  const auto send = [&](int index, bool is_down, T value) {
    runtime.apply(members.ranks[static_cast<std::size_t>(index)], CollectiveArrival<T>{},
                  CollectiveMessage{key, call, members.own, is_down ? 1U : 0U}, std::move(value));
  };
  bool is_for_root = false;
  if (call.goes_up() && !self->is_combined) {
    const auto value_of = [](auto& arrived, int child) {
      return std::find_if(arrived.begin(), arrived.end(),
                          [child](const auto& entry) { return entry.first == child; });
    };
    for (const int child : tree.children)
      if (value_of(self->arrived, child) == self->arrived.end()) return;
    self->is_combined = true;
    auto arrived = std::move(self->arrived);
    T value = std::move(*self->own);
    lock.unlock();
    for (const int child : tree.children)
      value = self->combine(std::move(value), std::move(value_of(arrived, child)->second));
    if (tree.parent >= 0) {
      send(tree.parent, false, std::move(value));
    } else if (!call.goes_down() && call.root != members.own) {
      send(call.root, true, std::move(value));
    } else {
      is_for_root = true;
    }
    lock.lock();
    if (is_for_root) self->result = std::move(value);
    // Who has given its value away and gets none is done.
    if (!is_for_root && !call.goes_down() && call.root != members.own) {
      const bool is_last = all.forget(key);
      lock.unlock();
      if (is_last) self->finish(std::nullopt, nullptr);
      return;
    }
  }
  if (!self->result) return;
  T value = std::move(*self->result);
  const bool is_last = all.forget(key);
  lock.unlock();
  if (!is_last) return;
  if (call.goes_down())
    for (const int child : tree.children) send(child, true, value);
  self->finish(std::move(value), nullptr);
}

/// Does `what`, whose exceptions end the collective on all members.
template <class What>
void or_fail(Runtime& runtime, Collectives& all, std::unique_lock<std::mutex>& lock, const CollectiveKey& key,
             const What& what) {
  CollectiveFailure failure;
  failure.text = "an exception that is no std::exception";
  try {
    what();
    return;
  } catch (const std::exception& thrown) {
    failure.error = std::current_exception();
    failure.text = thrown.what();
  } catch (...) {
    failure.error = std::current_exception();
  }
  if (lock.owns_lock()) lock.unlock();
  failure.text =
      "rank " + std::to_string(runtime.rank()) + " could not go on with a collective: " + failure.text;
  all.fail(key, failure);
}

template <class T>
void CollectiveArrival<T>::operator()(Runtime& runtime, CollectiveMessage message, T value) const {
  const auto all = part_of<Collectives>(runtime.core());
  std::unique_lock lock(all->mutex);
  const auto self =
      std::static_pointer_cast<CollectiveOf<T>>(all->find(lock, message, &CollectiveOf<T>::make));
  if (!self) return;
  if (message.is_down != 0)
    self->result.emplace(std::move(value));
  else
    self->arrived.emplace_back(message.from, std::move(value));
  or_fail(runtime, *all, lock, message.key, [&] { advance<T>(runtime, *all, lock, message.key, self); });
}

template <class T>
void CollectiveNotice<T>::operator()(Runtime& runtime, CollectiveMessage message) const {
  const auto all = part_of<Collectives>(runtime.core());
  std::unique_lock lock(all->mutex);
  static_cast<void>(all->find(lock, message, &CollectiveOf<T>::make));
}

/// The call of this rank.
template <class T>
void start_collective(Runtime& runtime, std::shared_ptr<const GroupMembers> members, CollectiveCall call,
                      std::string_view tag, std::optional<T> value, std::function<T(T, T)> combine,
                      typename CollectiveOf<T>::Finish finish) {
  call.type = hash_of_name(typeid(T).name());
  const auto all = part_of<Collectives>(runtime.core());
  CollectiveKey key{members->id, tag.empty() ? 0 : hash_of_name(tag), 0};
  std::unique_lock lock(all->mutex);
  std::shared_ptr<CollectiveOf<T>> self;
  try {
    self = std::static_pointer_cast<CollectiveOf<T>>(
        all->join(lock, key, call, members, tag, &CollectiveOf<T>::make));
  } catch (...) {
    if (lock.owns_lock()) lock.unlock();
    finish(std::nullopt, std::current_exception());
    return;
  }
  self->combine = std::move(combine);
  self->finish = std::move(finish);
  if (call.goes_up())
    self->own = std::move(value);
  else if (value)
    self->result = std::move(value);
  const bool only_listens = !call.goes_up() && members->own != call.root && !self->result;
  or_fail(runtime, *all, lock, key, [&] { advance<T>(runtime, *all, lock, key, self); });
  if (lock.owns_lock()) lock.unlock();
  if (!only_listens || members->own == 0) return;
  const int parent = position_in_tree(static_cast<int>(members->ranks.size()), 0, members->own).parent;
  runtime.apply(members->ranks[static_cast<std::size_t>(parent)], CollectiveNotice<T>{},
                CollectiveMessage{key, call, members->own, 0});
}

template <class T>
auto give_value(Promise<T> promise) {
  return [promise = std::make_shared<Promise<T>>(std::move(promise))](std::optional<T> value,
                                                                      std::exception_ptr error) {
    if (error)
      promise->set_exception(std::move(error));
    else
      promise->set(value ? std::move(*value) : T{});
  };
}
template <class T>
auto give_optional(Promise<std::optional<T>> promise) {
  return [promise = std::make_shared<Promise<std::optional<T>>>(std::move(promise))](
             std::optional<T> value, std::exception_ptr error) {
    if (error)
      promise->set_exception(std::move(error));
    else
      promise->set(std::move(value));
  };
}
inline auto give_nothing(Promise<void> promise) {
  return [promise = std::make_shared<Promise<void>>(std::move(promise))](std::optional<std::monostate>,
                                                                         std::exception_ptr error) {
    if (error)
      promise->set_exception(std::move(error));
    else
      promise->set();
  };
}

}  // namespace detail
}  // namespace weft::parcel
