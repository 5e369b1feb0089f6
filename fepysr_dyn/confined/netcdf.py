"""Walks over a NetCDF-4 file before anything else opens it, and answers "fine" or what is wrong with it.

A damaged or hostile HDF5 file can make its library hang or crash, can ask for any amount of memory, and can
name other files whose content then appears as data.
"""

from __future__ import annotations

import codecs
import os
import sys
from typing import Any

import h5py

from fepysr_dyn.confined.limits import Refused, answering_alone, confine, one_line

MEMORY_BYTES = 4_000_000_000
#: Processor time for any file, and the bytes of a file that earn it another second.
CPU_SECONDS = 4
BYTES_A_SECOND = 5_000_000
#: All variables together, as they are in memory.
MAX_BYTES = 2_000_000_000
MAX_OBJECTS = 20_000


def main() -> None:
    """Check the file that is named; it stays the only one this process can open."""
    answers = answering_alone()
    try:
        seconds = CPU_SECONDS + os.path.getsize(sys.argv[1]) // BYTES_A_SECOND
        codecs.lookup("ascii")  # later it could not be loaded any more
        with h5py.File(sys.argv[1], "r") as file:
            confine(memory=MEMORY_BYTES, seconds=seconds)
            Walk().group(file)
            answer = "fine"
    except Refused as refusal:
        answer = str(refusal)
    except (MemoryError, RecursionError):
        answer = "it asks for too much memory"
    except Exception as error:  # the library raises whatever it stumbles over
        answer = f"cannot be read as NetCDF, it may be damaged: {error}"
    answers(one_line(answer))


class Walk:
    """Looks at every group, variable and attribute once."""

    def __init__(self) -> None:
        self._seen: set[Any] = set()
        self._bytes = 0

    def group(self, group: Any) -> None:
        """Look at a group and what is in it."""
        if not self._is_new(group):
            # Readers that follow groups would go round in circles.
            raise Refused(f"the group '{group.name}' is there twice")
        self._attributes(group)
        for name in group:
            link = group.get(name, getlink=True)
            if not isinstance(link, h5py.HardLink):
                raise Refused(f"'{name}' is a link to another place or file, which is refused")
            item = group[name]
            if isinstance(item, h5py.Group):
                self.group(item)
            elif isinstance(item, h5py.Dataset):
                self._variable(item)

    def _variable(self, item: Any) -> None:
        if not self._is_new(item):
            return
        if item.external or item.is_virtual:
            raise Refused(f"the data of '{item.name}' lie in another file, which is refused")
        self._bytes += int(item.size or 0) * max(item.dtype.itemsize, 1)
        if self._bytes > MAX_BYTES:
            raise Refused(f"its variables have more than {MAX_BYTES} bytes")
        self._attributes(item)
        item[()]

    def _attributes(self, item: Any) -> None:
        for name in item.attrs:
            item.attrs.get_id(name)
            try:
                item.attrs[name]
            except OSError as error:
                # References of dimension scales to one another may have no counterpart in numpy.
                if "no appropriate" not in str(error).lower():
                    raise

    def _is_new(self, item: Any) -> bool:
        info = h5py.h5o.get_info(item.id)
        place = (info.fileno, info.addr)
        if place in self._seen:
            return False
        self._seen.add(place)
        if len(self._seen) > MAX_OBJECTS:
            raise Refused(f"it has more than {MAX_OBJECTS} groups and variables")
        return True
