#include "bootstrap/in_process/hub.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>

#include "bootstrap/agreement.hpp"
#include "bootstrap/checks.hpp"
#include "bootstrap/exchange.hpp"
#include "bootstrap/job_id.hpp"
#include "bootstrap/open_names.hpp"

namespace weft::bootstrap {
namespace {

struct Instance {
  Instance(std::string job_id, const Secret& of_job, int size)
      : id(std::move(job_id)), secret(of_job), exchange(size), left(static_cast<std::size_t>(size)) {}

  const std::string id;
  const Secret secret;
  std::mutex mutex;
  std::condition_variable changed;  // notified at every change of the members below
  Exchange exchange;
  Agreement agreement;
  std::map<std::pair<int, std::string>, std::shared_ptr<void>, RankedKeyLess> shared;
  std::map<std::string, std::shared_ptr<void>, std::less<>> shared_by_all;
  std::string aborted;
  std::set<std::pair<int, std::string>> kept;  // entries of `shared` that stay until all ranks have left
  std::vector<std::atomic<bool>> left;         // by rank; written before `departures` counts the rank
  std::atomic<std::uint32_t> departures{0};
};

class InProcess final : public Bootstrap, public Agreeing {
 public:
  InProcess(std::shared_ptr<Instance> instance, int rank, double timeout_seconds, OpenNames::Hold name)
      : name_(std::move(name)), instance_(std::move(instance)), rank_(rank), timeout_(timeout_seconds) {}

  ~InProcess() override {
    const std::lock_guard lock{instance_->mutex};
    instance_->exchange.leave(rank_, "has left the job");
    instance_->left[static_cast<std::size_t>(rank_)].store(true, std::memory_order_relaxed);
    // Pairs with the acquire of threads that read the count of departures.
    const bool is_last = instance_->departures.fetch_add(1, std::memory_order_release) + 1 ==
                         static_cast<std::uint32_t>(instance_->exchange.size());
    std::erase_if(instance_->shared, [&](const auto& entry) {
      return is_last || (entry.first.first == rank_ && !instance_->kept.contains(entry.first));
    });
    instance_->changed.notify_all();
  }

  int rank() const override { return rank_; }
  int size() const override { return instance_->exchange.size(); }
  std::string_view job_id() const override { return instance_->id; }
  const Secret& secret() const override { return instance_->secret; }

  void put(std::string_view key, std::span<const std::byte> value) override {
    check_key(key);
    check_value(key, value.size());
    const std::lock_guard lock{instance_->mutex};
    check_not_aborted();
    if (!instance_->exchange.put(rank_, key, value)) fail_published_twice(rank_, key);
    instance_->changed.notify_all();
  }

  std::optional<Bytes> try_get(int rank, std::string_view key) override {
    check_rank(rank, size());
    check_key(key);
    const std::lock_guard lock{instance_->mutex};
    check_not_aborted();
    const Bytes* value = instance_->exchange.find(rank, key);
    return value == nullptr ? std::nullopt : std::optional<Bytes>{*value};
  }

  Bytes get(int rank, std::string_view key) override {
    check_rank(rank, size());
    check_key(key);
    std::unique_lock lock{instance_->mutex};
    const auto answered = [&] {
      return !instance_->aborted.empty() || instance_->exchange.find(rank, key) != nullptr ||
             instance_->exchange.has_left(rank);
    };
    const bool in_time = instance_->changed.wait_for(lock, std::chrono::duration<double>(timeout_), answered);
    check_not_aborted();
    if (const auto reason = instance_->exchange.why_never(rank, key)) throw Error(ErrorClass::job, *reason);
    if (!in_time) fail_not_published(rank, key, timeout_);
    return *instance_->exchange.find(rank, key);
  }

  void barrier() override { collective(CollectiveKind::barrier, {}, {}); }

  void allgather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    check_gathered(size(), mine.size(), all.size());
    collective(CollectiveKind::allgather, mine, all);
  }

  const std::atomic<std::uint32_t>* departures() const noexcept override { return &instance_->departures; }
  bool has_left(int rank) const noexcept override {
    return instance_->left[static_cast<std::size_t>(rank)].load(std::memory_order_relaxed);
  }
  void begin_to_leave() noexcept override {
    const std::lock_guard lock{instance_->mutex};
    instance_->exchange.begin_to_leave(rank_, "has left the job");
    instance_->changed.notify_all();
  }

  void abort(int code, std::string_view reason) override {
    const std::lock_guard lock{instance_->mutex};
    if (!instance_->aborted.empty()) return;
    instance_->aborted = "rank " + std::to_string(rank_) + " aborted the job with code " +
                         std::to_string(code == 0 ? 1 : code) + ": " + std::string(reason);
    instance_->changed.notify_all();
  }

  void agree(std::string_view statement) override {
    const std::lock_guard lock{instance_->mutex};
    const std::string why = instance_->agreement.state(rank_, statement);
    if (why.empty()) return;
    instance_->exchange.leave(rank_, "cannot take part (" + why + ")");
    instance_->changed.notify_all();
    throw Error(ErrorClass::job, why);
  }

  void share(std::string key, std::shared_ptr<void> object) override {
    check_key(key);
    const std::lock_guard lock{instance_->mutex};
    if (!instance_->shared.try_emplace({rank_, std::move(key)}, std::move(object)).second) {
      throw Error(ErrorClass::job,
                  "rank " + std::to_string(rank_) + " shares an object under a key that it has already used");
    }
  }

  std::shared_ptr<void> shared(int rank, std::string_view key) override {
    check_rank(rank, size());
    const std::lock_guard lock{instance_->mutex};
    const auto found = instance_->shared.find(std::pair<int, std::string_view>{rank, key});
    return found == instance_->shared.end() ? nullptr : found->second;
  }

  void keep_shared(std::string_view key) noexcept override {
    const std::lock_guard lock{instance_->mutex};
    instance_->kept.emplace(rank_, key);
  }

  std::shared_ptr<void> share_once(std::string_view key,
                                   const std::function<std::shared_ptr<void>()>& make) override {
    check_key(key);
    const std::lock_guard lock{instance_->mutex};
    const auto found = instance_->shared_by_all.find(key);
    if (found != instance_->shared_by_all.end()) return found->second;
    return instance_->shared_by_all.emplace(key, make()).first->second;
  }

 private:
  void check_not_aborted() const {
    if (!instance_->aborted.empty()) throw Error(ErrorClass::job, instance_->aborted);
  }

  void collective(CollectiveKind kind, std::span<const std::byte> mine, std::span<std::byte> all) {
    std::unique_lock lock{instance_->mutex};
    check_not_aborted();
    const std::uint64_t number = instance_->exchange.arrive(rank_, kind, mine);
    if (instance_->exchange.is_decided(number)) instance_->changed.notify_all();
    instance_->changed.wait(
        lock, [&] { return instance_->exchange.is_decided(number) || !instance_->aborted.empty(); });
    check_not_aborted();
    const auto outcome = instance_->exchange.take(rank_, number);
    lock.unlock();
    if (!outcome->error.empty()) throw Error(ErrorClass::job, outcome->error);
    if (outcome->gathered != nullptr)
      std::copy(outcome->gathered->begin(), outcome->gathered->end(), all.begin());
  }

  const OpenNames::Hold name_;
  const std::shared_ptr<Instance> instance_;
  const int rank_;
  const double timeout_;
};

}  // namespace

struct Hub::Job {
  std::string id;
  Secret secret{};
  int size = 0;
  double timeout_seconds = 0;
  std::mutex mutex;
  // The key of an instance: its name, and the number of earlier instances of that name.
  using Matched = std::pair<std::string, std::size_t>;
  std::map<Matched, std::shared_ptr<Instance>> instances;
  std::vector<std::map<std::string, std::size_t, std::less<>>> joins;  // by rank, then name
  std::vector<OpenNames> open;                                         // by rank
};

Hub::Hub(int ranks, double timeout_seconds) : job_(std::make_shared<Job>()) {
  if (ranks < 1)
    throw Error(ErrorClass::job, "a hub of " + std::to_string(ranks) + " ranks: it must be at least 1");
  job_->id = random_job_id();
  job_->secret = random_secret();
  job_->size = ranks;
  job_->timeout_seconds = timeout_seconds;
  job_->joins.resize(static_cast<std::size_t>(ranks));
  job_->open = std::vector<OpenNames>(static_cast<std::size_t>(ranks));
}

Hub::~Hub() = default;

std::unique_ptr<Bootstrap> Hub::join(int rank, std::string_view name) {
  check_rank(rank, job_->size);
  const auto index = static_cast<std::size_t>(rank);
  // The only rank of a job needs no order of its runtimes.
  OpenNames::Hold hold = job_->size > 1 ? job_->open[index].take(name) : OpenNames::Hold();
  const std::lock_guard lock{job_->mutex};
  const std::size_t before = job_->joins[index][std::string(name)]++;
  auto& instance = job_->instances[{std::string(name), before}];
  if (instance == nullptr)
    instance = std::make_shared<Instance>(
        instance_id(job_->id, static_cast<std::uint32_t>(job_->instances.size() - 1)), job_->secret,
        job_->size);
  return std::make_unique<InProcess>(instance, rank, job_->timeout_seconds, std::move(hold));
}

}  // namespace weft::bootstrap
