"""Writes what the table of functions determines: `generate.py OUTPUT_FOLDER` makes mpi_functions.h and entry_GROUP.cpp there,
`generate.py --markdown` prints the table of docs/guide/bindings/mpi.md, `generate.py --info FILE` writes what `weft info --mpi` shows."""

import re
import sys
from pathlib import Path

import functions

NOTE = "made of bindings/mpi/table by bindings/mpi/generate/generate.py"
OBJECTS = {"MPI_Comm": "communicator_of", "MPI_Datatype": "datatype_of", "MPI_Op": "operation_of", "MPI_Group": "group_of",
           "MPI_Info": "info_of", "MPI_Session": "session_of"}
# The handle whose error handler learns of a failure.
OWNERS = {"MPI_Comm": "comm", "MPI_Win": "win", "MPI_File": "file", "MPI_Session": "session"}


def header(groups):
    lines = [f"/* The functions of MPI; {NOTE}. */"]
    for rows in groups.values():
        for row in rows:
            for large in ([False, True] if row.has_twin else [False]):
                lines += [f"{row.declaration(prefix, large)};" for prefix in ("MPI_", "PMPI_")]
    return "\n".join(lines) + "\n"


def converted(argument, loose=(), group=None):
    """What the implementation is given for an argument of the entry point."""
    if group == "point_to_point" and argument.type == "MPI_Datatype":
        return f'datatype_for({argument.name}, {COUNTS_OF[argument.name]}, "{argument.name}")'
    if argument.array or "*" in argument.type:
        if (argument.word and argument.type.startswith("const ")) or argument.type == "const MPI_Aint":
            return f"Numbers({argument.name})"
        if argument.word and argument.type.endswith("*") and not argument.array:
            return f"CountResult({argument.name})"
        return argument.name
    if argument.word == "COUNT" and not loose:
        return f'count_of({argument.name}, "{argument.name}")'
    if argument.word:
        return f"static_cast<MPI_Count>({argument.name})"
    if argument.name in ("peer_comm", "remote_group"):  # count on the leaders only
        return argument.name
    if argument.type in loose:
        return f"{loose[argument.type]}({argument.name})"
    if argument.type in OBJECTS:
        return f'{OBJECTS[argument.type]}({argument.name}, "{argument.name}")'
    return argument.name


# Of collectives only some arguments count on some ranks: counts and datatypes are checked where they do.
# Calls that take null handles, too.
OF_ANY_HANDLE = ("Comm_get_name", "Type_get_name")
# The elements of a datatype: where there are none it may be a null handle.
COUNTS_OF = {"datatype": "count", "sendtype": "sendcount", "recvtype": "recvcount"}
LOOSE_OBJECTS = {"MPI_Datatype": "datatype_if_any"}
BUFFERS_OF = {"sendtype": "sendbuf", "recvtype": "recvbuf"}
COLLECTIVES = ("collectives", "neighbours")
# Groups whose results are stored through pointers that must be there; of others only those that are no arrays, and statuses that are read.
OF_RESULTS = ("attributes", "communicators", "datatypes", "errors", "groups", "info", "operations", "sessions", "topologies")
RESULTS = ("int*", "MPI_Aint*", "MPI_Count*", "COUNT*", "SIGNED*", "DISP*", "AINT*", "MPI_Comm*", "MPI_Datatype*", "MPI_Errhandler*", "MPI_Group*",
           "MPI_Info*", "MPI_Op*", "MPI_Session*")
OF_REQUESTS = ("point_to_point", "requests", "partitioned", "collectives", "neighbours")
RESULTS_OF_REQUESTS = ("int*", "COUNT*", "MPI_Count*", "MPI_Request*", "MPI_Message*")
# Texts that are read, or stored, at any rate; of others a length may be 0.
TEXTS = ("Comm_set_name", "Type_set_name", "Add_error_string", "Pack_external", "Pack_external_size", "Unpack_external")
PLACES_OF_TEXTS = ("Comm_get_name", "Type_get_name", "Error_string", "Get_processor_name", "Get_library_version")
READ_STATUSES = ("Get_count", "Get_elements", "Get_elements_x", "Test_cancelled")
# Groups whose functions of the program must be there; those of attributes may be null pointers.
OF_FUNCTIONS = ("errors", "operations")
FUNCTIONS = ("_function*", "_function_c*")
# Arrays, which are null pointers where there is nothing to store. They are no arrays in C: compilers would warn of MPI_UNWEIGHTED.
ARRAYS_OF_RESULTS = ("sourceweights", "destweights")
# The classes of handles that a program has to free, and calls that hand out what it has not to: why they do not.
CHECKED_HANDLES = ("MPI_Comm", "MPI_Datatype", "MPI_Group", "MPI_Op", "MPI_Info", "MPI_Errhandler", "MPI_Win")
OF_NO_OWN_HANDLE = {
    "Type_commit": "changes a datatype that the program has",
    "Type_create_f90_complex": "datatypes of Fortran's kinds are predefined",
    "Type_create_f90_integer": "datatypes of Fortran's kinds are predefined",
    "Type_create_f90_real": "datatypes of Fortran's kinds are predefined",
    "Type_match_size": "gives a predefined datatype",
    "Type_get_value_index": "gives a predefined datatype",
    "Comm_get_parent": "gives the same communicator each time",
    "T_cvar_get_info": "gives a predefined datatype",
    "T_pvar_get_info": "gives a predefined datatype",
}
# Groups whose arrays must be there, as many elements as the argument of one of these names says; and arrays that may be null then.
OF_ARRAYS = ("datatypes", "groups", "topologies")
LENGTHS = ("count", "n", "ndims", "nnodes")
ARRAYS_OF_OTHER_LENGTHS = ("edges", "destinations")
BASES = ("barrier", "bcast", "reduce", "allreduce", "scan", "exscan", "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw",
         "reduce_scatter_block", "reduce_scatter", "gather", "gatherv", "scatter", "scatterv")


def kept(argument, row):
    """The copy of an array for a persistent collective, of as many elements as count on this rank."""
    is_sent = argument.name.startswith(("send", "sdispls"))
    if row.group == "neighbours":
        length = f"{'out' if is_sent else 'in'}_degree(communicator)"
    elif any(each.name == "root" for each in row.arguments):
        length = "length_at_root(communicator, root)"
    elif "educe_scatter" in row.name:
        length = "communicator.size"
    else:
        length = ("sendbuf == MPI_IN_PLACE ? 0 : " if is_sent else "") + "communicator.peers().size()"
    if argument.type == "const MPI_Datatype":
        return f"KeptTypes({argument.name}, {length})"
    return f"KeptNumbers({converted(argument)}, {length})"


def collective_argument(argument, row):
    """As converted(), but what does not count on this rank may be anything."""
    if argument.type != "MPI_Datatype" or row.group != "collectives" or argument.name not in BUFFERS_OF:
        return converted(argument, LOOSE_OBJECTS)
    is_at_root = "communicator.is_root(root)"
    counts = f"{BUFFERS_OF[argument.name]} != MPI_IN_PLACE"
    if any(each.name == "root" for each in row.arguments):
        of_root = "sendtype" if "catter" in row.name else "recvtype"
        counts = is_at_root if argument.name == of_root else f"!{is_at_root} || {counts}"
    elif argument.name == "recvtype":
        return converted(argument, LOOSE_OBJECTS)
    return f"datatype_if({counts}, {argument.name})"


def collective_call(row):
    """Collectives are tasks: MPI_Bcast runs one, MPI_Ibcast begins it, MPI_Bcast_init prepares it."""
    given = {"comm", "info", "request"}
    arguments = [collective_argument(a, row) for a in row.arguments if a.name not in given]
    name = row.name.lower()
    comm = 'communicator_of(comm, "comm")'
    # The program may free its handles before it starts a persistent request, and its arrays before an immediate one ends.
    is_persistent, is_immediate = name.endswith("_init"), row.arguments[-1].name == "request" and not name.endswith("_init")
    if is_persistent or (is_immediate and any(a.array for a in row.arguments)):
        held = {a.name: f"Held({collective_argument(a, row)})" for a in row.arguments if a.type in ("MPI_Datatype", "MPI_Op")}
        held |= {a.name: kept(a, row) for a in row.arguments if a.array}
        captures = ", ".join(["=", *(f"{each} = {value}" for each, value in held.items())])
        arguments = [a.name if a.name in held else collective_argument(a, row) for a in row.arguments if a.name not in given]
        base = name[:-5] if is_persistent else name[1:]
        make = f"[{captures}](Channel channel) {{ return {base}({', '.join(['channel', *arguments])}); }}"
        if is_immediate:
            return (f"Communicator& communicator = {comm};\n    const auto make = {make};\n"
                    f"    begin(communicator, keep_until_end(make, numbered(communicator, true, make, roll)), request)")
        return (f"Communicator& communicator = {comm};\n    static_cast<void>({converted(row.arguments[-2])});\n"
                f"    prepare(communicator, request, {make}, roll)")
    is_begun = any(a.name == "request" for a in row.arguments)
    task = f"{name[1:] if is_begun else name}({', '.join(['channel', *arguments])})"
    numbered = f"numbered(communicator, {'true' if is_begun else 'false'}, [&](Channel channel) {{ return {task}; }}, roll)"
    return f"Communicator& communicator = {comm};\n    {'begin' if is_begun else 'run'}(communicator, {numbered}{', request' if is_begun else ''})"


def owner(row):
    for argument in row.arguments:
        base = argument.type.replace("*", "").strip()
        if base in OWNERS and argument.type in (base, f"{base}*") and not argument.array:
            kind = base[4:].lower()
            # What is made by the call is no owner of its failure.
            if argument.type != base and argument.name.startswith(("new", "comm_cart", "comm_graph", "comm_dist_graph", "intercomm", "parent")):
                continue
            if argument.type != base and row.name in ("Win_create", "Win_allocate", "Win_allocate_shared", "Win_create_dynamic", "File_open",
                                                      "Session_init"):
                continue
            # A pointer to the handle may be null.
            return argument.name if argument.type == base else f"{argument.name} != nullptr ? *{argument.name} : nullptr", kind
    return None, None


def checks_of(row):
    """What an entry point does before and behind its call so that handles which the program does not free are known."""
    if row.name.startswith("Type_get_contents"):
        return "", ";\n    note_contents(datatype, array_of_datatypes)"
    handles = [a for a in row.arguments if a.type.endswith("*") and not a.array and a.type[:-1] in CHECKED_HANDLES]
    if not handles or row.name in OF_NO_OWN_HANDLE:
        return "", ""
    if row.name.endswith(("_free", "_disconnect")):
        return "".join(f"const void* const freed = *{a.name};\n    " for a in handles), ";\n    note_freed(freed)"
    return "", "".join(f";\n    note_made(*{a.name})" for a in handles)


def results_needed(row):
    """Refuses null pointers where results are to be stored, or arrays are read. A topology that is not made leaves a null handle."""
    if row.name in TEXTS or row.name in PLACES_OF_TEXTS:
        need = "text" if row.name in TEXTS else "result"
        return "".join(f'need_{need if "char*" in a.type else "result"}({a.name}, "{a.name}");\n    ' for a in row.arguments
                       if "char*" in a.type or a.type in RESULTS)
    if row.group in OF_REQUESTS:
        results = [a for a in row.arguments if a.type in RESULTS_OF_REQUESTS and not a.array]
        status = 'need_status(status);\n    ' if row.name in READ_STATUSES or row.name.startswith("Status_") else ""
        arrays = [a for a in row.arguments if a.array and a.type != "MPI_Status" and row.group == "requests"]
        length = row.arguments[0].name
        return "".join([status, *(f'need_result({a.name}, "{a.name}");\n    ' for a in results),
                        *(f'need_array({a.name}, {length}, "{a.name}");\n    ' for a in arrays)])
    if row.group not in OF_RESULTS:
        return ""
    results = [a for a in row.arguments if a.type in RESULTS and not a.array and a.name not in ARRAYS_OF_RESULTS]
    names = [a.name for a in row.arguments]
    length = next((name for name in LENGTHS if name in names), None) if row.group in OF_ARRAYS else None
    arrays = [a for a in row.arguments if length and a.array and a.name not in ARRAYS_OF_OTHER_LENGTHS]
    made = [a for a in results if row.group == "topologies" and a.type == "MPI_Comm*"]
    functions = [a for a in row.arguments if a.type.endswith(FUNCTIONS) and row.group in OF_FUNCTIONS]
    return "".join([*(f'need_result({a.name}, "{a.name}");\n    ' for a in results),
                    *(f'need_function({a.name} != nullptr, "{a.name}");\n    ' for a in functions),
                    *(f"*{a.name} = MPI_COMM_NULL;\n    " for a in made),
                    *(f'need_array({a.name}, {length}, "{a.name}");\n    ' for a in arrays)])


def collective_check(row):
    """A CollectiveCall: what all members must say alike."""
    names = {a.name for a in row.arguments}
    base = re.sub("_init$", "", row.name).lower()
    base = base if base in BASES else base[1:]
    amount = "Amount{}"
    if base in ("bcast", "reduce", "allreduce", "scan", "exscan"):
        amount = "amount_of(count, datatype)"
    elif base in ("allgather", "alltoall", "reduce_scatter_block"):
        amount = "amount_of(recvcount, recvtype)" if "recvtype" in names else "amount_of(recvcount, datatype)"
    elif base in ("gather", "scatter"):
        at_root, elsewhere = ("recv", "send") if base == "gather" else ("send", "recv")
        amount = (f"communicator.is_root(root) ? amount_of({at_root}count, {at_root}type) "
                  f": amount_of({elsewhere}count, {elsewhere}type)")
    operation = 'find<Reduction>(op)' if "op" in names else "nullptr"
    return f"{{{'root' if 'root' in names else '-1'}, {amount}, {operation}}}"


def compared_lists(row):
    """What members send each other in a collective with lists of counts, for the checks; empty: nothing."""
    base = re.sub("_init$", "", row.name).lower()
    base = base if base in BASES or base.startswith("neighbor") else base[1:]
    in_place = "sendbuf == MPI_IN_PLACE"
    one = "BlockList{{{0}count, {{}}, {0}type}}"
    many = "BlockList{{0, Numbers({0}counts), {0}type}}"
    of_types = "BlockList{{0, Numbers({0}counts), MPI_DATATYPE_NULL, {0}types}}"
    if base.startswith("neighbor"):
        each = {"allgather": (one, one), "allgatherv": (one, many), "alltoall": (one, one), "alltoallv": (many, many),
                "alltoallw": (of_types, of_types)}[base.split("_")[1]]
        return f"compare_edges(channel, {each[0].format('send')}, {each[1].format('recv')})"
    if base == "allgatherv":
        own = "BlockList{Numbers(recvcounts)[communicator.rank], {}, recvtype}"
        return f"compare_lists(channel, Shape::all_to_all, -1, {in_place} ? {own} : {one.format('send')}, {many.format('recv')})"
    if base in ("alltoallv", "alltoallw"):
        lists = many if base == "alltoallv" else of_types
        return f"compare_lists(channel, Shape::all_to_all, -1, {in_place} ? {lists.format('recv')} : {lists.format('send')}, {lists.format('recv')})"
    if base == "gatherv":
        return f"compare_lists(channel, Shape::gather, root, {one.format('send')}, {many.format('recv')})"
    if base == "scatterv":
        return f"compare_lists(channel, Shape::scatter, root, {many.format('send')}, {one.format('recv')})"
    if base == "reduce_scatter":
        return ("compare_lists(channel, Shape::all_to_all, -1, BlockList{0, Numbers(recvcounts), datatype}, "
                "BlockList{Numbers(recvcounts)[communicator.rank], {}, datatype})")
    return ""


def noted_call(full, row):
    """What the communicator's history keeps of a collective."""
    names = {a.name for a in row.arguments}
    root = "root" if "root" in names else "CallHistory::kNoRoot"
    operation = "find<Reduction>(op)" if "op" in names else "nullptr"
    count = next((a.name for a in row.arguments if a.name in ("count", "recvcount") and not a.array), None)
    values = f", values_of({count}, datatype)" if "op" in names and count else ""
    return f'constexpr std::uint32_t kind = number_of_kind("{full}");\n      note_call(communicator, channel.is_immediate(), kind, {root}, {operation}{values})'


def needs_library(row):
    """Whether the call is refused before MPI_Init and after MPI_Finalize by itself: others find no communicator then, or may be called."""
    if row.group in ("attributes", "buffers", "datatypes", "groups", "operations", "topologies"):
        return True
    return row.name in ("Query_thread", "Is_thread_main", "Get_processor_name", "Alloc_mem", "Free_mem", "Get_hw_resource_info", "Grequest_start")


def entry(row, large):
    full = f"MPI_{row.name}{'_c' if large else ''}"
    arguments = ", ".join(argument.declared(large) for argument in row.arguments) or "void"
    weak = f'{row.declaration("MPI_", large)} __attribute__((weak, alias("P{full}")));'
    if row.state == "plain":
        call = f"{row.name.lower()}({', '.join(a.name for a in row.arguments if a.name)})"
        return f"{row.result} P{full}({arguments}) {{ return weft::mpi::{call}; }}\n{weak}\n"
    unnamed = ", ".join(a.declared(large, False) for a in row.arguments) or "void"
    if row.state.startswith("T_ERR_"):
        return f"{row.result} P{full}({unnamed}) {{ return weft::mpi::answer_of_tools(MPI_{row.state}); }}\n{weak}\n"
    handle, kind = owner(row)
    report = f'report_{kind}("{full}", {handle})' if handle else f'report("{full}")'
    if row.state == "missing":
        if handle:
            unnamed = ", ".join(a.declared(large, a.name == handle.split()[0]) for a in row.arguments)
        missing = report.replace("report", "missing", 1)
        return f"{row.result} P{full}({unnamed}) {{ return weft::mpi::{missing}; }}\n{weak}\n"
    call = f"{row.name.lower()}({', '.join(converted(a, group=row.group) for a in row.arguments if a.name)})"
    before, behind = checks_of(row)
    if row.name in OF_ANY_HANDLE:
        call = f"{row.name.lower()}({', '.join(a.name for a in row.arguments)})"
    if row.group in COLLECTIVES:
        said = collective_check(row) if row.group == "collectives" else "{}"
        first, rest = collective_call(row).split("\n", 1)
        lists = compared_lists(row)
        compared = f"call_the_roll(channel, {said});" + (f"\n        {lists};" if lists else "")
        call = (f"{first}\n    const auto roll = [&](const Channel& channel) {{\n      {noted_call(full, row)};\n      if (is_checked) [[unlikely]] {{\n"
                f"        {compared}\n      }}\n    }};\n{rest}")
    call = ("need_library();\n    " if needs_library(row) else "") + results_needed(row) + before + call + behind
    return (f"int P{full}({arguments}) {{\n  using namespace weft::mpi;\n  enter(\"{full}\", __builtin_return_address(0));\n  try {{\n    {call};\n    return MPI_SUCCESS;\n"
            f"  }} catch (...) {{\n    return {report};\n  }}\n}}\n{weak}\n")


def entries(group, rows, root):
    calls = root / group / f"{group}_calls.hpp"
    lines = [f"// Entry points of the group {group}; {NOTE}.", "#include \"bindings/mpi/entry/entry.hpp\""]
    if calls.exists():
        lines.append(f"#include \"bindings/mpi/{group}/{group}_calls.hpp\"")
    if group in COLLECTIVES:
        lines.append("#include \"bindings/mpi/roll_call/blocks.hpp\"")
    lines += ["", "extern \"C\" {", "#pragma GCC visibility push(default)", ""]
    for row in rows:
        lines += [entry(row, large) for large in ([False, True] if row.has_twin else [False])]
    lines += ["#pragma GCC visibility pop", "}"]
    return "\n".join(lines) + "\n"


def markdown(groups):
    lines = ["| group | there | missing |", "|---|---|---|"]
    for group, rows in groups.items():
        cells = []
        for is_missing in (False, True):
            names = [f"`{row.name}`" for row in rows if (row.state == "missing") == is_missing]
            cells.append(", ".join(names) or "–")
        lines.append(f"| {group.replace('_', ' ')} | {cells[0]} | {cells[1]} |")
    functions_of = [name for rows in groups.values() for row in rows if row.state != "missing" for name in row.names()]
    every = [name for rows in groups.values() for row in rows for name in row.names()]
    lines += ["", f"{len(functions_of)} of {len(every)} functions are there, large-count forms (suffix `_c`) counted."]
    return "\n".join(lines) + "\n"


def info(groups):
    """A header for tools/info: the functions, and numbers of mpi.h."""
    header_text = (functions.TABLE.parent / "include" / "mpi.h").read_text()
    numbers = re.findall(r"^#define MPI_((?:VERSION|SUBVERSION|ABI_VERSION|ABI_SUBVERSION|MAX_\w+)) (\d+)$", header_text, re.MULTILINE)
    lines = [f"// What `weft info --mpi` shows; {NOTE}.", "#pragma once", "", "namespace weft::tools::info {", "",
             "inline constexpr MpiNumber kMpiNumbers[] = {"]
    lines += [f'    {{"{name.lower()}", {value}}},' for name, value in numbers]
    lines += ["};", "inline constexpr MpiFunction kMpiFunctions[] = {"]
    lines += [f'    {{"{group.replace("_", " ")}", "MPI_{name}", {"false" if row.state == "missing" else "true"}}},'
              for group, rows in groups.items() for row in rows for name in row.names()]
    return "\n".join(lines + ["};", "", "}  // namespace weft::tools::info"]) + "\n"


def write_if_changed(path, text):
    """Without touching what is the same: it need not be compiled again."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main(arguments):
    groups = functions.read_groups()
    if arguments == ["--markdown"]:
        print(markdown(groups), end="")
        return 0
    if len(arguments) == 2 and arguments[0] == "--info":
        write_if_changed(Path(arguments[1]), info(groups))
        return 0
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: generate.py OUTPUT_FOLDER, generate.py --markdown, or generate.py --info FILE", file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    write_if_changed(folder / "mpi_functions.h", header(groups))
    for group, rows in groups.items():
        write_if_changed(folder / f"entry_{group}.cpp", entries(group, rows, functions.TABLE.parent))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
