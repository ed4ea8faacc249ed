"""Calls every function of weft.h with every handle and pointer that is wrong, one at a time, beside arguments that are right, and
prints a line for each: what was wrong, the function, the argument, the answer, the text of the error. Rank 0 of 1, without a launcher."""

import ctypes
import re
import sys
import threading

import c_headers

LIBRARY = ctypes.CDLL(sys.argv[1])
LAYOUT = (c_headers.HERE / "tests" / "layout_and_values.c").read_text()
SIZES = {name: int(size) for name, size in re.findall(r"^SIZE\((\w+), (\d+)\)", LAYOUT, re.MULTILINE)}
FUNCTIONS = {function.name: function for function in c_headers.functions()}
HANDLES = c_headers.handles()

# Options that must be there; others may be null.
NEEDED_OPTIONS = {"weft_expose_options", "weft_engine_options"}
# Posts of receives, whose options have a completion object.
POSTED_RECEIVES = {"weft_post_receive", "weft_stream_post_receive", "weft_post_receive_list", "weft_prepare_receive", "weft_receive_matched"}
# Pointers that may be null: (function, argument) or the argument's name in any function.
MAY_BE_NULL = {
    "options", "old", "node", "user_data", "context", "capacity", "reason",
    ("weft_receive", "message"), ("weft_stream_receive", "message"), ("weft_receive_list", "message"),
    ("weft_collective_post", "completion"), ("weft_graph_set_completion", "completion"),
}
# Functions that are not called here.
NOT_CALLED = {
    "weft_abort",         # ends the process
    "weft_message_free",  # takes null, as free() does
    "weft_error_text",    # is how the others are judged
}
# Functions of streams and their groups that do not use the stream: any thread may call them.
ANY_THREAD = re.compile(r"weft_stream_(index|endpoint|sender|null|create)$|weft_stream_group_|weft_graph_add_")

HANDLER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
CONDITION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class Pair(ctypes.Structure):
    """weft_stream_address, weft_context_numbers"""
    _fields_ = [("first", ctypes.c_int32), ("second", ctypes.c_uint32)]


SCALARS = {"int": ctypes.c_int, "size_t": ctypes.c_size_t, "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64, "int64_t": ctypes.c_int64,
           "weft_remote": ctypes.c_uint64, "weft_result": ctypes.c_int, "weft_type": ctypes.c_int, "weft_atomic_operation": ctypes.c_int,
           "weft_operation": ctypes.c_int, "weft_stream_address": Pair, "weft_context_numbers": Pair, "void": None}
FUNCTION_TYPES = {"weft_handler": HANDLER(lambda context, message: None), "weft_condition": CONDITION(lambda context: 1),
                  "weft_graph_function": CONDITION(lambda context: 0)}
VALUES = {"size": 8, "head_size": 8, "count": 1, "signals": 1, "timeout_ns": 1000}
kept = []  # memory that calls were given


def struct_of(name):
    """Zeros, with the size where the struct begins with it; aligned as any struct is."""
    memory = (ctypes.c_longdouble * (SIZES[name] // 16 + 1))()
    if "size" in c_headers.fields()[name][:1]:
        ctypes.cast(memory, ctypes.POINTER(ctypes.c_size_t))[0] = SIZES[name]
    kept.append(memory)
    return ctypes.cast(memory, ctypes.c_void_p)


def handle_type(parameter):
    """The type of handle that the parameter is, or None."""
    name = parameter.type.removeprefix("const ").removesuffix("*")
    return name if name in HANDLES and parameter.type.endswith("*") else None


def answer_type(function):
    return ctypes.c_void_p if function.result.endswith("*") else SCALARS[function.result]


def call(name, arguments):
    function = getattr(LIBRARY, name)
    function.restype = answer_type(FUNCTIONS[name])
    return function(*arguments)


def error_text():
    LIBRARY.weft_error_text.restype = ctypes.c_char_p
    return LIBRARY.weft_error_text().decode()


def right(function, parameter, good):
    if handle_type(parameter):
        return ctypes.c_void_p(good[special_kind(function, parameter) or handle_type(parameter)])
    if parameter.type in FUNCTION_TYPES:
        return FUNCTION_TYPES[parameter.type]
    if parameter.type.endswith("const*") or parameter.type.endswith("**"):
        memory = (ctypes.c_void_p * 4)()
        if parameter.name == "streams":
            memory[0] = good["weft_stream"]
        kept.append(memory)
        return memory
    if parameter.type.endswith("*"):
        struct = parameter.type.removeprefix("const ").removesuffix("*")
        if struct.endswith("_options") and struct not in NEEDED_OPTIONS:
            if function.name in POSTED_RECEIVES:
                return good["receive_options"]
            return ctypes.c_void_p(None)
        if struct in SIZES:
            return struct_of(struct)
        if parameter.name == "packet":
            return pointer(good["packet"])
        memory = ctypes.create_string_buffer(b"packet_size", 4096)
        kept.append(memory)
        return memory
    kind = SCALARS[parameter.type]
    return kind() if kind is Pair else kind(VALUES.get(parameter.name, 0))


def special_kind(function, parameter):
    """Of completion objects: those of a kind."""
    for kind in ("queue", "counter", "synchronizer"):
        if parameter.name == kind:
            return kind
    return None


def wrong(what, name, changed, value, good):
    """Calls with one argument that is wrong, and says what came of it."""
    function = FUNCTIONS[name]
    arguments = [value if parameter.name == changed else right(function, parameter, good) for parameter in function.parameters]
    call("weft_size" if name == "weft_rank" else "weft_rank", [None])  # another error before
    print(what, name, changed, sep="\t", end="\t", flush=True)
    answer = call(name, arguments)
    answer = (answer.first, answer.second) if isinstance(answer, Pair) else answer
    print(function.result, answer, error_text(), sep="\t", flush=True)


def may_be_null(name, parameter):
    struct = parameter.type.removeprefix("const ").removesuffix("*")
    if struct in NEEDED_OPTIONS:
        return False
    return parameter.name in MAY_BE_NULL or (name, parameter.name) in MAY_BE_NULL or name.endswith("_destroy")


def create(name, *arguments):
    """A handle that a function makes."""
    handle = ctypes.c_void_p()
    result = call(name, [*arguments, ctypes.byref(handle)])
    if result != 0:
        raise SystemExit(f"{name}: {result}: {error_text()}")
    return handle.value


def pointer(handle):
    return ctypes.c_void_p(handle)


def engine_options(number):
    options = struct_of("weft_engine_options")
    ctypes.cast(options, ctypes.POINTER(ctypes.c_uint32))[2] = number
    return options


def context_options(key):
    options = struct_of("weft_context_options")
    ctypes.cast(options, ctypes.POINTER(ctypes.c_uint32))[4] = key
    return options


def collective_options(key):
    options = struct_of("weft_collective_options")
    ctypes.cast(options, ctypes.POINTER(ctypes.c_uint32))[4] = key
    return options


def make(number):
    """A handle of every type."""
    good = {}
    runtime = good["weft_runtime"] = RUNTIME
    good["weft_endpoint"] = create("weft_endpoint_create", pointer(runtime), None)
    good["weft_device"] = create("weft_device_create", pointer(runtime), None)
    good["weft_engine"] = create("weft_engine_create", pointer(runtime), engine_options(number))
    good["weft_completion"] = good["queue"] = create("weft_queue_create", None)
    good["counter"] = create("weft_counter_create")
    good["synchronizer"] = create("weft_synchronizer_create", ctypes.c_uint32(1))
    good["weft_region"] = create("weft_region_allocate", pointer(runtime), ctypes.c_size_t(64))
    good["weft_context"] = create("weft_context_create", pointer(runtime), context_options(number))
    good["weft_team"] = create("weft_team_of_world", pointer(runtime))
    good["weft_collective"] = create("weft_collective_create", pointer(runtime), pointer(good["weft_endpoint"]), collective_options(number))
    good["weft_collective_operation"] = create("weft_collective_operation_create", pointer(good["weft_collective"]),
                                               struct_of("weft_collective_arguments"))
    good["weft_graph"] = create("weft_graph_create")
    good["weft_stream"] = create("weft_stream_create", pointer(runtime), None)
    streams = (ctypes.c_void_p * 1)(good["weft_stream"])
    good["weft_stream_group"] = create("weft_stream_group_create", pointer(runtime), streams, ctypes.c_size_t(1), None)
    good["receive_options"] = struct_of("weft_options")
    ctypes.cast(good["receive_options"], ctypes.POINTER(ctypes.c_void_p))[1] = good["counter"]
    to_itself = [pointer(good["weft_endpoint"]), ctypes.c_int(0), ctypes.c_uint64(5)]
    good["weft_persistent"] = create("weft_prepare_send", *to_itself, None, ctypes.c_size_t(0), None)
    call("weft_send", [*to_itself, None, ctypes.c_size_t(0), None])
    good["weft_matched"] = create("weft_wait_matched_probe", *to_itself, None)
    good["packet"] = call("weft_packet_get", [pointer(runtime), None])
    good["weft_progress_thread"] = create("weft_progress_thread_create", pointer(runtime), None)
    return good


def destroy(good):
    for name in ("weft_progress_thread", "weft_matched", "weft_persistent", "weft_collective_operation", "weft_collective", "weft_stream_group", "weft_stream", "weft_graph", "weft_team", "weft_context",
                 "weft_region", "weft_engine", "weft_endpoint", "weft_device"):
        if call(f"{name}_destroy", [pointer(good[name])]) != 0:
            raise SystemExit(f"{name}_destroy: {error_text()}")
    for name in ("queue", "counter", "synchronizer"):
        call("weft_completion_destroy", [pointer(good[name])])
    call("weft_packet_put", [pointer(RUNTIME), pointer(good["packet"])])


def sized_struct(name, size):
    """The struct as a caller's headers have it by which its size is this; its last bytes are set where those are newer than the library's."""
    memory = (ctypes.c_longdouble * (max(SIZES[name], min(size, 4096)) // 16 + 1))()
    words = ctypes.cast(memory, ctypes.POINTER(ctypes.c_size_t))
    words[0] = size
    if SIZES[name] < size < 4096:
        words[size // ctypes.sizeof(ctypes.c_size_t) - 1] = 1
    kept.append(memory)
    return ctypes.cast(memory, ctypes.c_void_p)


def with_wrong_sizes(good):
    word = ctypes.sizeof(ctypes.c_size_t)
    for name, function in FUNCTIONS.items():
        for parameter in function.parameters:
            struct = parameter.type.removeprefix("const ").removesuffix("*")
            if "size" not in c_headers.fields().get(struct, [])[:1]:
                continue
            size = SIZES[struct]
            for what, wrong_size in (("no size", 0), ("less than its size", word - 1), ("a part of a field", size - word // 2),
                                     ("more than any struct", 1 << 20), ("a newer field", size + 2 * word)):
                wrong(what, name, parameter.name, sized_struct(struct, wrong_size), good)


def with_wrong_handles(good, gone):
    for name, function in FUNCTIONS.items():
        if name in NOT_CALLED:
            continue
        for parameter in function.parameters:
            if parameter.type.endswith("*") and not may_be_null(name, parameter):
                wrong("null", name, parameter.name, None, good)
            kind = handle_type(parameter)
            if kind is None:
                continue
            another = good["weft_team" if kind != "weft_team" else "weft_graph"]
            wrong("another kind", name, parameter.name, pointer(another), good)
            if gone[kind] is not None:
                wrong("destroyed", name, parameter.name, pointer(gone[kind]), good)
            wrong("no handle", name, parameter.name, ctypes.c_void_p(struct_of("weft_message").value + 8), good)


def from_another_thread(what, good, names):
    """While one thread waits inside the stream, or the serial endpoint."""
    inside, over = threading.Event(), threading.Event()

    def wait(context):
        inside.set()
        over.wait()
        return 1
    condition = CONDITION(wait)
    thread = threading.Thread(target=call, args=("weft_wait_until", [pointer(good["weft_endpoint"]), condition, None, ctypes.c_int64(0)]))
    thread.start()
    inside.wait()
    for name, parameter in names:
        wrong(what, name, parameter, pointer(good[FUNCTIONS_OF[parameter]]), good)
    over.set()
    thread.join()


FUNCTIONS_OF = {"endpoint": "weft_endpoint", "group": "weft_stream_group", "stream": "weft_stream"}


def users_of(parameter_name, but):
    return [(name, parameter_name) for name, function in FUNCTIONS.items()
            if any(parameter.name == parameter_name and handle_type(parameter) for parameter in function.parameters) and not but(name)]


RUNTIME = create("weft_runtime_create", None)
thrown_away = make(7)
destroy(thrown_away)
lasting = make(8)
thrown_away["weft_runtime"] = None
with_wrong_handles(lasting, thrown_away)
with_wrong_sizes(lasting)

of_stream = dict(lasting, weft_endpoint=call("weft_stream_endpoint", [pointer(lasting["weft_stream"])]))
keep_the_endpoint = re.compile(r"weft_collective_create$|weft_context_create$|weft_endpoint_destroy$")
from_another_thread("a second thread in a stream", of_stream,
                    users_of("endpoint", lambda name: ANY_THREAD.search(name) or keep_the_endpoint.search(name))
                    + users_of("group", lambda name: ANY_THREAD.search(name)) + [("weft_stream_close", "stream"), ("weft_stream_destroy", "stream")])

serial = struct_of("weft_endpoint_options")
ctypes.cast(serial, ctypes.POINTER(ctypes.c_void_p))[1] = lasting["weft_device"]
ctypes.cast(serial, ctypes.POINTER(ctypes.c_uint32))[4] = 1
of_device = dict(lasting, weft_endpoint=create("weft_endpoint_create", pointer(RUNTIME), serial))
from_another_thread("a second thread in a serial endpoint", of_device, users_of("endpoint", lambda name: ANY_THREAD.search(name)))
call("weft_endpoint_destroy", [pointer(of_device["weft_endpoint"])])

destroy(lasting)
call("weft_runtime_destroy", [pointer(RUNTIME)])
for each, declared in FUNCTIONS.items():
    if each not in NOT_CALLED:
        for of_type in declared.parameters:
            if handle_type(of_type):
                wrong("after the end", each, of_type.name, right(declared, of_type, lasting), lasting)
print("all functions were called")
