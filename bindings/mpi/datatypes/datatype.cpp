#include "bindings/mpi/datatypes/datatype.hpp"

#include <algorithm>
#include <mutex>

namespace weft::mpi {

Datatype no_type;

Datatype::~Datatype() {
  for (Datatype* type : contents.types) release(type);
}

namespace {

/// The lowest or highest of what parts say; where any has been set by the program, of those alone.
class Bound {
 public:
  void take(MPI_Aint value, bool is_own, bool is_lower) noexcept {
    if (is_set_ && is_own_ && !is_own) return;
    const bool is_better = is_lower ? value < value_ : value > value_;
    if (!is_set_ || is_own_ != is_own || is_better) value_ = value;
    is_set_ = true;
    is_own_ = is_own;
  }
  [[nodiscard]] MPI_Aint value() const noexcept { return value_; }
  [[nodiscard]] bool is_own() const noexcept { return is_own_; }

 private:
  MPI_Aint value_ = 0;
  bool is_set_ = false, is_own_ = false;
};

}  // namespace

void lay_out(Datatype& type) {
  Bound lower, upper, true_lower, true_upper;
  type.size = 0;
  type.basics = 0;
  for (const Part& part : type.parts) {
    const Datatype& child = *part.type;
    if (part.blocklength == 0 || part.repeats == 0) continue;
    type.size += child.size * part.blocklength * part.repeats;
    type.basics += child.basics * part.blocklength * part.repeats;
    type.alignment = std::max(type.alignment, child.alignment);
    // The outermost elements, in whichever direction the extent and the stride go.
    const MPI_Aint last_block = part.stride * (part.repeats - 1);
    const MPI_Aint last_element = child.extent * (part.blocklength - 1);
    const MPI_Aint first =
        part.displacement + std::min<MPI_Aint>(0, last_block) + std::min<MPI_Aint>(0, last_element);
    const MPI_Aint last =
        part.displacement + std::max<MPI_Aint>(0, last_block) + std::max<MPI_Aint>(0, last_element);
    if (!child.is_marker() || child.has_own_lb) lower.take(first + child.lb, child.has_own_lb, true);
    if (!child.is_marker() || child.has_own_ub)
      upper.take(last + child.lb + child.extent, child.has_own_ub, false);
    if (child.size == 0) continue;
    true_lower.take(first + child.true_lb, false, true);
    true_upper.take(last + child.true_lb + child.true_extent, false, false);
  }
  type.has_own_lb = lower.is_own();
  type.has_own_ub = upper.is_own();
  type.lb = lower.value();
  type.extent = upper.value() - lower.value();
  type.true_lb = true_lower.value();
  type.true_extent = true_upper.value() - true_lower.value();
}

namespace {

/// Appends a run, as a part of the last one where it continues that.
void append(std::vector<Run>& runs, const Run& run) {
  if (run.length == 0 || run.repeats == 0) return;
  if (!runs.empty() && run.repeats == 1) {
    Run& last = runs.back();
    if (last.repeats == 1 && last.offset + last.length == run.offset) {
      last.length += run.length;
      return;
    }
    if (last.length == run.length &&
        (last.repeats == 1 || last.offset + last.repeats * last.stride == run.offset)) {
      if (last.repeats == 1) last.stride = run.offset - last.offset;
      ++last.repeats;
      return;
    }
  }
  runs.push_back(run.repeats > 1 && run.stride == run.length ? Run{run.offset, run.length * run.repeats, 1, 0}
                                                             : run);
}

/// More runs than this would not stay in a cache, and take longer to make than to use.
constexpr MPI_Count kMostRuns = 4096;

/// Returns false when that would be too many.
bool append_part(std::vector<Run>& runs, const Part& part) {
  const Datatype& child = *part.type;
  if (child.size == 0 || part.blocklength == 0 || part.repeats == 0) return true;
  if (child.is_dense(part.blocklength)) {
    append(runs,
           {part.displacement + child.true_lb, child.size * part.blocklength, part.repeats, part.stride});
    return true;
  }
  if (child.is_one_block && part.repeats == 1) {
    append(runs, {part.displacement + child.true_lb, child.size, part.blocklength, child.extent});
    return true;
  }
  if (child.is_nested || part.repeats > kMostRuns || part.blocklength > kMostRuns ||
      part.repeats * part.blocklength * static_cast<MPI_Count>(child.runs.size()) > kMostRuns)
    return false;
  for (MPI_Count block = 0; block < part.repeats; ++block)
    for (MPI_Count element = 0; element < part.blocklength; ++element)
      for (const Run& run : child.runs)
        append(runs, {part.displacement + block * part.stride + element * child.extent + run.offset,
                      run.length, run.repeats, run.stride});
  return true;
}

/// Of flattening, which nothing that moves data waits for.
std::recursive_mutex& flatten_mutex() {
  static auto* const mutex = new std::recursive_mutex;  // the predefined datatypes need it first
  return *mutex;
}

}  // namespace

void flatten(Datatype& type) {
  if (type.is_flattened.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(flatten_mutex());
  if (type.is_flattened.load(std::memory_order_relaxed)) return;
  for (const Part& part : type.parts) flatten(*part.type);
  for (const Part& part : type.parts)
    if (!append_part(type.runs, part)) {
      type.is_nested = true;
      type.runs = {};
      break;
    }
  type.is_one_block =
      type.size == 0 || (!type.is_nested && type.runs.size() == 1 && type.runs[0].repeats == 1);
  type.is_contiguous = type.is_one_block && (type.extent == type.size || type.size == 0);
  type.is_flattened.store(true, std::memory_order_release);
}

}  // namespace weft::mpi
