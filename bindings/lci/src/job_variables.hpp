// How ranks find each other that no launcher has started.
#pragma once

namespace lci {

/// With LCT_PMI_BACKEND=tcp, before the first runtime: makes LCT_MASTER_ADDR and LCT_MASTER_PORT, or else
/// LCI_MASTER_ADDR and LCI_MASTER_PORT, those of MASTER_ADDR and MASTER_PORT, by which weft joins RANK of
/// WORLD_SIZE.
void use_job_variables();

}  // namespace lci
