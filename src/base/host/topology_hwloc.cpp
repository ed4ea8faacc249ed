#include <weft/error.hpp>
#include <weft/topology.hpp>

#include <hwloc.h>

#include <algorithm>
#include <memory>

namespace weft {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using TopologyPointer = std::unique_ptr<hwloc_topology, DestroyTopology>;

TopologyPointer load() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw Error(ErrorClass::system, "hwloc cannot be initialised");
  TopologyPointer topology{raw};
  if (hwloc_topology_load(raw) != 0)
    throw Error(ErrorClass::system, "hwloc cannot read the topology of this host");
  return topology;
}

int count_of(hwloc_topology_t topology, hwloc_obj_type_t type) {
  return std::max(1, hwloc_get_nbobjs_by_type(topology, type));
}

std::uint64_t cache_bytes(hwloc_topology_t topology, hwloc_obj_type_t type) {
  const hwloc_obj_t cache = hwloc_get_obj_by_type(topology, type, 0);
  return cache == nullptr || cache->attr == nullptr ? 0 : cache->attr->cache.size;
}

std::string version_text() {
  const unsigned version = hwloc_get_api_version();
  return "hwloc, interface " + std::to_string(version >> 16) + "." + std::to_string(version >> 8 & 0xff);
}

void add_core(Topology& result, hwloc_topology_t topology, hwloc_obj_t object, hwloc_const_cpuset_t allowed) {
  Topology::Core core;
  for (int bit = hwloc_bitmap_first(object->cpuset); bit >= 0; bit = hwloc_bitmap_next(object->cpuset, bit)) {
    if (hwloc_bitmap_isset(allowed, static_cast<unsigned>(bit)) != 0) core.processors.push_back(bit);
  }
  if (core.processors.empty()) return;
  const hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, object);
  if (package != nullptr) core.package = static_cast<int>(package->logical_index);
  core.numa_node = object->nodeset == nullptr ? 0 : std::max(0, hwloc_bitmap_first(object->nodeset));
  result.cores.push_back(std::move(core));
}

}  // namespace

Topology read_topology() {
  const TopologyPointer owner = load();
  const hwloc_topology_t topology = owner.get();

  Topology result;
  result.source = version_text();
  result.packages = count_of(topology, HWLOC_OBJ_PACKAGE);
  result.numa_nodes = count_of(topology, HWLOC_OBJ_NUMANODE);
  result.l2_bytes = cache_bytes(topology, HWLOC_OBJ_L2CACHE);
  result.l3_bytes = cache_bytes(topology, HWLOC_OBJ_L3CACHE);
  const hwloc_obj_t machine = hwloc_get_root_obj(topology);
  result.memory_bytes = machine->total_memory;
  const hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
  const char* model = hwloc_obj_get_info_by_name(package == nullptr ? machine : package, "CPUModel");
  if (model != nullptr) result.processor = model;

  const std::unique_ptr<hwloc_bitmap_s, void (*)(hwloc_bitmap_t)> allowed{hwloc_bitmap_alloc(),
                                                                          hwloc_bitmap_free};
  if (hwloc_get_cpubind(topology, allowed.get(), HWLOC_CPUBIND_PROCESS) != 0) {
    hwloc_bitmap_copy(allowed.get(), hwloc_topology_get_allowed_cpuset(topology));
  }
  // Some virtual machines report processors without cores.
  const bool has_cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0;
  const hwloc_obj_type_t type = has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  for (hwloc_obj_t object = hwloc_get_next_obj_by_type(topology, type, nullptr); object != nullptr;
       object = hwloc_get_next_obj_by_type(topology, type, object)) {
    add_core(result, topology, object, allowed.get());
  }
  return result;
}

}  // namespace weft
