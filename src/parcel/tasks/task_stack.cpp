#include "parcel/tasks/task_stack.hpp"

#include <boost/context/preallocated.hpp>
#include <boost/context/stack_context.hpp>

#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "parcel/tasks/worker_pool.hpp"

namespace weft::parcel {

namespace {

// The exceptions that a thread handles, by the C++ ABI (Itanium, 2.2.2).
struct Globals {
  void* caught;
  unsigned int uncaught;
};

/// The compiler may keep what __cxa_get_globals() returns, as it is declared const: not across this call.
[[gnu::noinline]] Globals& exception_globals() noexcept {
  asm volatile("" ::: "memory");
  return *reinterpret_cast<Globals*>(abi::__cxa_get_globals());
}

[[gnu::tls_model("initial-exec")]] constinit thread_local TaskStack* current_stack = nullptr;

/// The memory of a stack belongs to StackMemory.
struct KeepsMemory {
  void deallocate(boost::context::stack_context&) noexcept {}
};

}  // namespace

TaskStack* TaskStack::current() noexcept {
  asm volatile("" ::: "memory");
  return current_stack;
}
void TaskStack::set_current(TaskStack* stack) noexcept {
  asm volatile("" ::: "memory");
  current_stack = stack;
}

TaskStack::TaskStack(WorkerPool& pool, std::byte* lowest, std::size_t size, void (*main)(TaskStack&))
    : Task(&TaskStack::resume),
      pool_(pool),
      lowest_(reinterpret_cast<std::uintptr_t>(lowest)),
      size_(size),
      main_(main),
      context_() {
  boost::context::stack_context memory;
  memory.size = size;
  memory.sp = lowest + size;
  context_ =
      boost::context::fiber(std::allocator_arg, boost::context::preallocated(memory.sp, memory.size, memory),
                            KeepsMemory(), [this](boost::context::fiber&& from) {
                              arrive(std::move(from));
                              main_(*this);
                              return boost::context::fiber();  // main() does not return
                            });
  sanitized_.bottom = lowest;
  sanitized_.size = size;
  sanitized_.create();
}

TaskStack::TaskStack(WorkerPool& pool) noexcept : Task(&TaskStack::resume), pool_(pool), context_() {
  sanitized_.adopt();
}

TaskStack::~TaskStack() {
  if (main_ != nullptr) sanitized_.destroy();
}

void TaskStack::switch_to(TaskStack& target, AfterSwitch after) noexcept {
  if (main_ != nullptr && room() > size_) [[unlikely]] {
    std::fprintf(
        stderr,
        "weft: a task has used more than its stack of %zu bytes; the parcel option stack makes it larger\n",
        size_);
    std::abort();
  }
  Globals& globals = exception_globals();
  exceptions_ = {globals.caught, globals.uncaught};
  target.worker = worker;
  target.left_ = this;
  target.after_ = after;
  sanitized_.leave(target.sanitized_);
  arrive(std::move(target.context_).resume());
}

void TaskStack::arrive(boost::context::fiber&& from) noexcept {
  sanitized_.arrive(left_->sanitized_);
  left_->context_ = std::move(from);
  set_current(main_ != nullptr ? this : nullptr);
  Globals& globals = exception_globals();
  globals = {exceptions_.caught, exceptions_.uncaught};
  if (after_.run != nullptr) after_.run(after_.argument);
}

bool TaskStack::look(ReportedWait& wait) const noexcept {
  wait.what = wait_.what.load(std::memory_order_acquire);
  wait.count = wait_.count.load(std::memory_order_acquire);
  wait.subject = wait_.subject.load(std::memory_order_acquire);
  wait.file = wait_.file.load(std::memory_order_acquire);
  wait.function = wait_.function.load(std::memory_order_acquire);
  wait.line = wait_.line.load(std::memory_order_acquire);
  // Of one wait, if none has begun meanwhile.
  return wait.what != nullptr && wait_.count.load(std::memory_order_relaxed) == wait.count;
}

void TaskStack::waits_for(const WaitReason& reason) noexcept {
  // Pairs with look(): whoever sees something of this wait sees its count.
  wait_.count.store(wait_.count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  wait_.subject.store(reason.subject, std::memory_order_release);
  wait_.file.store(reason.where.file_name(), std::memory_order_release);
  wait_.function.store(reason.where.function_name(), std::memory_order_release);
  wait_.line.store(reason.where.line(), std::memory_order_release);
  wait_.what.store(reason.what, std::memory_order_release);
}

void TaskStack::resume(Task& task) noexcept {
  auto& stack = static_cast<TaskStack&>(task);
  TaskStack& loop = *current();
  loop.switch_to(stack, {&TaskStacks::keep_left, &loop});
}

}  // namespace weft::parcel
