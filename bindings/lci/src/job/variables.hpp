// How ranks find each other that no launcher has started.
#pragma once

namespace lci {

/// With tcp in the list LCT_PMI_BACKEND, or without the list, before the first runtime: makes LCT_MASTER_ADDR
/// and LCT_MASTER_PORT, or else LCI_MASTER_ADDR and LCI_MASTER_PORT, those of MASTER_ADDR and MASTER_PORT, by
/// which weft joins RANK of WORLD_SIZE. Else, with file in it or without the list, the ranks of
/// LCT_PMI_FILE_NRANKS meet by a file. Without the list, without these and without another launcher, RANK and
/// WORLD_SIZE tell of no job. Throws std::runtime_error for a name in the list that LCI does not know.
void use_job_variables();

}  // namespace lci
