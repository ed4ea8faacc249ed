// Building graphs, and the errors in them.
#include <weft/completion/graph.hpp>

#include "core/completion/graph_parts.hpp"
#include "core/completion/graph_run.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <string>

namespace weft {

namespace {

/// A node that runs another graph.
class InnerGraph final : public detail::GraphTask {
 public:
  using Start = Status (*)(Graph&, Completion&);
  InnerGraph(Graph& graph, Start start) noexcept : graph_(graph), start_(start) {}
  Status fire() override { return start_(graph_, *this); }
  [[nodiscard]] Graph* inner() noexcept override { return &graph_; }

 private:
  Graph& graph_;
  const Start start_;
};

}  // namespace

Graph::Graph() : parts_(std::make_unique<Parts>()) {}

Graph::~Graph() {
  retire();
  if (state_.load(std::memory_order_acquire) != State::running) {
    tell_unread();
    for (const auto& task : parts_->tasks) task->set_unnamed();
    return;
  }
  completion_.set(nullptr);
  parent_ = nullptr;
  for (detail::GraphTask* task : parts_->inner)
    if (Graph& inner = *task->inner(); inner.parent_ == task) inner.parent_ = nullptr;
  fail(Outcome::cancelled);
  detail::GraphRun::drop_refused(*this);
  for (const auto& task : parts_->tasks) task->retire();
  // A thread that had just ended a node may have listed the graph again.
  detail::GraphRun::drop_refused(*this);
}

void Graph::check_changeable(const char* call) const {
  if (state_.load(std::memory_order_relaxed) == State::running)
    throw Error(ErrorClass::state,
                std::string("Graph::") + call + ": the graph is running; wait for its end before");
}

detail::GraphTask& Graph::task_of(Node node, const char* call) const {
  if (node.graph_ == nullptr)
    throw Error(ErrorClass::state,
                std::string("Graph::") + call + ": the node names nothing; use what add() has returned");
  if (node.graph_ != this)
    throw Error(ErrorClass::state,
                std::string("Graph::") + call + ": node " + std::to_string(node.index_) +
                    " belongs to another graph; to order graphs, add one to the other with add_graph()");
  return *parts_->tasks[node.index_];
}

Graph::Node Graph::adopt(std::unique_ptr<detail::GraphTask> task) {
  check_changeable("add");
  task->graph_ = this;
  task->index_ = size_;
  parts_->tasks.push_back(std::move(task));
  state_.store(State::changed, std::memory_order_relaxed);
  return {this, size_++};
}

Graph::Node Graph::add_graph(Graph& inner) {
  if (&inner == this) throw Error(ErrorClass::state, "Graph::add_graph: a graph cannot be a node of itself");
  const Node node = adopt(std::make_unique<InnerGraph>(inner, [](Graph& graph, Completion& completion) {
    if (graph.claim()) {
      graph.begin(&completion, Outcome::ok);
      return Status::posted();
    }
    if (graph.state_.load(std::memory_order_relaxed) == State::changed)
      throw Error(ErrorClass::state, "the graph that it stands for was changed after the start");
    return Status::retry(Reason::not_ready);
  }));
  parts_->inner.push_back(parts_->tasks.back().get());
  return node;
}

void Graph::order(Node before, Node after) {
  check_changeable("order");
  static_cast<void>(task_of(before, "order"));
  static_cast<void>(task_of(after, "order"));
  if (before.index_ == after.index_)
    throw Error(ErrorClass::state,
                "Graph::order: node " + std::to_string(before.index_) + " cannot come after itself");
  parts_->edges.push_back({before.index_, after.index_});
  state_.store(State::changed, std::memory_order_relaxed);
}

void Graph::set_completion(Completion* completion, void* user_data) {
  check_changeable("set_completion");
  completion_.set(completion);
  user_data_ = user_data;
}

Outcome Graph::outcome(Node node) const {
  is_unread_.store(false, std::memory_order_relaxed);
  return task_of(node, "outcome").outcome();
}

std::uint32_t Graph::size() const noexcept { return size_; }

void Graph::prepare() {
  check_changeable("prepare");
  if (preparing_)
    throw Error(ErrorClass::state, "Graph::prepare: a graph contains itself, by way of the graphs in it");
  struct Mark {
    explicit Mark(bool& mark) : mark_(mark) { mark_ = true; }
    ~Mark() { mark_ = false; }
    bool& mark_;
  } mark{preparing_};
  // Also when nothing has changed in this graph: an inner graph may have changed.
  for (detail::GraphTask* task : parts_->inner)
    if (Graph& inner = *task->inner(); inner.state_.load(std::memory_order_relaxed) != State::running)
      inner.prepare();
  if (state_.load(std::memory_order_relaxed) != State::changed) return;
  parts_->connect();
  state_.store(State::prepared, std::memory_order_relaxed);
}

void Graph::Parts::connect() {
  std::vector<std::uint32_t> begin(tasks.size() + 1, 0);
  for (auto& task : tasks) task->predecessors_ = 0;
  for (const Edge& edge : edges) {
    ++begin[edge.before + 1];
    ++tasks[edge.after]->predecessors_;
  }
  for (std::size_t index = 0; index < tasks.size(); ++index) begin[index + 1] += begin[index];
  successors.assign(edges.size(), nullptr);
  std::vector<std::uint32_t> position(begin.begin(), begin.end() - 1);
  for (const Edge& edge : edges) successors[position[edge.before]++] = tasks[edge.after].get();
  roots.clear();
  for (auto& task : tasks) {
    task->successors_ = successors.data() + begin[task->index_];
    task->successor_count_ = begin[task->index_ + 1] - begin[task->index_];
    task->waiting_.store(task->predecessors_, std::memory_order_relaxed);
    if (task->predecessors_ == 0) roots.push_back(task.get());
  }
  check_acyclic();
}

void Graph::Parts::check_acyclic() const {
  std::vector<std::uint32_t> waits(tasks.size());
  for (const auto& task : tasks) waits[task->index_] = task->predecessors_;
  std::vector<const detail::GraphTask*> free(roots.begin(), roots.end());
  for (std::size_t next = 0; next < free.size(); ++next)
    for (std::uint32_t each = 0; each < free[next]->successor_count_; ++each)
      if (const detail::GraphTask* after = free[next]->successors_[each]; --waits[after->index_] == 0)
        free.push_back(after);
  if (free.size() == tasks.size()) return;

  // Each of the remaining nodes waits for another of them: following the edges back from any of them ends in
  // a circle.
  std::vector<std::uint32_t> before(tasks.size());
  for (const Edge& edge : edges)
    if (waits[edge.before] != 0) before[edge.after] = edge.before;
  auto node = static_cast<std::uint32_t>(
      std::find_if(waits.begin(), waits.end(), [](std::uint32_t count) { return count != 0; }) -
      waits.begin());
  for (std::size_t step = 0; step < tasks.size(); ++step) node = before[node];
  constexpr std::size_t kNamed = 8;
  std::string circle = std::to_string(node);
  std::uint32_t at = before[node];
  for (std::size_t named = 1; at != node && named < kNamed; ++named, at = before[at])
    circle = std::to_string(at) + " -> " + circle;
  circle = (at == node ? std::to_string(node) : std::string("...")) + " -> " + circle;
  throw Error(ErrorClass::state, "Graph::prepare: nodes wait for each other in a circle (" + circle +
                                     "); the edges of a graph must not lead back");
}

}  // namespace weft
