// Arrays of objects that are spread over the ranks.
#pragma once

#include <weft/parcel/object.hpp>
#include <weft/parcel/when.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft::parcel {

/// Each rank has a row of elements that lie behind one another.
struct BlockMap {
  int operator()(std::uint64_t index, std::uint64_t count, int ranks) const noexcept {
    const std::uint64_t all = static_cast<std::uint64_t>(ranks);
    const std::uint64_t least = count / all;
    const std::uint64_t longer = count % all;  // ranks that have one more
    const std::uint64_t in_longer = longer * (least + 1);
    return static_cast<int>(index < in_longer ? index / (least + 1) : longer + (index - in_longer) / least);
  }
};
/// The ranks take turns.
struct CyclicMap {
  int operator()(std::uint64_t index, std::uint64_t, int ranks) const noexcept {
    return static_cast<int>(index % static_cast<std::uint64_t>(ranks));
  }
};

namespace detail {

/// The elements of one rank.
template <class T, class Map>
class ObjectBlock {
 public:
  template <class... Arguments>
  ObjectBlock(std::uint64_t count, int rank, int ranks, Arguments... arguments) {
    for (std::uint64_t index = 0; index < count; ++index) {
      if (Map{}(index, count, ranks) != rank) continue;
      if constexpr (std::is_constructible_v<T, std::uint64_t, const Arguments&...>)
        elements_.try_emplace(index, std::make_unique<T>(index, arguments...));
      else
        elements_.try_emplace(index, std::make_unique<T>(arguments...));
    }
  }

  template <auto Member, class... Values>
  decltype(auto) call(std::uint64_t index, Values... values) {
    return (elements_.at(index).get()->*Member)(std::move(values)...);
  }
  template <auto Member, class... Values>
  Future<void> call_all(Values... values) {
    Runtime& runtime = *Runtime::current();
    std::vector<Future<void>> ended;
    for (auto& [index, element] : elements_)
      ended.push_back(runtime.spawn([&each = *element, values...]() mutable -> Future<void> {
        return nothing_of([&] { return (each.*Member)(std::move(values)...); });
      }));
    return when_all(std::move(ended));
  }
  /// The results of the elements of this rank, combined in their order.
  template <auto Member, class Operation, class... Values>
  Future<std::optional<typename FutureValue<typename Signature<decltype(Member)>::Result>::type>> fold(
      Values... values) {
    using Result = typename FutureValue<typename Signature<decltype(Member)>::Result>::type;
    Runtime& runtime = *Runtime::current();
    std::vector<Future<Result>> results;
    for (auto& [index, element] : elements_)
      results.push_back(runtime.spawn(
          [&each = *element, values...]() mutable { return (each.*Member)(std::move(values)...); }));
    return when_all(std::move(results)).then([](std::vector<Result> all) {
      std::optional<Result> total;
      for (Result& each : all)
        total = total ? Operation{}(std::move(*total), std::move(each)) : std::move(each);
      return total;
    });
  }

 private:
  template <class Function>
  static Future<void> nothing_of(const Function& function) {
    using Returned = decltype(function());
    if constexpr (FutureValue<Returned>::is_future)
      return function().then([](auto&&...) {});
    else
      return static_cast<void>(function()), make_ready();
  }
  std::map<std::uint64_t, std::unique_ptr<T>> elements_;
};

}  // namespace detail

/// Objects 0 to size() - 1, each on the rank that `Map` says: BlockMap, CyclicMap, or an empty type of the
/// program's with `int operator()(std::uint64_t index, std::uint64_t count, int ranks) const`. Copies name
/// the same objects, and may travel in parcels; the objects are destroyed when no rank has a copy any more.
/// Any thread.
///
/// After Charm++'s chare arrays, whose elements are called by index from anywhere; elements do not migrate,
/// and the size is fixed. An empty array is not the default-constructed one, which names nothing.
template <class T, class Map = BlockMap>
class ObjectArray {
  static_assert(std::is_empty_v<Map>, "weft: a map has no members, as every rank makes its own");

 public:
  ObjectArray() noexcept = default;
  ObjectArray(std::uint64_t count, std::vector<Object<detail::ObjectBlock<T, Map>>> blocks)
      : count_(count), blocks_(std::make_shared<Blocks>(std::move(blocks))) {}

  [[nodiscard]] std::uint64_t size() const noexcept { return count_; }
  /// The rank of an element; weft::Error when there is none of this index.
  [[nodiscard]] int rank_of(std::uint64_t index) const {
    if (index >= count_)
      throw Error("element " + std::to_string(index) + " of an array of " + std::to_string(count_) +
                  " objects was named; the last one is " +
                  (count_ == 0 ? std::string("none") : std::to_string(count_ - 1)));
    return Map{}(index, count_, static_cast<int>(blocks_->size()));
  }

  /// Calls a member function of an element: array.async(7, action<&Cell::add>, 3).
  template <auto Member, class... Arguments>
  auto async(std::uint64_t index, Action<Member>, Arguments&&... arguments) const {
    return on<Member>(std::type_identity<Values<Member>>(), static_cast<std::size_t>(rank_of(index)), index,
                      std::forward<Arguments>(arguments)...);
  }
  /// Calls it of all elements, with copies of the arguments, as a task each.
  template <auto Member, class... Arguments>
  Future<void> async_all(Action<Member>, const Arguments&... arguments) const {
    std::vector<Future<void>> ended;
    for (const auto& block : blocks())
      ended.push_back(all_of<Member>(std::type_identity<Values<Member>>(), block, arguments...));
    return when_all(std::move(ended));
  }
  /// The results of all elements, combined by `operation`, an empty type: a lambda without captures,
  /// std::plus<>. In the order of the ranks, and of the indices within each; with BlockMap that is the order
  /// of the elements. Nothing when there are no elements. One message to and from each rank.
  template <auto Member, class Operation, class... Arguments>
  auto reduce(Action<Member>, Operation, const Arguments&... arguments) const {
    static_assert(std::is_empty_v<Operation>, "weft: an operation that travels cannot have captures");
    using Result = typename detail::FutureValue<typename detail::Signature<decltype(Member)>::Result>::type;
    std::vector<Future<std::optional<Result>>> parts;
    for (const auto& block : blocks())
      parts.push_back(fold_of<Member, Operation>(std::type_identity<Values<Member>>(), block, arguments...));
    return when_all(std::move(parts)).then([](std::vector<std::optional<Result>> all) {
      std::optional<Result> total;
      for (auto& each : all)
        if (each) total = total ? Operation{}(std::move(*total), std::move(*each)) : std::move(*each);
      return total;
    });
  }

  template <class Archive>
  void serialize(Archive& archive) {
    if constexpr (Archive::is_writer) {
      archive(count_, blocks_ ? *blocks_ : Blocks());
    } else {
      Blocks blocks;
      archive(count_, blocks);
      blocks_ = blocks.empty() ? nullptr : std::make_shared<Blocks>(std::move(blocks));
      if (!blocks_ && count_ != 0) Reader::malformed("an array of objects has elements and no rank");
    }
  }

 private:
  using Block = detail::ObjectBlock<T, Map>;
  using Blocks = std::vector<Object<Block>>;
  template <auto Member>
  using Values = typename detail::Signature<decltype(Member)>::Values;

  [[nodiscard]] const Blocks& blocks() const {
    if (!blocks_)
      throw Error("an array of objects was called that names none: make it by make_object_array()");
    return *blocks_;
  }
  template <auto Member, class... V, class... Arguments>
  auto on(std::type_identity<std::tuple<V...>>, std::size_t rank, std::uint64_t index,
          Arguments&&... arguments) const {
    return blocks()[rank].async(action<&Block::template call<Member, V...>>, index,
                                std::forward<Arguments>(arguments)...);
  }
  template <auto Member, class... V, class... Arguments>
  static auto all_of(std::type_identity<std::tuple<V...>>, const Object<Block>& block,
                     const Arguments&... arguments) {
    return block.async(action<&Block::template call_all<Member, V...>>, arguments...);
  }
  template <auto Member, class Operation, class... V, class... Arguments>
  static auto fold_of(std::type_identity<std::tuple<V...>>, const Object<Block>& block,
                      const Arguments&... arguments) {
    return block.async(action<&Block::template fold<Member, Operation, V...>>, arguments...);
  }

  std::uint64_t count_ = 0;
  std::shared_ptr<const Blocks> blocks_;
};

/// Makes `count` objects, each as T(index, arguments...) or, where there is no such constructor, as
/// T(arguments...), of copies of the arguments, and returns the future of the array. One rank calls.
template <class T, class Map = BlockMap, class... Arguments>
Future<ObjectArray<T, Map>> make_object_array(Runtime& runtime, std::uint64_t count,
                                              const Arguments&... arguments) {
  using Block = detail::ObjectBlock<T, Map>;
  std::vector<Future<Object<Block>>> blocks;
  for (int rank = 0; rank < runtime.size(); ++rank)
    blocks.push_back(make_object<Block>(runtime, rank, count, rank, runtime.size(), arguments...));
  return when_all(std::move(blocks)).then([count](std::vector<Object<Block>> all) {
    return ObjectArray<T, Map>(count, std::move(all));
  });
}

}  // namespace weft::parcel
