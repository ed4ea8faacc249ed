/* Graphs of operations and functions, each of which begins when those before it have ended. */
#ifndef WEFT_C_GRAPH_H
#define WEFT_C_GRAPH_H

#include <weft_c/base.h>
#include <weft_c/endpoint.h>
#include <weft_c/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_graph weft_graph;

/* One thread builds and starts a graph, any number of times; between its start and its end it is not changed.
 */
WEFT_C_API weft_result weft_graph_create(weft_graph** graph);
/* A graph that runs: nodes that have not begun are cancelled, others waited for. */
WEFT_C_API weft_result weft_graph_destroy(weft_graph* graph);

/* Add a node, whose number `node` becomes: 0, 1, 2, ... Arguments are those of the posts of these names;
 * `options` are copied, and have neither a completion object nor handles. Buffers, endpoints and contexts
 * outlive the graph. */
WEFT_C_API weft_result weft_graph_add_send(weft_graph* graph, weft_endpoint* endpoint, int peer, uint64_t tag,
                                           const void* data, size_t size, const weft_options* options,
                                           uint32_t* node);
WEFT_C_API weft_result weft_graph_add_receive(weft_graph* graph, weft_endpoint* endpoint, int source,
                                              uint64_t tag, void* buffer, size_t size,
                                              const weft_options* options, uint32_t* node);
WEFT_C_API weft_result weft_graph_add_am(weft_graph* graph, weft_endpoint* endpoint, int peer,
                                         weft_remote remote, const void* data, size_t size,
                                         const weft_options* options, uint32_t* node);
WEFT_C_API weft_result weft_graph_add_put(weft_graph* graph, weft_endpoint* endpoint, int peer,
                                          const weft_remote_region* to, uint64_t offset, const void* from,
                                          size_t size, const weft_options* options, uint32_t* node);
WEFT_C_API weft_result weft_graph_add_get(weft_graph* graph, weft_endpoint* endpoint, int peer,
                                          const weft_remote_region* from, uint64_t offset, void* to,
                                          size_t size, const weft_options* options, uint32_t* node);
/* Calls a function of the program, in any thread that progresses; it must not wait, and returns WEFT_OK or
 * how the node has ended (WEFT_TRUNCATED to WEFT_REFUSED; anything else counts as WEFT_REFUSED). */
typedef weft_result (*weft_graph_function)(void* context);
WEFT_C_API weft_result weft_graph_add_function(weft_graph* graph, weft_graph_function function, void* context,
                                               uint32_t* node);
/* Runs another graph, which outlives this one. */
WEFT_C_API weft_result weft_graph_add_graph(weft_graph* graph, weft_graph* inner, uint32_t* node);

/* `after` does not begin before `before` has ended. */
WEFT_C_API weft_result weft_graph_order(weft_graph* graph, uint32_t before, uint32_t after);
/* Is signalled at the end of each run with WEFT_GRAPH and the outcome; null: none. */
WEFT_C_API weft_result weft_graph_set_completion(weft_graph* graph, weft_completion* completion,
                                                 void* user_data);
/* The graph as a completion object, whose signal starts it (after weft_graph_prepare); belongs to the graph.
 */
WEFT_C_API weft_completion* weft_graph_completion(weft_graph* graph);

/* Checks the graph, and gets the memory of its runs; weft_graph_start() does it when the graph has changed.
 */
WEFT_C_API weft_result weft_graph_prepare(weft_graph* graph);
/* WEFT_POSTED: a run has begun. */
WEFT_C_API weft_result weft_graph_start(weft_graph* graph);
/* 1: the last run has ended; 0: not yet. Posts refused operations again; does not progress. */
WEFT_C_API int weft_graph_test(weft_graph* graph);
/* Progresses until the run has ended, and returns its outcome, that of the first node that failed; or
 * WEFT_TIMED_OUT while it goes on. */
WEFT_C_API weft_result weft_graph_wait(weft_graph* graph, weft_endpoint* endpoint, int64_t timeout_ns);
/* The outcome of the last run, and of a node in it; WEFT_CANCELLED: it was not begun. */
WEFT_C_API weft_result weft_graph_outcome(const weft_graph* graph);
WEFT_C_API weft_result weft_graph_node_outcome(const weft_graph* graph, uint32_t node);

#ifdef __cplusplus
}
#endif

#endif
