// Programs of LCI that include this header and use nothing of LCI's inside compile: it is the public
// interface.
#ifndef WEFT_LCI_LCI_INTERNAL_HPP
#define WEFT_LCI_LCI_INTERNAL_HPP

#include "lci.hpp"
#include "lct.h"

#endif
