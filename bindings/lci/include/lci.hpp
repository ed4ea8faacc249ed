// LCI 2's interface over weft: programs of LCI compile against this header and link LCI::LCI.
//
// C++11. docs/guide/bindings/lci.md says what is the same as in LCI, and what is not.
#ifndef WEFT_LCI_LCI_HPP
#define WEFT_LCI_LCI_HPP

#include "lci/base.hpp"
// In this order: each uses those before it.
#include "lci/attributes.hpp"
#include "lci/handles.hpp"
#include "lci/values.hpp"
// Operations, in both forms: post_am(...) and post_am_x(...).tag(1)().
#include "lci/arguments.hpp"
#include "lci/collective.hpp"
#include "lci/communication.hpp"
#include "lci/completion.hpp"
#include "lci/graph.hpp"
#include "lci/resources.hpp"
#include "lci/setup.hpp"

#endif
