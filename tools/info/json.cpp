#include <nlohmann/json.hpp>

#include <weft/collective/algorithms.hpp>

#include "info/report.hpp"

namespace weft::tools::info {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Topology& host) {
  Json cores = Json::array();
  for (const Topology::Core& core : host.cores) {
    cores.push_back(
        {{"package", core.package}, {"numa_node", core.numa_node}, {"processors", core.processors}});
  }
  return {{"source", host.source},         {"processor", host.processor},       {"packages", host.packages},
          {"numa_nodes", host.numa_nodes}, {"memory_bytes", host.memory_bytes}, {"l2_bytes", host.l2_bytes},
          {"l3_bytes", host.l3_bytes},     {"cores", std::move(cores)}};
}

Json json_of(const std::vector<Component>& components) {
  Json array = Json::array();
  for (const Component& component : components) {
    array.push_back({{"name", component.name},
                     {"present", component.present},
                     {component.present ? "description" : "reason", component.remark}});
  }
  return array;
}

/// A limit of 0: none.
Json json_of_algorithms() {
  Json array = Json::array();
  for (const CollectiveAlgorithm& row : collective_algorithms())
    array.push_back({{"collective", row.collective},
                     {"algorithm", row.name},
                     {"rounds", row.rounds},
                     {"most_bytes", row.most_bytes},
                     {"least_members", row.least_members},
                     {"most_members", row.most_members},
                     {"needs_hosts", row.needs_hosts},
                     {"needs_equal_blocks", row.needs_equal_blocks},
                     {"is_commutative", row.is_commutative}});
  return array;
}

Json json_of(const AttributeState& state) {
  return {{"name", state.name},   {"variable", state.variable}, {"type", state.type},
          {"value", state.value}, {"source", state.source},     {"default", state.default_value},
          {"range", state.range}, {"unit", state.unit},         {"meaning", state.help}};
}

}  // namespace

std::string as_json(const AttributeState& state) {
  return json_of(state).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string as_json(const Report& report) {
  Json build = Json::object();
  for (const BuildOption& option : report.build) build[option.name] = option.value;
  Json attributes = Json::array();
  for (const AttributeState& state : report.attributes) attributes.push_back(json_of(state));
  const Json root = {{"version", report.version},
                     {"build", std::move(build)},
                     {"host", json_of(report.host)},
                     {"networks", json_of(report.networks)},
                     {"bootstraps", json_of(report.bootstraps)},
                     {"start", report.start},
                     {"collectives", json_of_algorithms()},
                     {"attributes", std::move(attributes)}};
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace weft::tools::info
