"""The numbers of the architecture stay within their limits, which only ever fall; and each is counted right."""

import tempfile
import unittest
from pathlib import Path

import numbers_of_architecture as numbers

# Where the house stands; what it wants is in the column "aim". Lower a limit when the number has fallen.
LIMITS = {
    "member functions of the largest class": 40,      # aim: 40
    "flags of posts (bool parameters)": 0,
    "writers of a slot": 1,
    "entries of an active message into core": 1,
    "files in the fullest folder": 25,
}


class TheTreeOfThisProject(unittest.TestCase):
    def test_stays_within_its_limits(self):
        rows = numbers.table(numbers.ROOT)
        self.assertEqual([what for what, _, _ in rows], list(LIMITS))
        for what, value, where in rows:
            if LIMITS[what] != 0:
                self.assertGreater(value, 0, what)
            self.assertLessEqual(value, LIMITS[what], f"{what}: {where}")


class TheCountsThemselves(unittest.TestCase):
    """Each count is tried on a tree of which the answer is known."""

    def tree(self, files):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        for name, text in files.items():
            path = Path(directory.name) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return Path(directory.name)

    def test_counts_the_functions_of_a_class_and_not_its_fields(self):
        text = """
            /// A class. void in_a_comment();
            class Port final : public Base {
             public:
              Port(int a, int b) : a_(a) { call(); other(); }
              ~Port();
              [[nodiscard]] bool has_left(int peer) noexcept override { return peers_.has_left(peer); }
              template <class Take> void for_each(Take&& take);
              using Row = std::array<int, size()>;
              struct Inner { int value() const; };
             private:
              int field_ = compute(3);
              std::atomic<int> other_{make()};
              std::function<void(int)> hook_;
            };
        """
        self.assertEqual(dict(numbers.member_functions(text))["Inner"], 1)
        self.assertEqual(dict(numbers.member_functions(text))["Port"], 4)

    def test_counts_flags_of_posts(self):
        root = self.tree({"src/core/a.hpp": "Status post(int peer, bool again, bool exclusive); void drop(bool now);\n"
                                            "Status attempt_send(int peer); // bool no"})
        self.assertEqual(numbers.flags_of_posts(root), (2, 1))

    def test_counts_writers_of_a_slot(self):
        root = self.tree({"include/weft/detail/lane.hpp": "slot.header.store(header, std::memory_order_release);\n"
                                                          "slot.header.store(0, std::memory_order_relaxed);"})
        self.assertEqual(numbers.writers_of_a_slot(root), ["include/weft/detail/lane.hpp"])

    def test_counts_entries_into_core(self):
        root = self.tree({"src/network/network.hpp": "class Sink { public: virtual bool deliver(int) noexcept = 0;\n"
                                                     "virtual void take_active_message() noexcept {}\n"
                                                     "virtual void reject(int) noexcept = 0; };"})
        self.assertEqual(len(numbers.entries_into_core(root)), 2)

    def test_counts_files_of_a_folder(self):
        root = self.tree({f"src/a/{index}.hpp": "" for index in range(3)} | {"src/a/b/one.hpp": ""})
        self.assertEqual(numbers.files_per_folder(root)["src/a"], 3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
