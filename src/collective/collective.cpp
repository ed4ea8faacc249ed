#include <weft/collective.hpp>

#include "collective/algorithms.hpp"
#include "collective/at_once.hpp"
#include "collective/context.hpp"
#include "collective/run.hpp"

#include <utility>

namespace weft {

namespace {

template <class Steps>
Outcome at_once(detail::CollectiveContext& context, const detail::CollectiveCall& call) {
  Steps steps(context, call);
  detail::lay_out(steps, call, context.rank(), context.size());
  return steps.end();
}

}  // namespace

Collective::Collective(Runtime& runtime, std::unique_ptr<detail::CollectivePort> port, std::uint8_t device,
                       const CollectiveOptions& options)
    : context_(std::make_unique<detail::CollectiveContext>(runtime, std::move(port), device, options)) {}

Collective::~Collective() = default;

int Collective::rank() const noexcept { return context_->rank(); }

int Collective::size() const noexcept { return context_->size(); }

Outcome Collective::run(const detail::CollectiveCall& call) {
  context_->check(call);
  if (context_->has_lost_a_rank()) return Outcome::peer_failed;
  if (call.count * call.reduction.element > detail::kAtOnceBytes) {
    if (call.kind == detail::CollectiveKind::allreduce && size() > 1 && detail::Ring::can_run(call, size()))
      return context_->ring().run(*context_, call);
    detail::CollectiveRun& run = context_->long_run(call);
    run.start();
    return run.wait();
  }
  const bool meets_all =
      call.kind == detail::CollectiveKind::barrier || call.kind == detail::CollectiveKind::allreduce;
  if (meets_all && call.count * call.reduction.element <= detail::Mailbox::kBytes)
    return at_once<detail::AtOnceByMailbox>(*context_, call);
  return at_once<detail::AtOnce>(*context_, call);
}

CollectiveOperation Collective::make(const detail::CollectiveCall& call) {
  context_->check(call);
  return CollectiveOperation(std::make_unique<detail::CollectiveRun>(*context_, call));
}

CollectiveOperation::CollectiveOperation(std::unique_ptr<detail::CollectiveRun> run) noexcept
    : run_(std::move(run)) {}
CollectiveOperation::CollectiveOperation(CollectiveOperation&&) noexcept = default;
CollectiveOperation::~CollectiveOperation() = default;

void CollectiveOperation::start() { run_->start(); }
bool CollectiveOperation::test() noexcept { return run_->graph().test(); }
Outcome CollectiveOperation::wait() { return run_->wait(); }
Graph& CollectiveOperation::graph() noexcept { return run_->graph(); }

}  // namespace weft
