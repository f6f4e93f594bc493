import unittest

from price import total


class Total(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(total([1, 2]), 3)
