/* Sizes, offsets and values that programs have been compiled with: they never change within a version.
 * Structs that begin with their size grow at their end, as do lists of values: new fields and values get a
 * line here, and no line changes. */
#include <weft.h>

#define CHECK(name, condition) typedef char name[(condition) ? 1 : -1]
#define SIZE(type, bytes) CHECK(size_of_##type, sizeof(type) == (bytes))
#define FIELD(type, field, bytes) CHECK(offset_of_##field##_in_##type, offsetof(type, field) == (bytes))
#define VALUE(name, number) CHECK(value_of_##name, (name) == (number))

CHECK(pointers_of_64_bits, sizeof(void*) == 8);

SIZE(weft_collective_options, 32);
FIELD(weft_collective_options, size, 0);
FIELD(weft_collective_options, timeout_ns, 8);
FIELD(weft_collective_options, key, 16);
FIELD(weft_collective_options, reserved, 20);
FIELD(weft_collective_options, team, 24);

SIZE(weft_reduction, 48);
FIELD(weft_reduction, size, 0);
FIELD(weft_reduction, combine, 8);
FIELD(weft_reduction, context, 16);
FIELD(weft_reduction, element_size, 24);
FIELD(weft_reduction, type, 32);
FIELD(weft_reduction, operation, 36);
FIELD(weft_reduction, in_order, 40);
FIELD(weft_reduction, reserved, 44);

SIZE(weft_collective_arguments, 136);
FIELD(weft_collective_arguments, size, 0);
FIELD(weft_collective_arguments, kind, 8);
FIELD(weft_collective_arguments, root, 12);
FIELD(weft_collective_arguments, from, 16);
FIELD(weft_collective_arguments, to, 24);
FIELD(weft_collective_arguments, element_size, 32);
FIELD(weft_collective_arguments, count, 40);
FIELD(weft_collective_arguments, to_count, 48);
FIELD(weft_collective_arguments, reduction, 56);
FIELD(weft_collective_arguments, has_counts, 64);
FIELD(weft_collective_arguments, reserved, 68);
FIELD(weft_collective_arguments, from_counts, 72);
FIELD(weft_collective_arguments, to_counts, 80);
FIELD(weft_collective_arguments, from_displacements, 88);
FIELD(weft_collective_arguments, to_displacements, 96);
FIELD(weft_collective_arguments, sources, 104);
FIELD(weft_collective_arguments, source_count, 112);
FIELD(weft_collective_arguments, destinations, 120);
FIELD(weft_collective_arguments, destination_count, 128);

SIZE(weft_queue_options, 24);
FIELD(weft_queue_options, size, 0);
FIELD(weft_queue_options, capacity, 8);
FIELD(weft_queue_options, initial, 12);
FIELD(weft_queue_options, capacity_bytes, 16);

SIZE(weft_expose_options, 16);
FIELD(weft_expose_options, size, 0);
FIELD(weft_expose_options, id, 8);
FIELD(weft_expose_options, device, 12);

SIZE(weft_context_numbers, 8);
FIELD(weft_context_numbers, first, 0);
FIELD(weft_context_numbers, count, 4);

SIZE(weft_context_options, 48);
FIELD(weft_context_options, size, 0);
FIELD(weft_context_options, flags, 8);
FIELD(weft_context_options, count, 12);
FIELD(weft_context_options, key_plus_1, 16);
FIELD(weft_context_options, agreement, 20);
FIELD(weft_context_options, members, 24);
FIELD(weft_context_options, member_count, 32);
FIELD(weft_context_options, endpoint, 40);

SIZE(weft_endpoint_options, 24);
FIELD(weft_endpoint_options, size, 0);
FIELD(weft_endpoint_options, device, 8);
FIELD(weft_endpoint_options, flags, 16);
FIELD(weft_endpoint_options, reserved, 20);

SIZE(weft_receive_handle, 32);
FIELD(weft_receive_handle, words, 0);

SIZE(weft_send_handle, 16);
FIELD(weft_send_handle, words, 0);

SIZE(weft_options, 112);
FIELD(weft_options, size, 0);
FIELD(weft_options, completion, 8);
FIELD(weft_options, user_data, 16);
FIELD(weft_options, timeout_ns, 24);
FIELD(weft_options, flags, 32);
FIELD(weft_options, tag, 36);
FIELD(weft_options, message_class, 40);
FIELD(weft_options, policy, 44);
FIELD(weft_options, engine, 48);
FIELD(weft_options, device, 52);
FIELD(weft_options, ignored_tag_bits, 56);
FIELD(weft_options, handle, 64);
FIELD(weft_options, signal, 72);
FIELD(weft_options, context, 80);
FIELD(weft_options, part, 88);
FIELD(weft_options, reserved, 92);
FIELD(weft_options, send_handle, 96);
FIELD(weft_options, region, 104);

SIZE(weft_probed, 24);
FIELD(weft_probed, tag, 0);
FIELD(weft_probed, length, 8);
FIELD(weft_probed, peer, 16);
FIELD(weft_probed, reserved, 20);

SIZE(weft_region_options, 24);
FIELD(weft_region_options, size, 0);
FIELD(weft_region_options, memory, 8);
FIELD(weft_region_options, flags, 16);
FIELD(weft_region_options, reserved, 20);

SIZE(weft_remote_region, 40);
FIELD(weft_remote_region, rank, 0);
FIELD(weft_remote_region, index, 4);
FIELD(weft_remote_region, generation, 8);
FIELD(weft_remote_region, reserved, 12);
FIELD(weft_remote_region, bytes, 16);
FIELD(weft_remote_region, address, 24);
FIELD(weft_remote_region, key, 32);

SIZE(weft_message, 256);
FIELD(weft_message, storage, 0);

SIZE(weft_payload, 32);
FIELD(weft_payload, data, 0);
FIELD(weft_payload, size, 8);
FIELD(weft_payload, words, 16);

SIZE(weft_message_fields, 80);
FIELD(weft_message_fields, size, 0);
FIELD(weft_message_fields, operation, 8);
FIELD(weft_message_fields, outcome, 12);
FIELD(weft_message_fields, peer, 16);
FIELD(weft_message_fields, device, 20);
FIELD(weft_message_fields, tag, 24);
FIELD(weft_message_fields, data, 32);
FIELD(weft_message_fields, data_size, 40);
FIELD(weft_message_fields, payload, 48);
FIELD(weft_message_fields, user_data, 56);
FIELD(weft_message_fields, remote, 64);
FIELD(weft_message_fields, length, 72);

SIZE(weft_bytes, 16);
FIELD(weft_bytes, data, 0);
FIELD(weft_bytes, size, 8);

SIZE(weft_buffer, 16);
FIELD(weft_buffer, data, 0);
FIELD(weft_buffer, size, 8);

SIZE(weft_put_piece, 64);
FIELD(weft_put_piece, to, 0);
FIELD(weft_put_piece, offset, 40);
FIELD(weft_put_piece, from, 48);
FIELD(weft_put_piece, size, 56);

SIZE(weft_get_piece, 64);
FIELD(weft_get_piece, from, 0);
FIELD(weft_get_piece, offset, 40);
FIELD(weft_get_piece, to, 48);
FIELD(weft_get_piece, size, 56);

SIZE(weft_attribute, 16);
FIELD(weft_attribute, name, 0);
FIELD(weft_attribute, value, 8);

SIZE(weft_runtime_options, 32);
FIELD(weft_runtime_options, size, 0);
FIELD(weft_runtime_options, attributes, 8);
FIELD(weft_runtime_options, attribute_count, 16);
FIELD(weft_runtime_options, name, 24);

SIZE(weft_device_options, 16);
FIELD(weft_device_options, size, 0);
FIELD(weft_device_options, index_plus_1, 8);
FIELD(weft_device_options, reserved, 12);

SIZE(weft_engine_options, 16);
FIELD(weft_engine_options, size, 0);
FIELD(weft_engine_options, id, 8);
FIELD(weft_engine_options, flags, 12);

SIZE(weft_stream_options, 16);
FIELD(weft_stream_options, size, 0);
FIELD(weft_stream_options, device, 8);
FIELD(weft_stream_options, reserved, 12);

SIZE(weft_stream_group_options, 16);
FIELD(weft_stream_group_options, size, 0);
FIELD(weft_stream_group_options, collective_index, 8);
FIELD(weft_stream_group_options, reserved, 12);

SIZE(weft_stream_address, 8);
FIELD(weft_stream_address, rank, 0);
FIELD(weft_stream_address, index, 4);

SIZE(weft_progress_thread_options, 40);
FIELD(weft_progress_thread_options, size, 0);
FIELD(weft_progress_thread_options, device, 8);
FIELD(weft_progress_thread_options, processors, 16);
FIELD(weft_progress_thread_options, processor_count, 24);
FIELD(weft_progress_thread_options, interval_ns, 32);

VALUE(WEFT_OK, 0);
VALUE(WEFT_POSTED, 1);
VALUE(WEFT_RETRY_NO_SLOT, 17);
VALUE(WEFT_RETRY_NO_PACKET, 18);
VALUE(WEFT_RETRY_NO_CREDIT, 19);
VALUE(WEFT_RETRY_NO_REQUEST, 20);
VALUE(WEFT_RETRY_LOCK, 21);
VALUE(WEFT_RETRY_BACKLOG, 22);
VALUE(WEFT_RETRY_NOT_READY, 23);
VALUE(WEFT_RETRY_IN_FLIGHT, 24);
VALUE(WEFT_TRUNCATED, 33);
VALUE(WEFT_CANCELLED, 34);
VALUE(WEFT_TIMED_OUT, 35);
VALUE(WEFT_PEER_FAILED, 36);
VALUE(WEFT_REFUSED, 37);
VALUE(WEFT_NOTHING, 48);
VALUE(WEFT_ERROR_ARGUMENT, -1);
VALUE(WEFT_ERROR_USE, -2);
VALUE(WEFT_ERROR_MEMORY, -3);
VALUE(WEFT_ERROR_INTERNAL, -4);
VALUE(WEFT_SUM, 0);
VALUE(WEFT_PRODUCT, 1);
VALUE(WEFT_MIN, 2);
VALUE(WEFT_MAX, 3);
VALUE(WEFT_BIT_AND, 4);
VALUE(WEFT_BIT_OR, 5);
VALUE(WEFT_BIT_XOR, 6);
VALUE(WEFT_COLLECTIVE_BARRIER, 0);
VALUE(WEFT_COLLECTIVE_BROADCAST, 1);
VALUE(WEFT_COLLECTIVE_REDUCE, 2);
VALUE(WEFT_COLLECTIVE_ALLREDUCE, 3);
VALUE(WEFT_COLLECTIVE_GATHER, 4);
VALUE(WEFT_COLLECTIVE_SCATTER, 5);
VALUE(WEFT_COLLECTIVE_ALLGATHER, 6);
VALUE(WEFT_COLLECTIVE_ALLTOALL, 7);
VALUE(WEFT_COLLECTIVE_REDUCE_SCATTER, 8);
VALUE(WEFT_COLLECTIVE_INCLUSIVE_SCAN, 9);
VALUE(WEFT_COLLECTIVE_EXCLUSIVE_SCAN, 10);
VALUE(WEFT_COLLECTIVE_NEIGHBOR_ALLGATHER, 11);
VALUE(WEFT_COLLECTIVE_NEIGHBOR_ALLTOALL, 12);
VALUE(WEFT_NEEDS_ALL_MEMBERS, 4);
VALUE(WEFT_SERIAL, 1);
VALUE(WEFT_MAY_COMPLETE_NOW, 1);
VALUE(WEFT_NO_RETRY, 2);
VALUE(WEFT_SYNCHRONOUS, 4);
VALUE(WEFT_CLASS_NORMAL, 0);
VALUE(WEFT_CLASS_CONTROL, 1);
VALUE(WEFT_CLASS_BULK, 2);
VALUE(WEFT_MATCH_RANK_AND_TAG, 0);
VALUE(WEFT_MATCH_RANK, 1);
VALUE(WEFT_MATCH_TAG, 2);
VALUE(WEFT_MATCH_ANY, 3);
VALUE(WEFT_NATIVE_ATOMICS, 1);
VALUE(WEFT_INT32, 0);
VALUE(WEFT_UINT32, 1);
VALUE(WEFT_INT64, 2);
VALUE(WEFT_UINT64, 3);
VALUE(WEFT_FLOAT, 4);
VALUE(WEFT_DOUBLE, 5);
VALUE(WEFT_INT8, 6);
VALUE(WEFT_UINT8, 7);
VALUE(WEFT_INT16, 8);
VALUE(WEFT_UINT16, 9);
VALUE(WEFT_ATOMIC_ADD, 0);
VALUE(WEFT_ATOMIC_SWAP, 1);
VALUE(WEFT_ATOMIC_AND, 2);
VALUE(WEFT_ATOMIC_OR, 3);
VALUE(WEFT_ATOMIC_XOR, 4);
VALUE(WEFT_ATOMIC_MIN, 5);
VALUE(WEFT_ATOMIC_MAX, 6);
VALUE(WEFT_ACTIVE_MESSAGE, 0);
VALUE(WEFT_ACTIVE_MESSAGE_SENT, 1);
VALUE(WEFT_SEND, 2);
VALUE(WEFT_RECEIVE, 3);
VALUE(WEFT_PUT, 4);
VALUE(WEFT_GET, 5);
VALUE(WEFT_PUT_ARRIVED, 6);
VALUE(WEFT_GET_ARRIVED, 7);
VALUE(WEFT_ATOMIC, 8);
VALUE(WEFT_ATOMIC_ARRIVED, 9);
VALUE(WEFT_GRAPH, 10);
VALUE(WEFT_MULTIPART_MESSAGE, 11);
VALUE(WEFT_PARTS, 12);
VALUE(WEFT_PEER_FAILURE, 13);
VALUE(WEFT_NO_OPERATION, 255);
VALUE(WEFT_ORDERED, 1);
VALUE(WEFT_SERIAL_ENGINE, 2);

int main(void) { return 0; }
