#include "bootstrap/launchers/environment/environment.hpp"

#include <weft/error.hpp>

#include <cstdlib>

#include "base/text/parse.hpp"
#include "bootstrap/launchers/environment/gathering.hpp"
#include "bootstrap/launchers/environment/reports.hpp"

namespace weft::bootstrap::contact {

namespace {

const char* variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

int integer(const char* name, std::int64_t least, std::int64_t most) {
  const char* const text = variable(name);
  const auto value = text == nullptr ? std::nullopt : base::parse_integer(text);
  if (!value || *value < least || *value > most)
    throw Error(ErrorClass::job,
                std::string(name) +
                    (text == nullptr ? " is not set" : "=" + std::string(text) + " is not valid") +
                    ": it must be an integer from " + std::to_string(least) + " to " + std::to_string(most));
  return static_cast<int>(*value);
}

class Environment final : public Contact {
 public:
  explicit Environment(EnvironmentJob job) : job_(std::move(job)) {}
  int rank() const override { return job_.rank; }
  int size() const override { return job_.size; }
  Cards exchange(std::span<const std::byte> own, const base::Deadline& deadline) override {
    return job_.rank == 0 ? gather_cards(job_, own, deadline, connections_)
                          : bring_card(job_, own, deadline, connections_);
  }
  std::vector<std::string> report(const std::vector<int>& from, const std::string& own,
                                  const base::Deadline& deadline) override {
    const auto connections = std::move(connections_);  // which end with this
    return job_.rank == 0 ? gather_reports(connections, from, own, deadline)
                          : bring_report(connections.front(), job_.rank, from, own, deadline);
  }

  void end_exchanges() override { connections_.clear(); }

 private:
  const EnvironmentJob job_;
  Connections connections_;  // of rank 0: to all, by rank; of others: to rank 0
};

}  // namespace

std::optional<EnvironmentJob> job_of_torchrun() {
  if (variable("RANK") == nullptr || variable("WORLD_SIZE") == nullptr) return std::nullopt;
  EnvironmentJob job;
  job.size = integer("WORLD_SIZE", 1, 1 << 20);
  job.rank = integer("RANK", 0, job.size - 1);
  job.variables = "RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT";
  if (job.size == 1) return job;
  if (variable("MASTER_ADDR") == nullptr || variable("MASTER_PORT") == nullptr)
    throw Error(ErrorClass::job, "RANK=" + std::to_string(job.rank) +
                                     " and WORLD_SIZE=" + std::to_string(job.size) +
                                     " tell of a job, but MASTER_ADDR and MASTER_PORT, by which its ranks "
                                     "would find rank 0, are not set; "
                                     "unset the former to run alone");
  job.host = variable("MASTER_ADDR");
  int port = integer("MASTER_PORT", 1, 65534);
  // There torchrun itself listens.
  if (const char* const store = variable("TORCHELASTIC_USE_AGENT_STORE");
      store != nullptr && std::string(store) == "True")
    ++port;
  job.port = static_cast<std::uint16_t>(port);
  return job;
}

std::string first_host(const std::string& list) {
  const std::size_t bracket = list.find('[');
  const std::size_t comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket) return list.substr(0, comma);
  const std::size_t end = list.find_first_of("-,]", bracket);
  const std::size_t close = list.find(']', bracket);
  if (end == std::string::npos || close == std::string::npos) return {};
  const std::size_t next = list.find(',', close);
  const std::string behind = list.substr(close + 1, next == std::string::npos ? next : next - close - 1);
  return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1) + behind;
}

std::optional<EnvironmentJob> job_of_srun() {
  if (variable("SLURM_PROCID") == nullptr) return std::nullopt;
  const char* const tasks =
      variable("SLURM_STEP_NUM_TASKS") != nullptr ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
  if (variable(tasks) == nullptr) return std::nullopt;
  EnvironmentJob job;
  job.size = integer(tasks, 1, 1 << 20);
  if (job.size == 1) return std::nullopt;
  if (variable("SLURM_STEP_ID") == nullptr)
    throw Error(ErrorClass::job, "SLURM_PROCID=" + std::string(variable("SLURM_PROCID")) + " and " + tasks +
                                     "=" + variable(tasks) +
                                     " tell of a Slurm job of several tasks, but this process is in none of "
                                     "its steps: start the program "
                                     "with srun, or set WEFT_BOOTSTRAP=alone");
  job.rank = integer("SLURM_PROCID", 0, job.size - 1);
  job.variables = std::string("SLURM_PROCID, ") + tasks + " and SLURM_STEP_NODELIST";
  if (const char* const ports = variable("SLURM_STEP_RESV_PORTS"); ports != nullptr) {
    const auto first =
        base::parse_integer(std::string(ports).substr(0, std::string(ports).find_first_of("-,")));
    if (first && *first > 0 && *first < 65536) job.port = static_cast<std::uint16_t>(*first);
  }
  if (job.port == 0) {
    // The same on all ranks, and another one for every step.
    const auto number = static_cast<std::uint32_t>(integer("SLURM_JOB_ID", 0, INT32_MAX)) * 131 +
                        static_cast<std::uint32_t>(integer("SLURM_STEP_ID", 0, INT32_MAX));
    job.port = static_cast<std::uint16_t>(20000 + number % 12000);
  }
  const char* const nodes = variable("SLURM_STEP_NUM_NODES");
  if (nodes != nullptr && std::string(nodes) == "1")
    job.host = "127.0.0.1";
  else if (const char* const list = variable("SLURM_STEP_NODELIST"); list != nullptr)
    job.host = first_host(list);
  if (job.host.empty())
    throw Error(ErrorClass::job,
                "SLURM_STEP_NODELIST is not set or not understood: the host of rank 0 is not known");
  return job;
}

std::unique_ptr<Contact> join_environment(EnvironmentJob job) {
  return std::make_unique<Environment>(std::move(job));
}

}  // namespace weft::bootstrap::contact
