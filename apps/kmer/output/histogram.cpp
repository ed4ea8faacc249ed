#include "output/histogram.hpp"

#include <cstring>

namespace kmer {

void Histogram::add(std::uint64_t count, std::uint64_t kmers) {
  if (kmers == 0) return;
  if (count < kDense) {
    if (count >= dense_.size()) dense_.resize(kDense);
    dense_[count] += kmers;
  } else {
    sparse_[count] += kmers;
  }
}

std::vector<Histogram::Bin> Histogram::bins() const {
  std::vector<Bin> bins;
  for (std::size_t count = 0; count < dense_.size(); ++count)
    if (dense_[count] != 0) bins.push_back({count, dense_[count]});
  for (const auto& [count, kmers] : sparse_) bins.push_back({count, kmers});
  return bins;
}

std::vector<std::byte> Histogram::to_bytes() const {
  const std::vector<Bin> all = bins();
  std::vector<std::byte> bytes(all.size() * sizeof(Bin));
  if (!all.empty()) std::memcpy(bytes.data(), all.data(), bytes.size());
  return bytes;
}

void Histogram::add_bytes(std::span<const std::byte> bytes) {
  for (std::size_t at = 0; at + sizeof(Bin) <= bytes.size(); at += sizeof(Bin)) {
    Bin bin;
    std::memcpy(&bin, bytes.data() + at, sizeof bin);
    add(bin.count, bin.kmers);
  }
}

}  // namespace kmer
