#include "study/ranks/workload.hpp"

namespace weft::tools::study {

namespace {

parcel::ParcelCounters counters_here(parcel::Runtime& runtime) { return runtime.counters(); }

}  // namespace

CountersOf::CountersOf(parcel::Runtime& runtime) : runtime_(runtime), before_(total()) {}

parcel::ParcelCounters CountersOf::total() {
  parcel::ParcelCounters sum;
  if (runtime_.rank() == 0)
    for (int rank = 0; rank < runtime_.size(); ++rank) {
      const auto there = runtime_.async(rank, parcel::action<&counters_here>).get();
      sum.sent += there.sent;
      sum.messages += there.messages;
      sum.pushed_back += there.pushed_back;
      sum.aggregated += there.aggregated;
      sum.tasks += there.tasks;
      sum.stolen += there.stolen;
      sum.parks += there.parks;
    }
  runtime_.barrier();
  return sum;
}

Json CountersOf::changes() {
  const parcel::ParcelCounters after = total();
  return {{"parcels", after.sent - before_.sent},
          {"messages", after.messages - before_.messages},
          {"pushed_back", after.pushed_back - before_.pushed_back},
          {"aggregated", after.aggregated - before_.aggregated},
          {"tasks", after.tasks - before_.tasks},
          {"stolen", after.stolen - before_.stolen},
          {"parks", after.parks - before_.parks}};
}

}  // namespace weft::tools::study
