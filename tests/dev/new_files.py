"""Lays the files of something new, and enters it where it has a row: `./dev new KIND NAME`.

What is laid compiles, and its test fails until it is written. CONTRIBUTING.md says what remains to be done.
"""

import os
import re
import sys
from pathlib import Path

ROOT = Path(os.environ.get("WEFTDEV_SOURCE_DIR", Path(__file__).resolve().parents[2]))
NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")

COLLECTIVE = '''\
// TODO(docs): what a rank gets of a {name}, and by which algorithm.
#pragma once

#include "collective/kinds/call_checks.hpp"

namespace weft::collective {{

struct {Type} {{
  static constexpr auto kKind = detail::CollectiveKind::{name};
  static constexpr KindTraits kTraits{{.name = "{name}"}};

  static void check(const detail::CollectiveCall& call, int, int) {{ check_reduced(kTraits, call); }}

  template <class Steps>
  static void lay_out(Steps& steps, const detail::CollectiveCall& call, int, int) {{
    if (call.to != call.from) steps.copy(call.to, call.from, call.count * call.reduction.element);
  }}
}};

}}  // namespace weft::collective
'''

NETWORK_HEADER = '''\
// Interface of the network {name}.
#pragma once

#include "base/attributes.hpp"
#include "bootstrap/bootstrap.hpp"
#include "network/availability.hpp"
#include "network/network.hpp"

#include <memory>

namespace weft::network::{name} {{

/// Makes the network. `packets`: packets of another network, which this one sends as well; with null base, it
/// makes packets of its own. Throws weft::Error.
std::unique_ptr<Network> make_network(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
                                      detail::PayloadLender& copier, const Network::PacketMemory& packets);

/// Its remark: what it reaches others by, or the reason why there is none.
[[nodiscard]] Availability availability(const base::Attributes& attributes);

}}  // namespace weft::network::{name}
'''

NETWORK_SOURCE = '''\
#include "network/{name}/{name}.hpp"

#include <weft/error.hpp>

namespace weft::network::{name} {{

std::unique_ptr<Network> make_network(bootstrap::Bootstrap&, const base::Attributes&, detail::PayloadLender&,
                                      const Network::PacketMemory&) {{
  throw Error("attribute network is \\"{name}\\", which carries nothing yet: take shm, tcp or mixed");
}}

Availability availability(const base::Attributes&) {{ return {{false, "carries nothing yet"}}; }}

}}  // namespace weft::network::{name}
'''

STUDY_PLAN = '''\
// The experiments of the study {name}.
#include "study/study_plan.hpp"

namespace weft::tools::study {{

std::vector<Experiment> plan_{name}(const StudyOptions& options) {{
  Experiment experiment{{"{name}", "TODO(docs): what is measured", "runs", "runs_per_s", "thousand/s", 1e-3, true, {{}}}};
  for (const int runs : {{1000, options.is_quick ? 2000 : 10000}})
    experiment.cases.push_back({{static_cast<double>(runs), std::to_string(runs), {{{{"workload", "{name}"}}, {{"runs", runs}}}}}});
  return {{experiment}};
}}

}}  // namespace weft::tools::study
'''

STUDY_WORKLOAD = '''\
// TODO(docs): what the ranks of the study {name} do.
#include "study/ranks/workload.hpp"

namespace weft::tools::study {{

Json run_{name}(parcel::Runtime& runtime, const Json& parameters) {{
  const int runs = parameters.at("runs").get<int>();
  const std::int64_t begun = now_ns();
  // TODO(study): what takes time, between these two lines.
  runtime.wait_quiet();
  return {{{{"runs_per_s", runs * 1e9 / static_cast<double>(now_ns() - begun)}}}};
}}

}}  // namespace weft::tools::study
'''

TEST = '''\
// TODO(test): what is protected here.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

namespace weft {{
namespace {{

TEST({Type}, does_what_its_name_says) {{ FAIL() << "is not written yet"; }}

}}  // namespace
}}  // namespace weft
'''

DECISION = '''\
# {number:03d}: {title}

**Context.** TODO(docs)

**Choice.** TODO(docs)

**Reason.** TODO(docs)

**What would change it.** TODO(docs)
'''


class Refusal(Exception):
    """What was asked for cannot be laid."""


def type_name(name):
    return "".join(part.capitalize() for part in name.split("_"))


def check_name(name):
    if not NAME.fullmatch(name):
        raise Refusal(f"'{name}' is no name: small letters, digits and single underscores, a letter first, such as 'all_to_some'")
    return name


class Layer:
    """Writes files of a tree, none of them over another; remembers what it has done."""

    def __init__(self, root):
        self.root = root
        self.texts = {}

    def lay(self, path, text):
        if (self.root / path).exists():
            raise Refusal(f"{path} is there already")
        self.texts[path] = text

    def enter(self, path, after, text):
        """Puts the text behind the last match of an expression."""
        before = self.texts.get(path) or (self.root / path).read_text()
        places = list(re.finditer(after, before, re.MULTILINE))
        if not places:
            raise Refusal(f"{path} has no place for a row: nothing there is like {after}")
        at = places[-1].end()
        self.texts[path] = before[:at] + text + before[at:]

    def write(self):
        for path, text in self.texts.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        return sorted(self.texts)


def lay_collective(layer, name):
    check_name(name)
    if re.search(rf"^  {name},$", (layer.root / "include/weft/collective/call.hpp").read_text(), re.MULTILINE):
        raise Refusal(f"there is a collective '{name}' already")
    layer.lay(f"src/collective/kinds/{name}.hpp", COLLECTIVE.format(name=name, Type=type_name(name)))
    layer.enter("src/collective/kinds/kind_table.hpp", r'^#include "collective/kinds/\w+\.hpp"\n', f'#include "collective/kinds/{name}.hpp"\n')
    layer.enter("src/collective/kinds/kind_table.hpp", r"using Kinds =\s+KindList<[\w,\s]+(?=>;)", f", {type_name(name)}")
    layer.enter("include/weft/collective/call.hpp", r"^enum class CollectiveKind[^}]*(?=\})", f"  {name},\n")
    return 'the calls in include/weft/collective/, its test, its row in docs/guide/collectives.md: "How to add a collective"'


def lay_network(layer, name):
    check_name(name)
    layer.lay(f"src/network/{name}/{name}.hpp", NETWORK_HEADER.format(name=name))
    layer.lay(f"src/network/{name}/{name}.cpp", NETWORK_SOURCE.format(name=name))
    layer.lay(f"tests/unit/network/{name}/{name}_test.cpp", TEST.format(Type=f"{type_name(name)}Network"))
    registry = "src/network/registry/registry.cpp"
    layer.enter(registry, r'^#include "network/\w+/\w+\.hpp"\n', f'#include "network/{name}/{name}.hpp"\n')
    layer.enter(registry, r'^    \{"mixed", .*\n', f'    {{"{name}", Extent::hosts, {name}::availability, {name}::make_network}},\n')
    return 'the choices of the attribute `network`, the transport, the conformance tests: "How to add a network"'


def lay_study(layer, name):
    check_name(name)
    if f'"{name}"' in (layer.root / "tools/study/study_plan.cpp").read_text():
        raise Refusal(f"there is a study '{name}' already")
    layer.lay(f"tools/study/{name}_plan.cpp", STUDY_PLAN.format(name=name))
    layer.lay(f"tools/study/ranks/{name}.cpp", STUDY_WORKLOAD.format(name=name))
    layer.enter("tools/study/study_plan.hpp", r"^\[\[nodiscard\]\] std::vector<Experiment> plan_of.*\n",
                f"[[nodiscard]] std::vector<Experiment> plan_{name}(const StudyOptions& options);\n")
    layer.enter("tools/study/study_plan.cpp", r"static const std::vector<StudyKind> all\{[^;]*(?=\};)",
                f',\n      {{"{name}", "TODO(docs): in a line", {{"weft"}}, plan_{name}}}')
    layer.enter("tools/study/ranks/workload.hpp", r"^Json run_\w+\(parcel::Runtime& runtime, const Json& parameters\);\n",
                f"Json run_{name}(parcel::Runtime& runtime, const Json& parameters);\n")
    layer.enter("tools/study/ranks/rank_main.cpp", r"^    std::pair<std::string_view, Workload>\{.*\},\n",
                f'    std::pair<std::string_view, Workload>{{"{name}", run_{name}}},\n')
    return 'the workload, the plan, findings: "How to add a study"'


def lay_test(layer, name):
    folder, _, last = name.rpartition("/")
    if not re.fullmatch(r"(unit|conformance|concurrent)(/[a-z_]+)*", folder) or not (layer.root / "tests" / folder).is_dir():
        raise Refusal(f"'{name}' names no folder of tests: such as unit/core/{last or 'NAME'}, below tests/unit, conformance or concurrent")
    check_name(last)
    layer.lay(f"tests/{folder}/{last}_test.cpp", TEST.format(Type=type_name(last)))
    return "its cases; CMake finds it by its folder"


def lay_decision(layer, title):
    decisions = layer.root / "docs" / "decisions"
    number = max(int(path.name[:3]) for path in decisions.glob("[0-9][0-9][0-9]-*.md")) + 1
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    if not words:
        raise Refusal(f"'{title}' is no title: a sentence that says what is decided")
    path = f"{number:03d}-{words}.md"
    layer.lay(f"docs/decisions/{path}", DECISION.format(number=number, title=title))
    layer.enter("docs/decisions/README.md", r"^\| \[\d{3}\].*\n", f"| [{number:03d}]({path}) | {title} | proposed |\n")
    return "the four parts, in 40 lines at most"


KINDS = {"collective": lay_collective, "network": lay_network, "study": lay_study, "test": lay_test, "decision": lay_decision}


def main(arguments):
    if len(arguments) != 2 or arguments[0] not in KINDS:
        print(f"dev: new: a kind and a name are needed: {', '.join(KINDS)}, such as ./dev new collective all_to_some", file=sys.stderr)
        return 2
    layer = Layer(ROOT)
    try:
        remains = KINDS[arguments[0]](layer, arguments[1])
        written = layer.write()
    except (Refusal, OSError) as refused:
        print(f"dev: new {arguments[0]}: {refused}", file=sys.stderr)
        return 2
    for path in written:
        print(path)
    print(f"to be done: {remains}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
