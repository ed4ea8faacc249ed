#include <weft/collective.hpp>

#include "collective/at_once.hpp"
#include "collective/collective_context.hpp"
#include "collective/kinds/kind_table.hpp"
#include "collective/run.hpp"
#include "collective/team/team_builder.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace weft {

namespace {

constexpr std::size_t kLargestElement = std::size_t{1} << 30;

void check_element(const char* what, std::size_t element) {
  if (element == 0 || element > kLargestElement)
    throw Error(std::string(what) + ": element_size " + std::to_string(element) + " is out of range: 1 to " +
                std::to_string(kLargestElement) + " bytes");
}

void check_buffer(const char* name, const void* buffer, std::size_t elements, std::size_t element) {
  if (buffer == nullptr && elements != 0)
    throw Error(std::string("CollectiveArguments: ") + name + " is null, but has " +
                std::to_string(elements) + " elements");
  if (elements > std::numeric_limits<std::size_t>::max() / element)
    throw Error(std::string("CollectiveArguments: ") + name + " has " + std::to_string(elements) +
                " elements of " + std::to_string(element) + " bytes, more than any memory");
}

Outcome at_once(collective::CollectiveContext& context, const detail::CollectiveCall& call,
                collective::Algorithm algorithm) {
  collective::AtOnce steps(context, call, algorithm);
  collective::lay_out(steps, call, context.rank(), context.size());
  return steps.end();
}

Outcome by_mailbox(collective::CollectiveContext& context, const detail::CollectiveCall& call,
                   collective::Algorithm algorithm) {
  collective::AtOnceByMailbox steps(context, call, algorithm);
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
  check_element("AnyReduction", element);
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

detail::CollectiveCall detail::call_of(const CollectiveArguments& given) {
  if (static_cast<std::size_t>(given.kind) >= collective::Kinds::kTraits.size())
    throw Error("CollectiveArguments: there is no collective " +
                std::to_string(static_cast<unsigned>(given.kind)));
  const collective::KindTraits& traits = collective::traits_of(given.kind);
  if (traits.reduces && given.reduction == nullptr)
    throw Error(std::string(traits.name) + ": it has no reduction");
  const std::size_t element = traits.reduces ? given.reduction->element_size : given.element_size;
  check_element("CollectiveArguments", element);
  check_buffer("from", given.from, given.count, element);
  check_buffer("to", given.to, given.to_count, element);
  const auto* const from = static_cast<const std::byte*>(given.from);
  auto* const to = static_cast<std::byte*>(given.to);
  CollectiveCall call;
  if (traits.reduces)
    call = any_reduce_call(given.kind, {from, given.count * element}, {to, given.to_count * element},
                           *given.reduction, given.root);
  else
    call = {.kind = given.kind,
            .root = given.root,
            .from = from,
            .to = to,
            .count = given.count,
            .to_count = given.to_count};
  if (given.kind == CollectiveKind::broadcast) {
    call.from = call.to;
    call.count = call.to_count;
  }
  call.reduction.element = element;
  call.blocks_differ = given.has_counts;
  call.from_counts = given.from_counts;
  call.to_counts = given.to_counts;
  call.from_displacements = given.from_displacements;
  call.to_displacements = given.to_displacements;
  call.sources = given.sources;
  call.destinations = given.destinations;
  return call;
}

Collective::Collective(Runtime& runtime, std::unique_ptr<detail::CollectivePort> port, const Team& team,
                       std::uint8_t device, const CollectiveOptions& options)
    : context_(std::make_unique<collective::CollectiveContext>(
          runtime, std::move(port), team, device, collective::setup_of(runtime, team, options))) {}

Collective::Collective(Runtime& runtime, std::unique_ptr<detail::CollectivePort> port, const Team& team,
                       std::uint8_t device, MatchingContext&& context)
    : context_(std::make_unique<collective::CollectiveContext>(
          runtime, std::move(port), team, device,
          collective::CollectiveSetup{.context = std::move(context)})) {}

Collective::~Collective() = default;

collective::CollectiveContext& collective::context_of(Collective& of) noexcept { return *of.context_; }

int Collective::rank() const noexcept { return context_->rank(); }

int Collective::size() const noexcept { return context_->size(); }

const Team& Collective::team() const noexcept { return context_->team(); }

Outcome Collective::split(int colour, int key, Team& part, const std::source_location& where) {
  struct Choice {
    int colour;
    int key;
  };
  std::vector<Choice> all(static_cast<std::size_t>(size()));
  const Outcome outcome = allgather(Choice{colour, key}, all, where);
  if (outcome != Outcome::ok) return outcome;
  std::vector<int> members;
  for (int member = 0; member < size(); ++member)
    if (colour >= 0 && all[static_cast<std::size_t>(member)].colour == colour) members.push_back(member);
  std::ranges::stable_sort(members, {},
                           [&](int member) { return all[static_cast<std::size_t>(member)].key; });
  TeamBuilder builder;
  for (const int member : members) builder.add(team().at(member));
  part = std::move(builder).make(team().at(rank()));
  return outcome;
}

Outcome Collective::run(const detail::CollectiveCall& called, const std::source_location& where) {
  detail::CollectiveCall call = called;
  call.where = where;
  context_->check(call);
  // Programs that wait for each other by collectives rely on their progress.
  if (size() == 1) collective::progress_alone(context_->port());
  if (context_->has_lost_a_rank()) return Outcome::peer_failed;
  if (context_->roll_call().is_broken()) [[unlikely]]
    return context_->refuse_broken();
  const Outcome outcome = run_checked(call);
  // This call has taken part, so that the order of the ranks stays the same.
  if (context_->roll_call().owe_again() && outcome == Outcome::ok) [[unlikely]]
    return context_->refuse_broken();
  return outcome;
}

Outcome Collective::run_checked(const detail::CollectiveCall& call) {
  if (context_->near().is_due_to_connect()) [[unlikely]]
    if (const Outcome outcome = collective::AtOnce::connect(*context_, call); outcome != Outcome::ok)
      return outcome;
  using collective::Algorithm;
  const collective::KindTraits& traits = collective::traits_of(call.kind);
  const std::size_t bytes = call.count * call.reduction.element;
  const Algorithm algorithm = context_->algorithms().of(call);
  if (traits.has_segments && bytes > collective::kAtOnceBytes) return run_long(call);
  const bool is_near = context_->near().is_whole_team() && bytes <= collective::HostChannels::kMostBytes;
  const bool has_few_steps = algorithm == Algorithm::dissemination || algorithm == Algorithm::doubling;
  if (traits.meets_all && has_few_steps && context_->mailbox() != nullptr &&
      bytes <= collective::Mailbox::kBytes && !is_near)
    return by_mailbox(*context_, call, algorithm);
  return at_once(*context_, call, algorithm);
}

Outcome Collective::run_long(const detail::CollectiveCall& call) {
  if (call.kind == detail::CollectiveKind::allreduce && size() > 1 && context_->mailbox() != nullptr &&
      context_->algorithms().of(call) == collective::Algorithm::ring &&
      collective::Ring::can_run(call, size()))
    return context_->ring().run(*context_, call);
  collective::CollectiveRun& run = context_->kept_runs().of(call);
  run.start(call.where);
  try {
    const Outcome outcome = run.wait();
    if (!run.graph().ready()) context_->kept_runs().forget();  // its time is over
    return outcome;
  } catch (const Error&) {
    if (!run.graph().ready()) context_->kept_runs().forget();  // it cannot end
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
  context_->posted().add(std::move(operation.run_), options);
  run.start(where);
  context_->posted().start_watch();
}

Outcome Collective::wait_posted() { return context_->posted().wait(); }

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
