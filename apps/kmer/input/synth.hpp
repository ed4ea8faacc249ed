// Synthetic reads of a random genome.
#pragma once

#include "options.hpp"

namespace kmer {

/// Writes round(length x coverage / read_length) reads of a uniformly random genome: uniform positions, both
/// strands, each base replaced by another one with probability error_rate. The same options give the same
/// bytes on every machine. The file appears under its name when it is complete; an existing file is replaced
/// only if its first line shows that synth wrote it. Throws InputError.
void write_synthetic_reads(const SynthOptions& options);

}  // namespace kmer
