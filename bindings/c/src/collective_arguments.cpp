// Collectives whose arguments are in a struct: run, posted, and made once.
#include "collective.hpp"

#include "post_options.hpp"
#include "reduction.hpp"

using namespace weft::c;

struct weft_collective_operation : Handle<HandleKind::collective_operation> {
  explicit weft_collective_operation(weft::CollectiveOperation its_operation)
      : operation(std::move(its_operation)) {}
  weft::CollectiveOperation operation;
};

namespace {

/// The arguments of the library's call, and what they refer to.
class Arguments {
 public:
  Arguments(const weft_collective_arguments* arguments, const weft::Collective& collective)
      : given_(options_of(&present(arguments, "arguments"), "arguments")),
        members_(static_cast<std::size_t>(collective.size())) {
    constexpr uint32_t kKinds = WEFT_COLLECTIVE_NEIGHBOR_ALLTOALL + 1;
    if (given_.kind >= kKinds)
      throw BadArgument("arguments->kind is " + std::to_string(given_.kind) + ": it must be 0 to " +
                        std::to_string(kKinds - 1));
    own_.kind = static_cast<weft::CollectiveKind>(given_.kind);
    own_.root = given_.root;
    own_.from = given_.from;
    own_.to = given_.to;
    own_.element_size = given_.element_size != 0 ? given_.element_size : 1;
    own_.count = given_.count;
    own_.to_count = given_.to_count;
    if (given_.reduction != nullptr) {
      reduction_ = reduction_of(options_of(given_.reduction, "arguments->reduction"));
      own_.reduction = &*reduction_;
    }
    set_blocks();
  }
  [[nodiscard]] const weft::CollectiveArguments& own() const noexcept { return own_; }

 private:
  void set_blocks() {
    const bool has_neighbors =
        given_.kind == WEFT_COLLECTIVE_NEIGHBOR_ALLGATHER || given_.kind == WEFT_COLLECTIVE_NEIGHBOR_ALLTOALL;
    own_.sources = ranks(given_.sources, given_.source_count, "arguments->sources");
    own_.destinations = ranks(given_.destinations, given_.destination_count, "arguments->destinations");
    const std::size_t from_blocks = has_neighbors ? given_.destination_count : members_;
    const std::size_t to_blocks = has_neighbors ? given_.source_count : members_;
    own_.has_counts = given_.has_counts != 0;
    own_.from_counts = numbers(given_.from_counts, from_blocks);
    own_.to_counts = numbers(given_.to_counts, to_blocks);
    own_.from_displacements = numbers(given_.from_displacements, from_blocks);
    own_.to_displacements = numbers(given_.to_displacements, to_blocks);
  }
  [[nodiscard]] static std::span<const int> ranks(const int* list, std::size_t count, const char* name) {
    if (count != 0) present(list, name);
    return {list, count};
  }
  [[nodiscard]] static std::span<const std::size_t> numbers(const std::size_t* list, std::size_t count) {
    if (list == nullptr) return {};
    return {list, count};
  }

  const weft_collective_arguments given_;
  const std::size_t members_;
  std::optional<weft::AnyReduction> reduction_;
  weft::CollectiveArguments own_;
};

weft::CollectiveOperation& operation_in(weft_collective_operation* operation) {
  return present(operation, "operation").operation;
}

}  // namespace

extern "C" {

weft_result weft_collective_run(weft_collective* collective, const weft_collective_arguments* arguments) {
  return guarded(__func__, [&] {
    weft::Collective& all = collective_in(collective);
    return result_of(all.run(Arguments(arguments, all).own()));
  });
}

weft_result weft_collective_post(weft_collective* collective, const weft_collective_arguments* arguments,
                                 weft_completion* completion, void* user_data) {
  return guarded(__func__, [&]() -> weft_result {
    weft::Collective& all = collective_in(collective);
    all.post(all.make(Arguments(arguments, all).own()),
             {.completion = completion_in(completion, "completion"), .user_data = user_data});
    return WEFT_POSTED;
  });
}

weft_result weft_collective_wait(weft_collective* collective) {
  return guarded(__func__, [&] { return result_of(collective_in(collective).wait_posted()); });
}

weft_result weft_collective_operation_create(weft_collective* collective,
                                             const weft_collective_arguments* arguments,
                                             weft_collective_operation** operation) {
  return create(__func__, operation, "operation", [&] {
    weft::Collective& all = collective_in(collective);
    return std::make_unique<weft_collective_operation>(all.make(Arguments(arguments, all).own()));
  });
}

weft_result weft_collective_operation_destroy(weft_collective_operation* operation) {
  return destroy(__func__, operation, "operation");
}

weft_result weft_collective_operation_start(weft_collective_operation* operation) {
  return guarded(__func__, [&]() -> weft_result {
    operation_in(operation).start();
    return WEFT_POSTED;
  });
}

int weft_collective_operation_test(weft_collective_operation* operation) {
  return guarded(__func__, [&] { return operation_in(operation).test() ? 1 : 0; });
}

weft_result weft_collective_operation_wait(weft_collective_operation* operation) {
  return guarded(__func__, [&] { return result_of(operation_in(operation).wait()); });
}

}  // extern "C"
