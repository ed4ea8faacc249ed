/* weft for C (C99 and later), and for every language that calls C functions.
 *
 * Functions return a weft_result: WEFT_OK, WEFT_POSTED, a reason to try again, the outcome of an operation,
 * or an error below 0, about which weft_error_text() has a line. No C++ exception leaves a function. Structs
 * of options begin with their size, so that programs and libraries of different versions go together: fill
 * them with zeros, set `size`, then what is to differ from the default. Where a struct of options is
 * optional, null means all defaults. What these functions do is said where their C++ counterparts are
 * declared; here is what C adds.
 *
 * Handles are made by ..._create() and destroyed by ..._destroy(), which takes null, too. What uses a runtime
 * is destroyed before it. A handle that belongs to another object (a stream's endpoint, a group's collective,
 * a graph's completion object) is destroyed with that, and by nothing else. A null pointer, a handle of
 * another kind and one that has been destroyed are WEFT_ERROR_ARGUMENT, or the value for errors of functions
 * that return no weft_result. Threads: as for the C++ counterparts; a handle may be used by any number of
 * threads unless it is said otherwise.
 */
#ifndef WEFT_H
#define WEFT_H

#include <weft_c/base.h>
#include <weft_c/collective.h>
#include <weft_c/completion.h>
#include <weft_c/context.h>
#include <weft_c/endpoint.h>
#include <weft_c/graph.h>
#include <weft_c/matched.h>
#include <weft_c/memory.h>
#include <weft_c/message.h>
#include <weft_c/parts.h>
#include <weft_c/persistent.h>
#include <weft_c/runtime.h>
#include <weft_c/stream.h>
#include <weft_c/team.h>
#include <weft_c/thread.h>

#endif
