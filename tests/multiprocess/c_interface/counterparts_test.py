"""Every public operation of weft has a function in C, or a reason why it has none (counterparts.txt)."""

import unittest
from pathlib import Path

import c_headers
import public_operations

TABLE = Path(__file__).with_name("counterparts.txt")


def rows():
    for line in TABLE.read_text().splitlines():
        if line and not line.startswith("#"):
            operation, _, functions = line.partition(" ")
            yield operation, functions.strip()


class Counterparts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.table = dict(rows())
        cls.operations = set(public_operations.operations())

    def test_each_operation_stands_in_the_table_once(self):
        listed = [operation for operation, _ in rows()]
        self.assertEqual(sorted(listed), sorted(set(listed)))

    def test_the_table_has_every_operation(self):
        missing = [operation for operation in sorted(self.operations)
                   if operation not in self.table and operation.partition("::")[0] + "::*" not in self.table]
        self.assertEqual(missing, [], "operations that are new: write the function in C, or say in counterparts.txt why there is none")

    def test_the_table_has_no_operation_that_is_gone(self):
        classes = {operation.partition("::")[0] for operation in self.operations}
        gone = [operation for operation in self.table
                if (operation.removesuffix("::*") not in classes if operation.endswith("::*") else operation not in self.operations)]
        self.assertEqual(gone, [])

    def test_functions_are_those_of_the_headers(self):
        declared = {function.name for function in c_headers.functions()} | {"weft_is_retry", "weft_is_error"}
        for operation, functions in self.table.items():
            with self.subTest(operation):
                if functions.startswith("- "):
                    self.assertGreater(len(functions), len("- why"))
                else:
                    self.assertTrue(functions)
                    self.assertEqual([name for name in functions.split() if name not in declared], [])

    def test_an_operation_without_counterpart_is_found(self):
        text = "class New { public: void post_new(int peer); private: void own(); }; int new_function(int);"
        self.assertEqual(sorted(public_operations.in_namespace(text)), ["New::post_new", "new_function"])


if __name__ == "__main__":
    unittest.main()
