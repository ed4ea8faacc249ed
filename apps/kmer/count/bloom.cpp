#include "count/bloom.hpp"

#include <algorithm>
#include <cmath>

namespace kmer {

double false_positive_rate(const BloomPlan& plan) {
  // The number of keys in a block follows Poisson's distribution; a block with n keys has bits set with
  // probability 1 - (63/64)^(n * hashes).
  const double mean = 64.0 / plan.bits_per_key;
  double probability = std::exp(-mean);
  double rate = 0;
  for (int keys = 1; keys < mean + 12 * std::sqrt(mean) + 20; ++keys) {
    probability *= mean / keys;
    const double bit = 1.0 - std::pow(63.0 / 64.0, keys * plan.hashes);
    rate += probability * std::pow(bit, plan.hashes);
  }
  return rate;
}

BloomPlan plan_bloom(double rate) {
  constexpr double kMostBits = 64;  // one word per key: more bits would gain little
  BloomPlan best{kMostBits, kMostBloomHashes};
  for (int hashes = 1; hashes <= kMostBloomHashes; ++hashes) {
    double low = 0.5;
    double high = best.bits_per_key;
    if (false_positive_rate({high, hashes}) > rate) continue;
    while (high - low > 0.01) {
      const double middle = (low + high) / 2;
      (false_positive_rate({middle, hashes}) > rate ? low : high) = middle;
    }
    best = {high, hashes};
  }
  return best;
}

void BloomFilter::reset(std::uint64_t keys) {
  const double words = std::ceil(static_cast<double>(keys) * plan_.bits_per_key / 64.0);
  const auto count = static_cast<std::size_t>(std::clamp(words, 1.0, 4294967295.0));
  seen_.assign(count, 0);
  again_.assign(count, 0);
}

}  // namespace kmer
