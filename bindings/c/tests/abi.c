/* Sizes, offsets and values that programs have been compiled with: they never change within a version. */
#include <weft.h>

#include <stdio.h>

#define FIXED(name, condition) typedef char name[(condition) ? 1 : -1]

FIXED(size_of_message, sizeof(weft_message) == 256);
FIXED(size_of_region_key, sizeof(weft_remote_region) == 40);
FIXED(size_of_handle, sizeof(weft_receive_handle) == 32);
FIXED(size_of_probed, sizeof(weft_probed) == 24);
/* Structs that begin with their size grow at their end: what lies before stays. */
FIXED(size_of_options, sizeof(weft_options) == 104 && sizeof(void*) == 8);
FIXED(offset_of_completion, offsetof(weft_options, completion) == 8);
FIXED(offset_of_timeout, offsetof(weft_options, timeout_ns) == 24);
FIXED(offset_of_engine, offsetof(weft_options, engine) == 48);
FIXED(offset_of_signal, offsetof(weft_options, signal) == 72);
FIXED(offset_of_send_handle, offsetof(weft_options, send_handle) == 96);
FIXED(size_of_send_handle, sizeof(weft_send_handle) == 16);
FIXED(size_of_runtime_options, sizeof(weft_runtime_options) == 32);
FIXED(size_of_device_options, sizeof(weft_device_options) == 16);
FIXED(size_of_engine_options, sizeof(weft_engine_options) == 16);
FIXED(size_of_endpoint_options, sizeof(weft_endpoint_options) == 24);
FIXED(size_of_queue_options, sizeof(weft_queue_options) == 24);
FIXED(size_of_expose_options, sizeof(weft_expose_options) == 16);
FIXED(size_of_collective_options, sizeof(weft_collective_options) == 32 && offsetof(weft_collective_options, team) == 24);
FIXED(size_of_reduction, sizeof(weft_reduction) == 48 && offsetof(weft_reduction, in_order) == 40);
FIXED(size_of_arguments, sizeof(weft_collective_arguments) == 136 && offsetof(weft_collective_arguments, sources) == 104);
FIXED(size_of_context_options, sizeof(weft_context_options) == 48 && sizeof(weft_context_numbers) == 8);
FIXED(size_of_stream_options, sizeof(weft_stream_options) == 16 && sizeof(weft_stream_group_options) == 16);
FIXED(size_of_stream_address, sizeof(weft_stream_address) == 8);
FIXED(values_of_kinds, WEFT_COLLECTIVE_ALLREDUCE == 3 && WEFT_COLLECTIVE_NEIGHBOR_ALLTOALL == 12);
FIXED(values_of_results, WEFT_POSTED == 1 && WEFT_RETRY_NO_SLOT == 17 && WEFT_RETRY_IN_FLIGHT == 24 && WEFT_TRUNCATED == 33 &&
                             WEFT_REFUSED == 37 && WEFT_NOTHING == 48 && WEFT_ERROR_INTERNAL == -4);
FIXED(values_of_operations, WEFT_RECEIVE == 3 && WEFT_ATOMIC_ARRIVED == 9 && WEFT_PEER_FAILURE == 13);
FIXED(values_of_types, WEFT_DOUBLE == 5 && WEFT_UINT16 == 9 && WEFT_ATOMIC_MAX == 6 && WEFT_BIT_XOR == 6);

int main(void) {
  puts("ok");
  return 0;
}
