#include <weft/collective.hpp>

#include "collective/at_once.hpp"
#include "collective/collective_context.hpp"
#include "collective/kind_table.hpp"
#include "collective/run.hpp"

#include <weft/error.hpp>

#include <string>
#include <utility>

namespace weft {

namespace {

constexpr std::size_t kLargestElement = std::size_t{1} << 30;

Outcome at_once(collective::CollectiveContext& context, const detail::CollectiveCall& call) {
  collective::AtOnce steps(context, call);
  collective::lay_out(steps, call, context.rank(), context.size());
  return steps.end();
}

Outcome by_mailbox(collective::CollectiveContext& context, const detail::CollectiveCall& call) {
  collective::AtOnceByMailbox steps(context, call);
  collective::Kinds::with(call.kind, [&](auto kind) {
    if constexpr (decltype(kind)::kTraits.meets_all)
      decltype(kind)::lay_out(steps, call, context.rank(), context.size());
  });
  return steps.end();
}

}  // namespace

detail::CollectiveCall detail::any_reduce_call(CollectiveKind kind, Bytes from, MutableBytes to,
                                               const AnyReduction& reduction, int root) {
  const std::size_t element = reduction.element_size;
  if (element == 0 || element > kLargestElement)
    throw Error("AnyReduction: element_size " + std::to_string(element) + " is out of range: 1 to " +
                std::to_string(kLargestElement) + " bytes");
  if (reduction.apply == nullptr) throw Error("AnyReduction: it has no apply()");
  for (const std::size_t size : {from.size(), to.size()})
    if (size % element != 0)
      throw Error("AnyReduction: a buffer of " + std::to_string(size) +
                  " bytes is no number of elements of " + std::to_string(element) + " bytes");
  return {.kind = kind,
          .root = root,
          .from = from.data(),
          .to = to.data(),
          .count = from.size() / element,
          .to_count = to.size() / element,
          .reduction = detail::reduction_of(reduction)};
}

Collective::Collective(Runtime& runtime, std::unique_ptr<detail::CollectivePort> port, std::uint8_t device,
                       const CollectiveOptions& options)
    : context_(std::make_unique<collective::CollectiveContext>(runtime, std::move(port), device, options)) {}

Collective::Collective(Runtime& runtime, std::unique_ptr<detail::CollectivePort> port, std::uint8_t device,
                       const detail::CollectivePlace& place)
    : context_(std::make_unique<collective::CollectiveContext>(runtime, std::move(port), device, place)) {}

Collective::~Collective() = default;

int Collective::rank() const noexcept { return context_->rank(); }

int Collective::size() const noexcept { return context_->size(); }

Outcome Collective::run(const detail::CollectiveCall& called, const std::source_location& where) {
  detail::CollectiveCall call = called;
  call.where = where;
  context_->check(call);
  // Programs that wait for each other by collectives rely on their progress.
  if (size() == 1) context_->progress_alone();
  if (context_->has_lost_a_rank()) return Outcome::peer_failed;
  const collective::KindTraits& traits = collective::traits_of(call.kind);
  if (traits.has_segments && call.count * call.reduction.element > collective::kAtOnceBytes)
    return run_long(call);
  if (traits.meets_all && call.count * call.reduction.element <= collective::Mailbox::kBytes)
    return by_mailbox(*context_, call);
  return at_once(*context_, call);
}

Outcome Collective::run_long(const detail::CollectiveCall& call) {
  if (call.kind == detail::CollectiveKind::allreduce && size() > 1 && collective::Ring::can_run(call, size()))
    return context_->ring().run(*context_, call);
  collective::CollectiveRun& run = context_->long_run(call);
  run.start(call.where);
  try {
    return run.wait();
  } catch (const Error&) {
    if (!run.graph().ready()) context_->forget_long_run();  // it cannot end
    throw;
  }
}

CollectiveOperation Collective::make(const detail::CollectiveCall& call) {
  context_->check(call);
  return CollectiveOperation(std::make_unique<collective::CollectiveRun>(*context_, call));
}

void Collective::post(CollectiveOperation&& operation, const CollectivePostOptions& options,
                      const std::source_location& where) {
  collective::CollectiveRun& run = operation.run();
  if (&run.context() != context_.get())
    throw Error("post: the operation was made by another Collective: post it there");
  run.graph().set_completion(options.completion, options.user_data);  // throws while it runs
  context_->keep_posted(std::move(operation.run_), options.completion != nullptr);
  run.start(where);
}

Outcome Collective::wait_posted() { return context_->wait_posted(); }

CollectiveOperation::CollectiveOperation(std::unique_ptr<collective::CollectiveRun> run) noexcept
    : run_(std::move(run)) {
  run_->context().note_operation(1);
}
CollectiveOperation::CollectiveOperation(CollectiveOperation&&) noexcept = default;
CollectiveOperation::~CollectiveOperation() {
  if (run_ != nullptr) run_->context().note_operation(-1);
}

collective::CollectiveRun& CollectiveOperation::run() const {
  if (run_ == nullptr)
    throw Error("CollectiveOperation: it is empty: it has been posted, or moved to another object");
  return *run_;
}

void CollectiveOperation::start(const std::source_location& where) { run().start(where); }
bool CollectiveOperation::test() noexcept { return run_->graph().test(); }
Outcome CollectiveOperation::wait() { return run().wait(); }
Graph& CollectiveOperation::graph() noexcept { return run_->graph(); }

}  // namespace weft
